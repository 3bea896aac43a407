package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nacre-ml/nacre/generate/tokenizer"
	"github.com/nacre-ml/nacre/internal/printable"
)

// chatFlags are the flags of nacre chat.
type chatFlags struct {
	decoderFlags
	system   string
	messages string
}

func chatCommand() *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use:   "chat MODEL",
		Short: "Hold a chat with a decoder",
		Long: `Hold a chat with a decoder: a file, or a folder as Hugging Face Optimum,
onnxruntime-genai or Hugging Face itself write it. The template of the chat and the
settings come from the model, as for nacre generate, unless flags say otherwise.

Each line of standard input is a message of the user. Answers go to standard output as
they come, all else to standard error. At a terminal lines can be edited, and the arrow
keys bring earlier ones back. The answers are those of nacre generate --messages on the
whole chat; what the chat says again is not computed again.

A line that begins with a slash is a command: ` + chatSummary() + `.

SIGINT (^C) stops an answer; the chat goes on with what was said of it. At the prompt,
or again while the answer has not stopped, it ends the command, as SIGTERM always does.
An error ends the command, too, unless a person can read it at the terminal.`,
		Example: `nacre chat qwen3.gguf
nacre chat llama/ --system "Answer in one sentence." --temperature 0.7 --top-p 0.9
nacre chat gemma/ --max-tokens 40 < questions.txt
nacre chat qwen3/ --messages saved.json`,
		Args: takes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.changed = cmd.Flags().Changed
			return f.run(cmd.Context(), args[0], cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.system, "system", "", "`TEXT` of the system's message, which begins the chat")
	flags.StringVar(&f.messages, "messages", "", "`FILE` with the beginning of the chat, as /save writes it")
	f.addChoice(flags, 0)
	f.addDecoder(flags)
	cmd.MarkFlagsMutuallyExclusive("system", "messages")
	cmd.MarkFlagsMutuallyExclusive("greedy", "temperature")
	cmd.MarkFlagsMutuallyExclusive("cache", "no-cache")
	return cmd
}

// begin returns the messages that begin the chat.
func (f *chatFlags) begin() ([]tokenizer.Message, error) {
	switch {
	case f.system != "":
		return []tokenizer.Message{{Role: "system", Content: f.system}}, nil
	case f.messages == "":
		return nil, nil
	}
	data, err := readBounded(f.messages)
	if err != nil {
		return nil, err
	}
	return messagesOf(data, f.messages)
}

func (f *chatFlags) run(ctx context.Context, path string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	messages, err := f.begin()
	if err != nil {
		return err
	}
	d, err := f.open(ctx, path, stderr)
	if err != nil {
		return err
	}
	defer func() { err = join(err, d) }()
	t := d.Tokenizer
	switch {
	case t == nil:
		return fmt.Errorf("%s: no tokenizer; --tokenizer names its file", path)
	case !t.HasChat():
		return fmt.Errorf("%s: the model comes without a chat template (chat_template.jinja, tokenizer_config.json, "+
			"or within a GGUF file); nacre generate continues texts", path)
	}
	stops := newStops()
	defer stops.close()
	c := &chat{generator: d.Generator, tokenizer: t, sampling: f.choice(d.Sampling), messages: messages, system: leading(messages),
		stops: stops, stderr: stderr, w: writer{stdout: stdout, stderr: stderr, text: t}}
	defer c.forget()
	return c.hold(ctx, newChatLines(ctx, stdin, stderr, stops))
}

// leading returns the system's messages at the beginning of a chat.
func leading(messages []tokenizer.Message) []tokenizer.Message {
	n := 0
	for n < len(messages) && messages[n].Role == "system" {
		n++
	}
	return messages[:n:n]
}

// hold answers lines until there are no more.
func (c *chat) hold(ctx context.Context, in chatLines) error {
	if in.person() {
		printable.Fprintln(c.stderr, "/help lists the commands; ^C stops an answer, ^D ends the chat")
	}
	for {
		line, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		line = strings.TrimSpace(line)
		switch text, escaped := strings.CutPrefix(line, "//"); {
		case line == "":
			continue
		case escaped:
			err = c.answer(ctx, "/"+text)
		case strings.HasPrefix(line, "/"):
			err = c.command(line)
		default:
			err = c.answer(ctx, line)
		}
		switch {
		case errors.Is(err, errQuit):
			return nil
		case err != nil && (ctx.Err() != nil || !in.person()):
			return err
		case err != nil:
			printable.Fprintf(c.stderr, "%v\n", err)
		}
	}
}

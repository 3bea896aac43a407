package main

import (
	"context"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nacre-ml/nacre/generate"
)

// generateFlags are the flags of nacre generate.
type generateFlags struct {
	decoderFlags
	prompt     string
	promptFile string
	tokens     string
	chat       bool
	messages   string
	count      int
	beams      generate.BeamSearch
	json       bool
}

// defaultTokens is the most tokens that are generated without --max-tokens.
const defaultTokens = 256

func generateCommand() *cobra.Command {
	var f generateFlags
	cmd := &cobra.Command{
		Use:   "generate MODEL",
		Short: "Continue a text with a decoder",
		Long: `Continue a prompt with a decoder: a file, or a folder as Hugging Face Optimum,
onnxruntime-genai or Hugging Face itself write it. Text goes to standard output as it
comes, the speed to standard error. The prompt is not printed.

The tokenizer is that of --tokenizer, else the one in the model's folder. Without a
tokenizer the prompt is --tokens, and the numbers of tokens are printed.

Stop tokens, the window and sampling come from genai_config.json,
generation_config.json and config.json in the model's folder, unless flags say
otherwise. Where nothing asks for sampling, the likeliest token is taken. The same
seed gives the same text. A GGUF file has all these, its tokenizer and the template of
its chats in its metadata, and its folder is not looked at.

With --count several continuations are printed, one after the other. The prompt is
computed once. With --beams N they are the likeliest that a beam search of width N finds,
the best first, and are printed when it ends. With --json each is a line with its text, its tokens and why it ended,
with --logprobs also with the logarithms of the tokens' probabilities.

SIGINT and SIGTERM end what is generated; the speed is printed all the same.`,
		Example: `nacre generate llama/ --prompt "Once upon a time" --max-tokens 100
nacre generate model.onnx --tokenizer tokenizer.json --prompt-file story.txt --temperature 0.8 --top-p 0.95 --seed 7
nacre generate model.onnx --prompt "Q: 2+2? A:" --stop "Q:" --greedy
nacre generate qwen3/ --chat --prompt "Why is the sky blue?"
nacre generate qwen3.gguf --chat --prompt "Why is the sky blue?"
nacre generate llama/ --prompt "The capital of France is" --beams 4 --max-tokens 20
nacre generate checkpoint.chk --tokens 1,5,7 --max-tokens 4 --count 3 --temperature 1
nacre generate llama/ --prompt "Yes or no?" --max-tokens 1 --json --logprobs 5`,
		Args: takes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.changed = cmd.Flags().Changed
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.add(cmd.Flags())
	cmd.MarkFlagsMutuallyExclusive("prompt", "prompt-file", "messages", "tokens")
	cmd.MarkFlagsOneRequired("prompt", "prompt-file", "messages", "tokens")
	cmd.MarkFlagsMutuallyExclusive("chat", "messages")
	cmd.MarkFlagsMutuallyExclusive("chat", "tokens")
	cmd.MarkFlagsMutuallyExclusive("greedy", "temperature")
	cmd.MarkFlagsMutuallyExclusive("cache", "no-cache")
	for _, name := range []string{"temperature", "top-k", "top-p", "min-p", "stop", "logprobs"} {
		cmd.MarkFlagsMutuallyExclusive("beams", name)
	}
	return cmd
}

func (f *generateFlags) add(flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.StringVar(&f.prompt, "prompt", "", "`TEXT` to continue")
	flags.StringVar(&f.promptFile, "prompt-file", "", "`FILE` with the text to continue")
	flags.BoolVar(&f.chat, "chat", false, "take the prompt as the user's message of a chat, in the template of the model")
	flags.StringVar(&f.messages, "messages", "", "`FILE` with the messages of a chat, such as "+`[{"role":"user","content":"Hi"}]`)
	flags.StringVar(&f.tokens, "tokens", "", "tokens to continue, such as `1,5,7`")
	f.addChoice(flags, defaultTokens)
	flags.IntVar(&f.count, "count", 1, "continuations of the prompt")
	flags.IntVar(&f.beams.Width, "beams", 0, "search for the likeliest continuations, with the `N` likeliest beginnings at each token")
	flags.Float64Var(&f.beams.LengthPenalty, "length-penalty", 1, "with --beams: power of the length by which log probabilities are divided; "+
		"0 prefers short continuations")
	flags.BoolVar(&f.json, "json", false, "print each continuation as a line of JSON, when it has ended")
	flags.IntVar(&f.sampling.Alternatives, "logprobs", 0, "with --json: log probability of each token, "+
		"and the `N` likeliest tokens at its place")
	f.addDecoder(flags)
}

// check returns an error for flags that are wrong for every model.
func (f *generateFlags) check() error {
	if f.count < 1 {
		return usagef("--count %d: it must be 1 at least", f.count)
	}
	switch b := f.beams; {
	case b.Width < 0 || b.Width == 0 && f.changed("beams"):
		return usagef("--beams %d: it must be 1 at least", b.Width)
	case b.Width > 0 && f.count > b.Width:
		return usagef("--count %d: a search with --beams %d finds %d at most", f.count, b.Width, b.Width)
	case b.Width == 0 && f.changed("length-penalty"):
		return usagef("--length-penalty needs --beams")
	}
	if n := f.sampling.Alternatives; n < 0 || n > 0 && !f.json {
		return usagef("--logprobs %d: it must be positive, and --json prints the log probabilities", n)
	}
	if err := f.decoderFlags.check(); err != nil {
		return err
	}
	_, err := f.ids()
	return err
}

// ids returns the tokens of --tokens, or nil without the flag.
func (f *generateFlags) ids() ([]int32, error) {
	if f.tokens == "" {
		return nil, nil
	}
	var list []int32
	for _, word := range strings.Split(f.tokens, ",") {
		id, err := strconv.ParseInt(strings.TrimSpace(word), 10, 32)
		if err != nil {
			return nil, usagef("--tokens: %q is no number of a token; give numbers such as 1,5,7", word)
		}
		list = append(list, int32(id))
	}
	return list, nil
}

func (f *generateFlags) run(ctx context.Context, path string, stdout, stderr io.Writer) (err error) {
	start := time.Now()
	if err := f.check(); err != nil {
		return err
	}
	text, err := f.text()
	if err != nil {
		return err
	}
	d, err := f.opened(ctx, path, stderr)
	if err != nil {
		return err
	}
	defer func() { err = join(err, d) }()
	prompt, err := f.encoded(ctx, d.Tokenizer, path, text)
	if err != nil {
		return err
	}
	w := writer{stdout: stdout, stderr: stderr, json: f.json, text: d.Tokenizer, start: start}
	if f.beams.Width > 0 {
		return w.best(ctx, d.Generator, prompt, f.count, f.beams, f.choice(d.Sampling))
	}
	return w.all(ctx, d.Generator, prompt, f.count, f.choice(d.Sampling))
}

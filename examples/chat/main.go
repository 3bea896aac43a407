// Command chat holds a chat with a decoder. Each line of standard input is a message.
//
//	chat model/
//
// The folder has a decoder with a cache as model.onnx, its tokenizer and the template of its chats, as
// Hugging Face Optimum or onnxruntime-genai write it. An interrupt stops an answer, and ends the
// program between answers. A turn computes its own tokens only: the cache stays.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/generate/tokenizer"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: chat FOLDER")
	}
	if err := hold(os.Args[1], os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func hold(folder string, in io.Reader, out io.Writer) error {
	model, err := nacre.Open(filepath.Join(folder, "model.onnx"))
	if err != nil {
		return err
	}
	defer model.Close()
	words, err := tokenizer.Load(folder)
	if err != nil {
		return err
	}
	session, err := model.NewSession(nacre.Options{})
	if err != nil {
		return err
	}
	defer session.Close()
	options, sampling, err := generate.SettingsOf(model, os.DirFS(folder))
	if err != nil {
		return err
	}
	options.Tokenizer = words
	if sampling.MaxTokens == 0 {
		sampling.MaxTokens = 512
	}
	g, err := generate.New(context.Background(), session, options)
	if err != nil {
		return err
	}
	c := &chat{generator: g, words: words, sampling: sampling}
	defer c.close()
	for lines := bufio.NewScanner(in); ; {
		fmt.Fprint(out, "> ")
		if !lines.Scan() {
			fmt.Fprintln(out)
			return lines.Err()
		}
		ctx, free := signal.NotifyContext(context.Background(), os.Interrupt)
		err := c.answer(ctx, lines.Text(), out)
		stopped := ctx.Err() != nil
		free()
		if err != nil && !(stopped && errors.Is(err, context.Canceled)) {
			return err
		}
		fmt.Fprintln(out)
	}
}

// chat is the messages so far, and the sequence of the answers.
type chat struct {
	generator *generate.Generator
	words     *tokenizer.Tokenizer
	sampling  generate.Sampling
	messages  []tokenizer.Message
	sequence  *generate.Sequence
}

// answer writes the answer to a message. If ctx ends it, what was written stays part of the chat.
func (c *chat) answer(ctx context.Context, message string, out io.Writer) error {
	c.messages = append(c.messages, tokenizer.Message{Role: "user", Content: message})
	prompt, err := c.words.ApplyChat(c.messages, tokenizer.ChatOptions{Generate: true})
	if err != nil {
		return err
	}
	if err := c.compute(ctx, c.words.EncodePlain(prompt)); err != nil {
		return err
	}
	said := ""
	for piece, err := range c.sequence.Text(ctx) {
		if err != nil {
			c.messages = append(c.messages, tokenizer.Message{Role: "assistant", Content: said})
			return err
		}
		said += piece.Text
		fmt.Fprint(out, piece.Text)
	}
	c.messages = append(c.messages, tokenizer.Message{Role: "assistant", Content: said})
	return nil
}

// compute makes the sequence have these tokens, and keeps what it has of them.
func (c *chat) compute(ctx context.Context, tokens []int32) (err error) {
	if c.sequence == nil {
		c.sequence, err = c.generator.Start(ctx, tokens, c.sampling)
		return err
	}
	have := c.sequence.IDs()
	same := 0
	for same < len(have) && same < len(tokens)-1 && have[same] == tokens[same] {
		same++
	}
	if same < len(have) {
		if err := c.sequence.Truncate(same); err != nil {
			return err
		}
	}
	return c.sequence.Append(ctx, slices.Clone(tokens[same:]))
}

func (c *chat) close() {
	if c.sequence != nil {
		c.sequence.Close()
	}
}

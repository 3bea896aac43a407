// Command chat holds a chat with a decoder. Each line of standard input is a message.
//
//	chat model.gguf
//
// A GGUF file has all that it takes. A folder has a decoder with a cache, its tokenizer and the template of
// its chats, as Hugging Face, its Optimum or onnxruntime-genai write it. An interrupt stops an answer, and ends the
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

	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/generate/tokenizer"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: chat MODEL")
	}
	if err := hold(os.Args[1], os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func hold(path string, in io.Reader, out io.Writer) error {
	d, err := generate.Open(context.Background(), path, generate.OpenOptions{})
	if err != nil {
		return err
	}
	defer d.Close()
	if d.Sampling.MaxTokens == 0 {
		d.Sampling.MaxTokens = 512
	}
	c := &chat{Decoder: d}
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
	*generate.Decoder
	messages []tokenizer.Message
	sequence *generate.Sequence
}

// answer writes the answer to a message. If ctx ends it, what was written stays part of the chat.
func (c *chat) answer(ctx context.Context, message string, out io.Writer) error {
	c.messages = append(c.messages, tokenizer.Message{Role: "user", Content: message})
	ids, err := c.Tokenizer.EncodeChat(ctx, c.messages, tokenizer.ChatOptions{Generate: true})
	if err != nil {
		return err
	}
	if c.sequence == nil {
		c.sequence, err = c.Start(ctx, ids, c.Sampling)
	} else {
		err = c.sequence.Follow(ctx, ids)
	}
	if err != nil {
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

func (c *chat) close() {
	if c.sequence != nil {
		c.sequence.Close()
	}
}

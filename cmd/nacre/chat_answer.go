package main

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/generate/tokenizer"
	"github.com/nacre-ml/nacre/internal/printable"
)

// chat is a chat with a decoder.
type chat struct {
	generator *generate.Generator
	tokenizer *tokenizer.Tokenizer
	sampling  generate.Sampling
	system    []tokenizer.Message // the beginning that /reset keeps
	messages  []tokenizer.Message
	sequence  *generate.Sequence // of the last answer; nil if the next one is computed from the beginning

	stops  *stops
	stderr io.Writer
	w      writer
}

// answer prints the answer to a message of the user, and adds both to the chat. If nothing of the
// answer came, the chat stays as it was.
func (c *chat) answer(ctx context.Context, text string) error {
	messages := append(slices.Clip(c.messages), tokenizer.Message{Role: "user", Content: text})
	ids, err := c.tokenizer.EncodeChat(ctx, messages, tokenizer.ChatOptions{Generate: true})
	if err != nil {
		return err
	}
	within, done := c.stops.during(ctx)
	defer done()
	var said string
	if err = c.follow(within, ids); err == nil {
		said, err = c.w.stream(within, c.sequence)
	}
	if said != "" {
		if _, err := io.WriteString(c.w.stdout, "\n"); err != nil {
			return err
		}
	}
	if err == nil || said != "" {
		c.messages = append(messages, tokenizer.Message{Role: "assistant", Content: said})
	}
	var stopped signalError
	switch {
	case errors.As(context.Cause(within), &stopped):
		printable.Fprintln(c.stderr, "stopped")
		return nil
	case err != nil:
		c.forget() // the sequence may be of no use
		return err
	}
	if r := c.sequence.Reason(); r == generate.MaxTokens || r == generate.Window {
		printable.Fprintf(c.stderr, "ended by %v\n", r)
	}
	return nil
}

// follow makes ids the tokens of the sequence.
func (c *chat) follow(ctx context.Context, ids []int32) (err error) {
	if c.sequence != nil {
		return c.sequence.Follow(ctx, ids)
	}
	c.sequence, err = c.generator.Start(ctx, ids, c.sampling)
	return err
}

// forget closes the sequence.
func (c *chat) forget() {
	if c.sequence != nil {
		c.sequence.Close()
		c.sequence = nil
	}
}

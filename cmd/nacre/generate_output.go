package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/generate/tokenizer"
	"github.com/nacre-ml/nacre/internal/printable"
)

// writer prints generated tokens and text.
type writer struct {
	stdout, stderr io.Writer
	json           bool                 // one line for each continuation
	text           *tokenizer.Tokenizer // nil if there is none
	probabilities  []tokenProbability   // of the current continuation, if they are asked for
	start          time.Time            // of the command
}

// continuation is one line of --json.
type continuation struct {
	Index  int     `json:"index"`
	Text   *string `json:"text,omitempty"`
	Tokens []int32 `json:"tokens"`
	Reason string  `json:"reason"`
	// LogProb is the log probability of the tokens and of the stop token, with --beams.
	LogProb *float64 `json:"logprob,omitempty"`
	// LogProbs are those of Tokens, with --logprobs.
	LogProbs []tokenProbability `json:"logprobs,omitempty"`
}

// tokenProbability is a token with the logarithm of its probability.
type tokenProbability struct {
	ID           int32              `json:"id"`
	Token        string             `json:"token,omitempty"` // as the vocabulary has it
	LogProb      float64            `json:"logprob"`
	Alternatives []tokenProbability `json:"alternatives,omitempty"` // the likeliest first
}

// all computes the prompt and prints count continuations. A signal ends the current one, and all
// returns the signal as its error.
func (w *writer) all(
	ctx context.Context, g *generate.Generator, prompt []int32, count int, s generate.Sampling,
) (err error) {
	ctx, free := untilSignal(ctx)
	defer free()
	defer func() {
		if stopped, ok := context.Cause(ctx).(signalError); ok && err != nil {
			err = stopped
		}
	}()
	if err := g.Warm(ctx, len(prompt), s); err != nil {
		return err
	}
	start := time.Now()
	ready := start.Sub(w.start)
	first, err := g.Start(ctx, prompt, s)
	if err != nil {
		return err
	}
	defer first.Close()
	printable.Fprintf(w.stderr, "prompt: %s; the model was ready after %v\n", speed(len(prompt), time.Since(start)), ready.Round(time.Millisecond))
	if count == 1 {
		return w.one(ctx, first, 0, len(prompt))
	}
	for i := range count {
		q, err := first.Fork(i)
		if err != nil {
			return err
		}
		err = w.one(ctx, q, i, len(prompt))
		q.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// one prints a continuation. If ctx ends it, one prints the beginning in the same form.
func (w *writer) one(ctx context.Context, q *generate.Sequence, index, prompt int) error {
	start := time.Now()
	text, err := w.stream(ctx, q)
	took := time.Since(start)
	tokens, reason := q.IDs()[prompt:], q.Reason().String()
	if err != nil && ctx.Err() != nil {
		reason = context.Cause(ctx).Error()
	}
	switch {
	case w.json && (err == nil || ctx.Err() != nil):
		c := continuation{Index: index, Tokens: tokens, Reason: reason, LogProbs: w.probabilities}
		if w.text != nil {
			c.Text = &text
		}
		if err := json.NewEncoder(&printable.Writer{W: w.stdout, JSON: true}).Encode(c); err != nil {
			return err
		}
	case !w.json && len(tokens) > 0:
		printable.Fprintln(w.stdout)
	}
	if err == nil || ctx.Err() != nil {
		printable.Fprintf(w.stderr, "generated: %s; ended by %s\n", speed(len(tokens), took), reason)
	}
	return err
}

// stream prints text, or the numbers of tokens, as they come; with --json nothing. It returns the
// text, even with an error. A terminal gets text with escapes, any other writer gets it unchanged.
func (w *writer) stream(ctx context.Context, q *generate.Sequence) (string, error) {
	var text []byte
	w.probabilities = nil
	to := w.stdout
	if !terminal(to) {
		to = asIs(to)
	}
	show := func(s string) error {
		if text = append(text, s...); w.json {
			return nil
		}
		_, err := io.WriteString(to, s)
		return err
	}
	if w.text != nil {
		for piece, err := range q.Text(ctx) {
			if err != nil {
				return string(text), err
			}
			w.measure(piece.Tokens...)
			if err := show(piece.Text); err != nil {
				return string(text), err
			}
		}
		return string(text), nil
	}
	between := ""
	for token, err := range q.Tokens(ctx) {
		if err != nil {
			return string(text), err
		}
		if token.Reason == generate.StopID {
			break
		}
		w.measure(token)
		if err := show(fmt.Sprint(between, token.ID)); err != nil {
			return string(text), err
		}
		between = ","
	}
	return string(text), nil
}

// measure adds the probabilities of tokens, if they are asked for.
func (w *writer) measure(tokens ...generate.Token) {
	named := func(id int32, p float64) tokenProbability {
		word := ""
		if w.text != nil {
			word, _ = w.text.Token(id)
		}
		return tokenProbability{ID: id, Token: word, LogProb: p}
	}
	for _, t := range tokens {
		if len(t.Alternatives) == 0 || t.Reason == generate.StopID {
			continue
		}
		p := named(t.ID, t.LogProb)
		for _, a := range t.Alternatives {
			p.Alternatives = append(p.Alternatives, named(a.ID, a.LogProb))
		}
		w.probabilities = append(w.probabilities, p)
	}
}

// speed returns a number of tokens, their time, and tokens per second. Some systems' clocks do not
// see short times.
func speed(tokens int, took time.Duration) string {
	switch {
	case tokens == 0:
		return "0 tokens"
	case took <= 0:
		return plural(tokens, "token") + " in less than the clock tells"
	}
	return fmt.Sprintf("%s in %v, %.4g tokens/s", plural(tokens, "token"), took.Round(time.Microsecond),
		float64(tokens)/took.Seconds())
}

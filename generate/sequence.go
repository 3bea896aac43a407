package generate

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/nacre-ml/nacre/internal/guard"
)

// Reason says why a sequence ended.
type Reason int

// The reasons.
const (
	NotEnded  Reason = iota
	StopID           // the decoder gave a token that ends a text
	StopText         // a stop text was complete
	MaxTokens        // as many tokens were generated as Sampling allows
	Window           // the window is full
)

func (r Reason) String() string {
	if r < 0 || int(r) >= len(reasons) {
		return fmt.Sprintf("Reason(%d)", int(r))
	}
	return reasons[r]
}

var reasons = []string{"not ended", "stop token", "stop text", "max tokens", "window full"}

// Token is a generated token.
type Token struct {
	Index int // of the prompt or of the continuation
	ID    int32
}

// Piece is generated text: whole characters, never empty.
type Piece struct {
	Index int // of the prompt or of the continuation
	Text  string
}

// Sequence is a prompt and the tokens that follow it. It holds the states of the decoder until
// Close. The methods of a Sequence may be called from one goroutine at a time.
type Sequence struct {
	generator *Generator
	runner    *runner
	sampler   *sampler
	texts     *texts // nil without a tokenizer
	index     int
	tokens    []int32
	prompt    int // how many of the tokens are the prompt
	logits    []float32
	computed  int // how many tokens the logits follow
	end       Reason
}

// Start computes a prompt and returns the sequence that begins with it. The error is ErrPrompt,
// ErrWindow, nacre.ErrOption for sampling that is out of range, or the error of a run.
func (g *Generator) Start(ctx context.Context, prompt []int32, s Sampling) (_ *Sequence, err error) {
	defer guard.At(g.file()).End(&err)
	if !g.made() {
		return nil, errNotMade
	}
	q, err := g.begin(ctx, prompt, s, 0)
	if err != nil {
		return nil, err
	}
	if err := q.compute(ctx); err != nil {
		q.Close()
		return nil, err
	}
	return q, nil
}

// begin makes a sequence without computing anything.
func (g *Generator) begin(ctx context.Context, prompt []int32, s Sampling, index int) (*Sequence, error) {
	if err := g.check(prompt, &s); err != nil {
		return nil, err
	}
	s.StopIDs = append(slices.Clone(g.options.StopIDs), s.StopIDs...)
	r, err := g.decoder.newRunner(ctx, g.chunk, g.room(len(prompt), s.MaxTokens), g.options.Original)
	if err != nil {
		return nil, err
	}
	q := &Sequence{generator: g, runner: r, sampler: newSampler(s, g.options.LastOfEqual, uint64(index)), index: index, prompt: len(prompt)}
	q.sampler.suppressed = g.options.SuppressIDs
	q.tokens = append(make([]int32, 0, g.room(len(prompt), s.MaxTokens)), prompt...)
	for _, id := range prompt {
		q.sampler.see(id, false)
	}
	if t := g.options.Tokenizer; t != nil {
		q.texts = newTexts(t, s.Stop, prompt)
	}
	return q, nil
}

// compute computes the logits that follow the last token.
func (q *Sequence) compute(ctx context.Context) error {
	if q.computed == len(q.tokens) {
		return nil
	}
	o, tokens := &q.generator.options, q.tokens
	beyond := o.Slide && len(tokens) > o.Window
	if beyond {
		tokens = tokens[len(tokens)-o.Window:]
	}
	if beyond || o.NoCache || q.runner.switches(len(tokens)) {
		q.runner.clear()
	}
	logits, err := q.runner.compute(ctx, tokens)
	if err != nil {
		return err
	}
	q.logits, q.computed = logits, len(q.tokens)
	return nil
}

// Next returns the next token. At the end it returns false, and Reason says why. After an error the
// sequence is of no use, unless its context ended.
func (q *Sequence) Next(ctx context.Context) (_ int32, _ bool, err error) {
	defer guard.At(q.file()).End(&err)
	if !q.made() {
		return 0, false, errNotMade
	}
	g := q.generator
	switch n := len(q.tokens) - q.prompt; {
	case q.end != NotEnded:
		return 0, false, nil
	case q.sampler.MaxTokens > 0 && n >= q.sampler.MaxTokens:
		q.end = MaxTokens
		return 0, false, nil
	case g.options.Window > 0 && !g.options.Slide && len(q.tokens) > g.options.Window:
		return q.full()
	}
	if err := q.compute(ctx); err != nil {
		return 0, false, err
	}
	id, err := q.sampler.choose(q.logits)
	if err != nil {
		return 0, false, fmt.Errorf("%s: token %d: %w", g.decoder.file, len(q.tokens), err)
	}
	if slices.Contains(q.sampler.StopIDs, id) {
		q.end = StopID
		return 0, false, nil
	}
	q.tokens = append(q.tokens, id)
	q.sampler.see(id, true)
	return id, true, nil
}

// full ends a sequence with no space in the window for its last token.
func (q *Sequence) full() (int32, bool, error) {
	if q.sampler.MaxTokens == 0 {
		q.end = Window
		return 0, false, nil
	}
	return 0, false, errorf(ErrWindow, "%s: the window of %d tokens is full after a prompt of %d and %d of the %d tokens that Sampling.MaxTokens asks for",
		q.generator.decoder.file, q.generator.options.Window, q.prompt, len(q.tokens)-q.prompt, q.sampler.MaxTokens)
}

// piece returns the next text, which may be empty. At the end it returns false.
func (q *Sequence) piece(ctx context.Context) (_ string, _ bool, err error) {
	defer guard.At(q.file()).End(&err)
	id, ok, err := q.Next(ctx)
	if err != nil {
		return "", false, err
	}
	if !ok {
		return q.texts.flush(), false, nil
	}
	text, stopped, err := q.texts.push(id)
	if err != nil {
		return "", false, err
	}
	if stopped {
		q.end = StopText
	}
	return text, !stopped, nil
}

// Tokens yields the tokens that follow, up to an error or the end.
func (q *Sequence) Tokens(ctx context.Context) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		if !q.made() {
			yield(Token{}, errNotMade)
			return
		}
		for {
			id, ok, err := q.Next(ctx)
			if err != nil {
				yield(Token{Index: q.index}, err)
				return
			}
			if !ok || !yield(Token{q.index, id}, nil) {
				return
			}
		}
	}
}

// Text yields the text that follows, up to an error or the end. Pieces are whole characters.
// Without a tokenizer the error is nacre.ErrOption.
func (q *Sequence) Text(ctx context.Context) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		switch {
		case !q.made():
			yield(Piece{}, errNotMade)
			return
		case q.texts == nil:
			yield(Piece{Index: q.index}, errNoTokenizer)
			return
		}
		for more := true; more; {
			var text string
			var err error
			if text, more, err = q.piece(ctx); err != nil {
				yield(Piece{Index: q.index}, err)
				return
			}
			if text != "" && !yield(Piece{q.index, text}, nil) {
				return
			}
		}
	}
}

// Fork returns a sequence with the same tokens that shares nothing with q. It goes on with random
// numbers of its own, chosen by the seed and the index. Nothing is computed again.
func (q *Sequence) Fork(index int) (_ *Sequence, err error) {
	defer guard.At(q.file()).End(&err)
	if !q.made() {
		return nil, errNotMade
	}
	r, err := q.runner.fork()
	if err != nil {
		return nil, err
	}
	f := *q
	f.runner, f.index, f.sampler = r, index, q.sampler.fork(uint64(index))
	f.tokens = append(make([]int32, 0, cap(q.tokens)), q.tokens...)
	f.logits = slices.Clone(q.logits)
	if q.texts != nil {
		f.texts = q.texts.fork()
	}
	return &f, nil
}

// IDs returns the tokens, starting with the prompt, in a new slice.
func (q *Sequence) IDs() []int32 {
	if !q.made() {
		return nil
	}
	return slices.Clone(q.tokens)
}

// Generated returns how many tokens follow the prompt.
func (q *Sequence) Generated() int {
	if !q.made() {
		return 0
	}
	return len(q.tokens) - q.prompt
}

// Reason returns why the sequence ended.
func (q *Sequence) Reason() Reason {
	if !q.made() {
		return NotEnded
	}
	return q.end
}

// Close releases the memory of the states. Further calls do nothing.
func (q *Sequence) Close() (err error) {
	defer guard.At(q.file()).End(&err)
	if q.made() {
		q.runner.close()
	}
	return nil
}

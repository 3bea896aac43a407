package generate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/guard"
)

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
	scores    scores
	computed  int // how many tokens the scores follow
	end       Reason
	last      Token
	unheard   []Token // tokens that no piece has yet
}

// Start computes a prompt and returns the sequence that begins with it. The error is ErrPrompt,
// ErrWindow, nacre.ErrOption for sampling that is out of range, or the error of a run.
func (g *Generator) Start(ctx context.Context, prompt []int32, s Sampling) (_ *Sequence, err error) {
	defer guard.At(g.file()).End(&err)
	if !g.made() {
		return nil, errNotMade
	}
	return g.start(ctx, prompt, s, g.top(&s))
}

// start is Start. Runs give the top largest logits; 0 for all.
func (g *Generator) start(ctx context.Context, prompt []int32, s Sampling, top int) (*Sequence, error) {
	q, err := g.begin(ctx, prompt, s, 0, top)
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
func (g *Generator) begin(ctx context.Context, prompt []int32, s Sampling, index, top int) (*Sequence, error) {
	if err := g.check(prompt, &s); err != nil {
		return nil, err
	}
	s.StopIDs = append(slices.Clone(g.options.StopIDs), s.StopIDs...)
	r, err := g.decoder.newRunner(ctx, g.chunk, g.room(len(prompt), s.MaxTokens), g.options.Original, top)
	if err != nil {
		return nil, err
	}
	q := &Sequence{generator: g, runner: r, index: index}
	q.tokens = append(make([]int32, 0, g.room(len(prompt), s.MaxTokens)), prompt...)
	q.prompted(s)
	return q, nil
}

// prompted makes all tokens the prompt of what follows.
func (q *Sequence) prompted(s Sampling) {
	o := &q.generator.options
	q.sampler = newSampler(s, o.LastOfEqual, uint64(q.index))
	q.sampler.suppressed = o.SuppressIDs
	for _, id := range q.tokens {
		q.sampler.see(id, false)
	}
	if o.Tokenizer != nil {
		q.texts = newTexts(o.Tokenizer, s.Stop, q.tokens)
	}
	q.prompt, q.end, q.unheard = len(q.tokens), NotEnded, nil
}

// compute computes the scores that follow the last token.
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
	x, err := q.runner.compute(ctx, tokens)
	if errors.Is(err, nacre.ErrState) { // a run that its context ended has left them half changed
		q.runner.clear()
		x, err = q.runner.compute(ctx, tokens)
	}
	if err != nil {
		return err
	}
	q.scores, q.computed = x, len(q.tokens)
	return nil
}

// choose returns the next token. If the largest logits leave it open, it computes all of them.
func (q *Sequence) choose(ctx context.Context) (int32, error) {
	if q.scores.ids == nil {
		return q.sampler.choose(q.scores.logits)
	}
	id, known, err := q.sampler.chooseAmong(&q.scores, q.generator.decoder.vocab)
	if known || err != nil {
		return id, err
	}
	logits, err := q.runner.whole(ctx)
	if err != nil {
		q.computed = 0
		return 0, err
	}
	q.scores = scores{logits: logits}
	return q.sampler.choose(logits)
}

// Next returns the next token. At the end it returns false, and Reason says why. After an error the
// sequence is of no use, unless its context ended.
func (q *Sequence) Next(ctx context.Context) (_ int32, _ bool, err error) {
	defer guard.At(q.file()).End(&err)
	if !q.made() {
		return 0, false, errNotMade
	}
	if q.end != NotEnded {
		return 0, false, nil
	}
	t, err := q.step(ctx)
	if err != nil || t.Reason == StopID {
		return 0, false, err
	}
	return t.ID, true, nil
}

// step returns the next token of a sequence that has not ended.
func (q *Sequence) step(ctx context.Context) (t Token, err error) {
	defer guard.At(q.file()).End(&err)
	t = Token{Index: q.index}
	if err := q.compute(ctx); err != nil {
		return t, err
	}
	if t.ID, err = q.choose(ctx); err != nil {
		return t, fmt.Errorf("%s: token %d: %w", q.generator.decoder.file, len(q.tokens), err)
	}
	if q.sampler.Alternatives > 0 {
		q.sampler.measure(&t, q.scores.logits)
	}
	if slices.Contains(q.sampler.StopIDs, t.ID) {
		q.end = StopID
	} else {
		q.add(t.ID)
	}
	t.Reason = q.end
	q.last = t
	return t, nil
}

// add adds a generated token. If it is the last that Sampling or the window allows, the sequence
// ends.
func (q *Sequence) add(id int32) {
	q.tokens = append(q.tokens, id)
	q.sampler.see(id, true)
	switch most := q.sampler.MaxTokens; {
	case most > 0 && len(q.tokens)-q.prompt >= most:
		q.end = MaxTokens
	case q.full():
		q.end = Window
	}
}

// full reports whether the window has no space for the last token.
func (q *Sequence) full() bool {
	o := &q.generator.options
	return o.Window > 0 && !o.Slide && len(q.tokens) > o.Window
}

// piece returns the next piece of a sequence that has not ended. Its text may be empty.
func (q *Sequence) piece(ctx context.Context) (p Piece, err error) {
	defer guard.At(q.file()).End(&err)
	p = Piece{Index: q.index}
	t, err := q.step(ctx)
	if err != nil {
		return p, err
	}
	if t.Reason != StopID {
		var stopped bool
		if p.Text, stopped, err = q.texts.push(t.ID); err != nil {
			return p, err
		}
		if stopped {
			q.end = StopText
			t.Reason, q.last.Reason = StopText, StopText
		}
	}
	if q.end != NotEnded && q.end != StopText {
		p.Text += q.texts.flush()
	}
	q.unheard = append(q.unheard, t)
	if p.Reason = q.end; p.Text != "" || p.Reason != NotEnded {
		p.Tokens, q.unheard = q.unheard, nil
	}
	return p, nil
}

// Tokens yields the tokens that follow, up to an error or the end. The last token says why the
// sequence ended.
func (q *Sequence) Tokens(ctx context.Context) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		if !q.made() {
			yield(Token{}, errNotMade)
			return
		}
		for q.end == NotEnded {
			t, err := q.step(ctx)
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// Text yields the text that follows, up to an error or the end. Pieces are whole characters. The
// last piece says why the sequence ended. Without a tokenizer the error is nacre.ErrOption.
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
		for q.end == NotEnded {
			p, err := q.piece(ctx)
			if (err != nil || p.Text != "" || p.Reason != NotEnded) && !yield(p, err) || err != nil {
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
	f.scores, f.unheard = q.scores.clone(), slices.Clone(q.unheard)
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

// Last returns the token that Next chose last, with the probabilities that Sampling.Alternatives asks
// for; the zero Token before the first.
func (q *Sequence) Last() Token {
	if !q.made() {
		return Token{}
	}
	return q.last
}

// Generated returns how many tokens follow the prompt, or what Append added last.
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

package generate

import (
	"context"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/guard"
)

// Append adds tokens, such as the next message of a chat, and computes them and no others. The
// sequence goes on as one that starts with all its tokens: MaxTokens, penalties, random numbers,
// stops and Generated begin anew, also after an end; how tokens are chosen stays as Start was told.
// A token that ended the text is not among the tokens of the sequence; ids has it if the text goes
// on behind it. Without ids, more tokens follow the last one.
//
// The error is ErrPrompt for a token that the vocabulary lacks and ErrWindow for more tokens than
// the window has space for, unless it slides; the sequence then stays as it was. It is also the
// error of a run. If ctx ended the run, the tokens are added, and Next computes the rest of them.
func (q *Sequence) Append(ctx context.Context, ids []int32) (err error) {
	defer guard.At(q.file()).End(&err)
	if !q.made() {
		return errNotMade
	}
	g := q.generator
	if err := g.checkIDs(ids); err != nil {
		return err
	}
	if o := &g.options; o.Window > 0 && !o.Slide && len(q.tokens)+len(ids) > o.Window {
		const text = "%s: the sequence has %d tokens, and %d more do not fit in the window of %d"
		return errorf(ErrWindow, text, g.decoder.file, len(q.tokens), len(ids), o.Window)
	}
	q.tokens = append(q.tokens, ids...)
	q.prompted(q.sampler.Sampling)
	return q.compute(ctx)
}

// Truncate keeps the first n tokens, at least one. As after Append, the sequence goes on as one that
// starts with them. The states keep these tokens too, except the last, which the next run computes
// again; a network with states that cannot go back computes all. If n is out of range, the error is
// nacre.ErrOption; if the window has no space for n tokens, it is ErrWindow.
func (q *Sequence) Truncate(n int) (err error) {
	defer guard.At(q.file()).End(&err)
	if !q.made() {
		return errNotMade
	}
	file, o := q.file(), &q.generator.options
	switch {
	case n < 1 || n > len(q.tokens):
		return errorf(nacre.ErrOption, "%s: the sequence has %d tokens, and cannot be cut to %d", file, len(q.tokens), n)
	case o.Window > 0 && !o.Slide && n > o.Window:
		return errorf(ErrWindow, "%s: %d tokens do not fit in the window of %d", file, n, o.Window)
	}
	if n < len(q.tokens) {
		if o.Slide && len(q.tokens) > o.Window {
			q.runner.clear()
		} else {
			q.runner.cut(n)
		}
		q.tokens, q.computed = q.tokens[:n], 0
	}
	q.prompted(q.sampler.Sampling)
	return nil
}

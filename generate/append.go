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

// Follow makes ids the tokens of the sequence, such as the ids of a chat with one more message. The
// tokens that both begin with stay computed, and only those after them are computed. As after Append,
// the sequence goes on as one that starts with ids.
//
// The error is ErrPrompt without ids or for one that the vocabulary lacks, and ErrWindow for more than
// the window has space for, unless it slides; the sequence then stays as it was. It is also the error of
// a run. If ctx ended the run, the tokens are there, and Next computes the rest of them.
func (q *Sequence) Follow(ctx context.Context, ids []int32) (err error) {
	defer guard.At(q.file()).End(&err)
	if !q.made() {
		return errNotMade
	}
	file, o := q.file(), &q.generator.options
	switch {
	case len(ids) == 0:
		return errorf(ErrPrompt, "%s: the sequence is to follow no tokens; a decoder needs one at least", file)
	case o.Window > 0 && !o.Slide && len(ids) > o.Window:
		return errorf(ErrWindow, "%s: %d tokens do not fit in the window of %d", file, len(ids), o.Window)
	}
	if err := q.generator.checkIDs(ids); err != nil {
		return err
	}
	same := 0
	for same < min(len(q.tokens), len(ids)) && q.tokens[same] == ids[same] {
		same++
	}
	if same < len(q.tokens) {
		q.drop(same, min(same+1, len(ids)))
	}
	if same < len(ids) {
		q.tokens = append(q.tokens, ids[same:]...)
	}
	q.prompted(q.sampler.Sampling)
	return q.compute(ctx)
}

// drop keeps the first n tokens. The states then hold less than the given number of tokens.
func (q *Sequence) drop(n, states int) {
	if o := &q.generator.options; n == 0 || o.Slide && len(q.tokens) > o.Window {
		q.runner.clear()
	} else {
		q.runner.cut(states)
	}
	q.tokens, q.computed = q.tokens[:n], 0
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
		q.drop(n, n)
	}
	q.prompted(q.sampler.Sampling)
	return nil
}

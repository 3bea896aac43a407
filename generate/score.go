package generate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/guard"
)

// LogProbs returns the natural logarithm of the probability that the decoder gives each token of a
// continuation, after the prompt and the tokens before it. Their sum says how likely the continuation
// is. As in Token.LogProb, the probabilities are of logits before any change. Tokens are computed
// in chunks, as those of a prompt.
//
// The error is ErrPrompt for a prompt without tokens and for tokens that the vocabulary lacks,
// ErrWindow if the window has no space for all tokens but the last, nacre.ErrUnsupported for a network
// that gives no logits of some tokens, or the error of a run.
func (g *Generator) LogProbs(ctx context.Context, prompt, continuation []int32) (_ []float64, err error) {
	defer guard.At(g.file()).End(&err)
	if !g.made() {
		return nil, errNotMade
	}
	all := slices.Concat(prompt, continuation)
	switch o := &g.options; {
	case len(prompt) == 0:
		return nil, errorf(ErrPrompt, "%s: the prompt has no tokens; a decoder needs one at least", g.file())
	case o.Window > 0 && len(all)-1 > o.Window:
		return nil, errorf(ErrWindow, "%s: %d tokens and the one after them do not fit in the window of %d", g.file(), len(all)-1, o.Window)
	}
	if err := g.checkIDs(all); err != nil || len(continuation) == 0 {
		return nil, err
	}
	r, at, err := g.behind(ctx, all[:len(all)-1], len(prompt)-1)
	if err != nil {
		return nil, err
	}
	defer r.close()
	list := make([]float64, 0, len(continuation))
	for at < len(all)-1 {
		rows, width, err := r.allRows(ctx, all[at:len(all)-1])
		if err != nil {
			return nil, err
		}
		for ; len(rows) > 0; rows = rows[width:] {
			if at++; at < len(prompt) {
				continue
			}
			p, ok := logProbOf(rows[:width], all[at])
			if !ok {
				return nil, fmt.Errorf("%s: token %d: %w", g.file(), at, errNoToken)
			}
			list = append(list, p)
		}
	}
	return list, nil
}

// logProbOf returns the logarithm of a token's probability. If no logit is above negative infinity, it
// reports false.
func logProbOf(logits []float32, id int32) (float64, bool) {
	d := distributionOf(logits)
	if math.IsInf(d.most, -1) || int(id) >= len(logits) {
		return 0, false
	}
	return d.logProb(logits[id]), true
}

// behind returns a runner that gives the logits of all tokens, and has computed the first of them: n, or
// none if the others change how they are rotated.
func (g *Generator) behind(ctx context.Context, tokens []int32, n int) (_ *runner, done int, err error) {
	d := g.decoder
	r, err := d.newRunner(ctx, g.chunk, len(tokens), g.options.Original, 0)
	if err != nil || !d.states {
		return r, 0, err
	}
	defer r.close()
	w := &runner{decoder: d, chunk: r.chunk, first: r.first}
	if w.stream, err = d.source.NewStream(ctx, nacre.StreamOptions{Room: len(tokens)}); err != nil {
		return nil, 0, err
	}
	if n < r.first && len(tokens) >= r.first {
		n = 0
	}
	if _, err = r.compute(ctx, tokens[:n]); err == nil {
		err = w.stream.Take(r.stream)
	}
	if err != nil {
		w.close()
		return nil, 0, err
	}
	w.done = n
	return w, n, nil
}

// allRows computes the next of the tokens, and returns the logits of each, of width numbers.
func (r *runner) allRows(ctx context.Context, tokens []int32) (rows []float32, width int, err error) {
	var out map[string]*nacre.Tensor
	if r.stream == nil {
		out, err = r.source.Run(ctx, r.wholeInputs(tokens))
	} else {
		n := r.chunk
		if r.done == 0 && len(tokens) >= r.first {
			n = max(n, r.first)
		}
		if shape := r.logits.Shape; len(shape) == 3 && shape[1].Size == 1 && !shape[1].Open() {
			n = 1
		}
		tokens = tokens[:min(n, len(tokens))]
		out, err = r.stream.Run(ctx, r.wholeInputs(tokens))
		r.done += len(tokens)
	}
	if err != nil {
		return nil, 0, err
	}
	t := out[r.logits.Name]
	if t == nil {
		return nil, 0, errorf(nacre.ErrUnsupported, "%s: a run gives no output %s", r.file, r.logits.Name)
	}
	shape := t.Shape()
	width = shape[len(shape)-1]
	if width == 0 || t.Len() != width*len(tokens) {
		return nil, 0, errorf(nacre.ErrUnsupported, "%s: output %s is %v for %d tokens; export the decoder with the logits of all tokens",
			r.file, r.logits.Name, t, len(tokens))
	}
	rows, err = nacre.Float32s(t)
	return rows, width, err
}

// wholeInputs makes the inputs of a run that keeps the logits of all tokens.
func (r *runner) wholeInputs(tokens []int32) map[string]*nacre.Tensor {
	in := r.inputs(tokens)
	for _, v := range r.extra {
		if isKept(v.Name) {
			fill(in[v.Name], func(int) int { return len(tokens) })
		}
	}
	return in
}

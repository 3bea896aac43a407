package generate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/guard"
)

// BeamSearch says how Beams searches.
type BeamSearch struct {
	// Width is how many texts each step keeps, and how many Beams returns at most.
	Width int
	// LengthPenalty is the power of a text's length by which its log probability is divided. At 0
	// the probabilities of whole texts are compared, so short ones win; at 1 the means of their
	// tokens.
	LengthPenalty float64
	// Early ends the search when Width texts have ended. Otherwise it goes on until no other text
	// can have a better score.
	Early bool
}

// Beam is a text that a search found.
type Beam struct {
	IDs     []int32 // without the prompt and the stop token
	LogProb float64 // the sum over the tokens and the stop token
	Score   float64 // LogProb divided by the number of these tokens to the power of LengthPenalty
	Reason  Reason  // StopID, MaxTokens or Window
}

// Beams returns the continuations of a prompt that a beam search finds, the best first. Each step
// keeps the Width likeliest texts of one more token. A text that a stop token ends is a result if
// the step has less than Width likelier texts. Of equally likely texts the one with the likelier
// beginning comes first, then the one with the smaller token. The states of Width texts are in
// memory at once; the prompt is computed once.
//
// Probabilities are of the logits as Bias, penalties, SuppressIDs and Adjust change them.
// Temperature, TopK, TopP, MinP, Seed and Alternatives have no effect. The error is nacre.ErrOption
// for a search that is out of range and for Sampling.Stop, else as for Start and Next.
func (g *Generator) Beams(ctx context.Context, prompt []int32, b BeamSearch, s Sampling) (_ []Beam, err error) {
	defer guard.At(g.file()).End(&err)
	switch p := b.LengthPenalty; {
	case !g.made():
		return nil, errNotMade
	case b.Width < 1:
		return nil, errorf(nacre.ErrOption, "%s: BeamSearch.Width is %d; it must be 1 at least", g.decoder.file, b.Width)
	case math.IsNaN(p) || math.IsInf(p, 0):
		return nil, errorf(nacre.ErrOption, "%s: BeamSearch.LengthPenalty is %v; it must be finite", g.decoder.file, p)
	case len(s.Stop) > 0:
		return nil, errStopText
	}
	first, err := g.start(ctx, prompt, s, 0)
	if err != nil {
		return nil, err
	}
	x := &search{BeamSearch: b, live: []*hypothesis{{q: first}}}
	defer func() {
		for _, h := range x.live {
			h.q.Close()
		}
	}()
	for len(x.live) > 0 && !x.over() {
		if err := x.step(ctx); err != nil {
			return nil, err
		}
	}
	return x.ended, nil
}

// search is a beam search.
type search struct {
	BeamSearch
	live  []*hypothesis // of one length, the likeliest first
	ended []Beam        // at most Width, the best first
}

// hypothesis is a text that has not ended.
type hypothesis struct {
	q       *Sequence
	logProb float64
	next    []extension // the likeliest first
	err     error       // why next is not known
}

// extension is a live text with one more token.
type extension struct {
	of      int // the place of the text among the live ones
	id      int32
	logProb float64
}

// step replaces the live texts by texts of one more token.
func (x *search) step(ctx context.Context) error {
	each(len(x.live), func(i int) { x.live[i].err = x.expand(ctx, i) })
	var all []extension
	for _, h := range x.live {
		if h.err != nil {
			return h.err
		}
		all = append(all, h.next...)
	}
	if q := x.live[0].q; len(all) == 0 && len(x.ended) == 0 {
		return fmt.Errorf("%s: token %d: %w", q.file(), len(q.tokens), errNoToken)
	}
	slices.SortStableFunc(all, func(a, b extension) int { return cmp.Compare(b.logProb, a.logProb) })
	var kept []extension
	for rank, e := range all {
		q := x.live[e.of].q
		switch {
		case !slices.Contains(q.sampler.StopIDs, e.id):
			kept = append(kept, e)
		case rank < x.Width:
			x.end(q, e.logProb, q.Generated()+1, StopID)
		}
		if len(kept) == x.Width {
			break
		}
	}
	return x.replace(kept)
}

// expand finds the likeliest extensions of a live text: Width of them, beside stop tokens.
func (x *search) expand(ctx context.Context, of int) (err error) {
	h := x.live[of]
	q := h.q
	defer guard.At(q.file()).End(&err)
	if err := q.compute(ctx); err != nil {
		return err
	}
	logits, err := q.sampler.adjusted(q.scores.logits)
	if err != nil {
		return fmt.Errorf("%s: token %d: %w", q.file(), len(q.tokens), err)
	}
	d := distributionOf(logits)
	for _, c := range q.sampler.likeliest(logits, x.Width+len(q.sampler.StopIDs)) {
		if p := d.logProb(c.logit); !math.IsInf(p, -1) {
			h.next = append(h.next, extension{of, c.id, h.logProb + p})
		}
	}
	return nil
}

// replace makes extensions the live texts, or the ended ones if they have all the tokens that
// Sampling or the window allows. The first extension of a text takes its states, each other one a
// copy.
func (x *search) replace(kept []extension) error {
	used, taken := make([]bool, len(x.live)), make([]bool, len(x.live))
	for _, e := range kept {
		used[e.of] = true
	}
	for i, h := range x.live {
		if !used[i] {
			h.q.Close()
		}
	}
	live := make([]*hypothesis, len(kept))
	var forks []*Sequence
	for i, e := range kept {
		q := x.live[e.of].q
		if taken[e.of] {
			f, err := q.Fork(q.index)
			if err != nil {
				closeAll(forks)
				return err
			}
			q = f
			forks = append(forks, f)
		}
		taken[e.of] = true
		live[i] = &hypothesis{q: q, logProb: e.logProb}
	}
	x.live = nil
	for i, h := range live {
		if h.q.add(kept[i].id); h.q.end == NotEnded {
			x.live = append(x.live, h)
			continue
		}
		x.end(h.q, h.logProb, h.q.Generated(), h.q.end)
		h.q.Close()
	}
	return nil
}

// end puts a text of n tokens among the ended ones.
func (x *search) end(q *Sequence, logProb float64, n int, r Reason) {
	b := Beam{IDs: slices.Clone(q.tokens[q.prompt:]), LogProb: logProb, Score: x.score(logProb, float64(n)), Reason: r}
	at := len(x.ended)
	for at > 0 && x.ended[at-1].Score < b.Score {
		at--
	}
	x.ended = slices.Insert(x.ended, at, b)
	x.ended = x.ended[:min(len(x.ended), x.Width)]
}

func (x *search) score(logProb, tokens float64) float64 {
	return logProb / math.Pow(tokens, x.LengthPenalty)
}

// over reports whether the live texts can no more be results.
func (x *search) over() bool {
	if len(x.ended) < x.Width {
		return false
	}
	h := x.live[0]
	n := float64(h.q.Generated() + 1)
	if x.LengthPenalty > 0 {
		n = h.q.most()
	}
	return x.Early || x.score(h.logProb, n) <= x.ended[x.Width-1].Score
}

// most returns how many tokens can follow the prompt.
func (q *Sequence) most() float64 {
	o, n := &q.generator.options, math.Inf(1)
	if most := q.sampler.MaxTokens; most > 0 {
		n = float64(most)
	}
	if o.Window > 0 && !o.Slide {
		n = min(n, float64(o.Window-q.prompt+1))
	}
	return n
}

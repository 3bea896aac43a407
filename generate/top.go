package generate

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/nacre-ml/nacre"
)

// scores is what a run says of the next token: the logits of all tokens, or the largest logits.
type scores struct {
	logits []float32
	// ids are the tokens of the largest logits: the largest first, and the smaller token of equal ones,
	// behind those that are NaN. It is nil if the logits are of all tokens.
	ids []int64
}

func (x scores) clone() scores { return scores{slices.Clone(x.logits), slices.Clone(x.ids)} }

// tops are the numbers of largest logits that runs of a device may give. A device reads a row once for
// each of them, so that rows have rowsPerTop as many elements at least.
var (
	tops       = []int{1, 8, 64}
	rowsPerTop = 1024
	anyDevice  = false // the CPU too gives the largest logits alone
)

// mayBePartial reports whether runs may give the largest logits alone: if a device need not copy the
// others to the host, and the last run can be done again for them.
func (d *decoder) mayBePartial() bool {
	switch d.logits.DType {
	case nacre.Float32, nacre.Float16, nacre.BFloat16:
	default:
		return false
	}
	back := !slices.ContainsFunc(d.source.Model().States(), func(st nacre.State) bool { return st.Axis < 0 })
	return back && d.vocab > 0 && (anyDevice || d.source.Device() != nil)
}

// top returns how many of the largest logits a sequence takes; 0 for all.
func (g *Generator) top(s *Sampling) int {
	d := g.decoder
	switch {
	case !d.partial || s.Adjust != nil || s.Alternatives > 0 || len(s.Bias) > 0 || newSampler(*s, false, 0).penalizes():
		return 0
	case s.Temperature == 0 && g.options.LastOfEqual || s.Temperature > 0 && s.TopK == 0:
		return 0
	}
	n := 1 + len(g.options.SuppressIDs)
	if s.Temperature > 0 {
		n += s.TopK
		if d.logits.DType != nacre.Float32 {
			n += n / 3 // halves are often equal, and equal ones at the end leave the token open
		}
	}
	for _, k := range tops {
		if n <= k && (k == 1 || k*rowsPerTop <= d.vocab) {
			return min(k, d.vocab)
		}
	}
	return 0
}

// chooseAmong returns the token that choose takes of all logits, by the largest of them. Known is false
// if that depends on the other ones.
func (s *sampler) chooseAmong(x *scores, vocab int) (id int32, known bool, err error) {
	list := s.among[:0]
	for i, id := range x.ids {
		if logit := x.logits[i]; logit == logit && !slices.Contains(s.suppressed, int32(id)) {
			list = append(list, candidate{id: int32(id), logit: logit})
		}
	}
	s.among = list
	all, none := len(x.ids) >= vocab, float32(math.Inf(-1))
	switch {
	case len(list) == 0 && all || len(list) > 0 && list[0].logit == none:
		return 0, true, errNoToken
	case len(list) == 0:
		return 0, false, nil
	case s.Temperature == 0:
		return list[0].id, true, nil
	case len(list) < s.TopK && !all:
		return 0, false, nil
	}
	most, least, cut := list[0].logit, list[len(list)-1].logit, none
	if s.TopK < len(list) || !all {
		cut = list[s.TopK-1].logit
	}
	if !all && least == cut && cut != none {
		return 0, false, nil
	}
	slices.SortFunc(list, func(a, b candidate) int { return cmp.Compare(a.id, b.id) })
	s.kept = s.kept[:0]
	total := 0.0
	for _, c := range list {
		if c.logit >= cut {
			total += s.weigh(c.id, c.logit, most)
		}
	}
	s.keepLikely(total)
	return s.draw(), true, nil
}

// whole returns all logits of the last run, which it does again.
func (r *runner) whole(ctx context.Context) (logits []float32, err error) {
	w := &runner{decoder: r.decoder, runs: r.session, chunk: r.chunk, first: r.first, noStep: true}
	if r.stream == nil {
		x, err := w.compute(ctx, r.last)
		return x.logits, err
	}
	end := r.done
	defer func() {
		if err != nil {
			r.cut(end)
		}
	}()
	r.unbind()
	if w.stream, err = w.runs.NewStream(ctx, nacre.StreamOptions{}); err != nil {
		return nil, err
	}
	defer w.close()
	if err := w.stream.Take(r.stream); err != nil {
		return nil, err
	}
	err = w.stream.Truncate(end - len(r.last))
	var x scores
	if err == nil {
		r.done = end - len(r.last)
		if x, err = w.rowsOf(ctx, r.last); err == nil {
			r.done = end
		}
	}
	if back := r.stream.Take(w.stream); back != nil {
		r.clear()
		return nil, cmp.Or(err, back)
	}
	return x.logits, err
}

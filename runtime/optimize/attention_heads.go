package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// heads is an operand of attention: queries, keys or values.
type heads struct {
	dims   graph.Dims // [batch,heads,rows,size], or [batch,rows,size] with one head
	value  string     // of those extents once its axes are in the order of turn
	turn   []int64    // nil where they are
	split  string     // the same as [batch,rows,heads,size]; "" if it was never that
	rows   string     // the same as [batch,rows,heads·size]; "" if it was never that
	scale  float64    // by which rows are to be multiplied
	repeat int        // heads of queries that share one
}

// headed sees a value as queries, keys or values; shared says whether those are
// taken that were repeated.
func (f *finder) headed(name string, shared bool) *heads {
	h := &heads{dims: f.dims(name), value: name, scale: 1, repeat: 1}
	if len(h.dims) != 3 && len(h.dims) != 4 {
		return nil
	}
	if shared && len(h.dims) == 4 {
		if of, n := f.repeated(name); n > 1 {
			h.dims, h.value, h.repeat = f.dims(of), of, n
		}
	}
	if t := f.from(h.value, "Transpose"); f.permutes(t, 0, 2, 1, 3) {
		f.splitFrom(h, t.Inputs[0])
	}
	return h
}

// splitFrom notes that the operand is split with its axes 1 and 2 swapped.
func (f *finder) splitFrom(h *heads, split string) {
	h.split = split
	r := f.from(split, "Reshape")
	if r == nil {
		return
	}
	d := f.dims(r.Inputs[0])
	if len(d) == 3 && f.equal(d[0], h.dims[0]) && f.equal(d[1], h.dims[2]) && f.equal(d[2], h.dims[1].Mul(h.dims[3])) {
		h.rows, _ = f.unscaled(r.Inputs[0], &h.scale)
	}
}

// turned sees a value as keys with their last two axes swapped.
func (f *finder) turned(name string, shared bool) *heads {
	if n := f.from(name, "Transpose"); n != nil && n.Attr("perm") != nil {
		perm := slices.Clone(n.Attr("perm").Ints)
		rank := len(perm)
		if rank != 3 && rank != 4 || rank != len(f.dims(name)) {
			return nil
		}
		perm[rank-1], perm[rank-2] = perm[rank-2], perm[rank-1]
		if slices.IsSorted(perm) {
			return f.headed(n.Inputs[0], shared)
		}
		h := &heads{dims: slices.Clone(f.dims(name)), scale: 1, repeat: 1, turn: perm, value: n.Inputs[0]}
		h.dims[rank-1], h.dims[rank-2] = h.dims[rank-2], h.dims[rank-1]
		if slices.Equal(perm, []int64{0, 2, 1, 3}) {
			f.splitFrom(h, n.Inputs[0])
		}
		return h
	}
	return f.turnedFlat(name, shared)
}

// turnedFlat is turned for keys whose batch and heads are joined while they turn.
func (f *finder) turnedFlat(name string, shared bool) *heads {
	after := f.from(name, "Reshape")
	if after == nil {
		return nil
	}
	turn := f.from(after.Inputs[0], "Transpose")
	if !f.permutes(turn, 0, 2, 1) {
		return nil
	}
	before := f.from(turn.Inputs[0], "Reshape")
	if before == nil {
		return nil
	}
	flat, keys := f.dims(turn.Inputs[0]), slices.Clone(f.dims(name))
	n := len(keys)
	if n < 3 || len(flat) != 3 {
		return nil
	}
	keys[n-1], keys[n-2] = keys[n-2], keys[n-1]
	if !slices.EqualFunc(keys[n-2:], flat[1:], f.equal) {
		return nil
	}
	if f.has(before.Inputs[0], keys) {
		return f.headed(before.Inputs[0], shared)
	}
	// The heads were joined as soon as they were repeated.
	if of, times := f.repeatedTo(before.Inputs[0], keys); shared && times > 1 {
		h := f.headed(of, false)
		h.repeat = times
		return h
	}
	return nil
}

// repeated sees a value as another of whose heads each is there n times in a row,
// which Unsqueeze, Expand and Reshape make.
func (f *finder) repeated(name string) (of string, n int) {
	join := f.from(name, "Reshape")
	if join == nil {
		return "", 0
	}
	return f.repeatedTo(join.Inputs[0], f.dims(name))
}

// repeatedTo is repeated for what Expand makes before a Reshape to those extents.
func (f *finder) repeatedTo(name string, out graph.Dims) (of string, n int) {
	expand := f.from(name, "Expand")
	if expand == nil {
		return "", 0
	}
	more := f.from(expand.Inputs[0], "Unsqueeze", "Reshape")
	if more == nil {
		return "", 0
	}
	x, all := f.dims(more.Inputs[0]), f.dims(name)
	if len(x) != 4 || len(all) != 5 {
		return "", 0
	}
	n, known := all[2].Value()
	if !known || !f.has(expand.Inputs[0], graph.Dims{x[0], x[1], graph.Known(1), x[2], x[3]}) ||
		!f.has(name, graph.Dims{x[0], x[1], all[2], x[2], x[3]}) ||
		!slices.EqualFunc(out, graph.Dims{x[0], x[1].Mul(all[2]), x[2], x[3]}, f.equal) {
		return "", 0
	}
	return more.Inputs[0], n
}

package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// heads is an operand of attention: queries, keys or values.
type heads struct {
	dims   graph.Dims // [batch,heads,rows,size], or [batch,rows,size] with one head
	value  string     // has these extents after a transpose by perm
	perm   []int64    // nil for none
	split  string     // the operand as [batch,rows,heads,size]; "" for none
	rows   string     // the operand as [batch,rows,heads·size] over scale; "" for none
	scale  float64    // factor of rows
	repeat int        // number of query heads that share a head
}

// headed returns a value as queries, keys or values. If shared, it looks through a repetition of
// heads to the heads before it.
func (m *matcher) headed(name string, shared bool) *heads {
	h := &heads{dims: m.dims(name), value: name, scale: 1, repeat: 1}
	if len(h.dims) != 3 && len(h.dims) != 4 {
		return nil
	}
	if shared && len(h.dims) == 4 {
		if of, n := m.repeated(name); n > 1 {
			h.dims, h.value, h.repeat = m.dims(of), of, n
		}
	}
	if t := m.producer(h.value, "Transpose"); m.isTranspose(t, 0, 2, 1, 3) {
		m.splitFrom(h, t.Inputs[0])
	}
	return h
}

// splitFrom sets split, the operand before its heads were moved before its rows, and rows, the
// operand before its heads were split.
func (m *matcher) splitFrom(h *heads, split string) {
	h.split = split
	r := m.producer(split, "Reshape")
	if r == nil {
		return
	}
	d := m.dims(r.Inputs[0])
	if len(d) == 3 && m.equal(d[0], h.dims[0]) && m.equal(d[1], h.dims[2]) && m.equal(d[2], h.dims[1].Mul(h.dims[3])) {
		h.rows, _ = m.unscaled(r.Inputs[0], &h.scale)
	}
}

// transposed returns a value, with its last two axes swapped, as keys.
func (m *matcher) transposed(name string, shared bool) *heads {
	if n := m.producer(name, "Transpose"); n != nil && n.Attr("perm") != nil {
		perm := slices.Clone(n.Attr("perm").Ints)
		rank := len(perm)
		if rank != 3 && rank != 4 || rank != len(m.dims(name)) {
			return nil
		}
		perm[rank-1], perm[rank-2] = perm[rank-2], perm[rank-1]
		if slices.IsSorted(perm) {
			return m.headed(n.Inputs[0], shared)
		}
		h := &heads{dims: slices.Clone(m.dims(name)), scale: 1, repeat: 1, perm: perm, value: n.Inputs[0]}
		h.dims[rank-1], h.dims[rank-2] = h.dims[rank-2], h.dims[rank-1]
		if slices.Equal(perm, []int64{0, 2, 1, 3}) {
			m.splitFrom(h, n.Inputs[0])
		}
		return h
	}
	return m.transposedFlat(name, shared)
}

// transposedFlat is transposed for keys with batch and heads joined in one axis during the
// transpose.
func (m *matcher) transposedFlat(name string, shared bool) *heads {
	after := m.producer(name, "Reshape")
	if after == nil {
		return nil
	}
	swap := m.producer(after.Inputs[0], "Transpose")
	if !m.isTranspose(swap, 0, 2, 1) {
		return nil
	}
	before := m.producer(swap.Inputs[0], "Reshape")
	if before == nil {
		return nil
	}
	flat, keys := m.dims(swap.Inputs[0]), slices.Clone(m.dims(name))
	n := len(keys)
	if n < 3 || len(flat) != 3 {
		return nil
	}
	keys[n-1], keys[n-2] = keys[n-2], keys[n-1]
	if !slices.EqualFunc(keys[n-2:], flat[1:], m.equal) {
		return nil
	}
	if m.hasDims(before.Inputs[0], keys) {
		return m.headed(before.Inputs[0], shared)
	}
	// One Reshape joined the repeated heads and the batch.
	if of, times := m.repeatedTo(before.Inputs[0], keys); shared && times > 1 {
		h := m.headed(of, false)
		h.repeat = times
		return h
	}
	return nil
}

// repeated returns the value before Unsqueeze, Expand and Reshape repeat each of its heads n times.
func (m *matcher) repeated(name string) (of string, n int) {
	join := m.producer(name, "Reshape")
	if join == nil {
		return "", 0
	}
	return m.repeatedTo(join.Inputs[0], m.dims(name))
}

// repeatedTo is repeated for the output of an Expand before a Reshape to extents out.
func (m *matcher) repeatedTo(name string, out graph.Dims) (of string, n int) {
	expand := m.producer(name, "Expand")
	if expand == nil {
		return "", 0
	}
	more := m.producer(expand.Inputs[0], "Unsqueeze", "Reshape")
	if more == nil {
		return "", 0
	}
	x, all := m.dims(more.Inputs[0]), m.dims(name)
	if len(x) != 4 || len(all) != 5 {
		return "", 0
	}
	n, known := all[2].Value()
	if !known || !m.hasDims(expand.Inputs[0], graph.Dims{x[0], x[1], graph.Known(1), x[2], x[3]}) ||
		!m.hasDims(name, graph.Dims{x[0], x[1], all[2], x[2], x[3]}) ||
		!slices.EqualFunc(out, graph.Dims{x[0], x[1].Mul(all[2]), x[2], x[3]}, m.equal) {
		return "", 0
	}
	return more.Inputs[0], n
}

// isTranspose reports whether a node is a Transpose by perm.
func (m *matcher) isTranspose(n *graph.Node, perm ...int64) bool {
	if !is(n, "Transpose") {
		return false
	}
	a := n.Attr("perm")
	return a != nil && slices.Equal(a.Ints, perm)
}

package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// fuseAttention makes Attention of its parts: products of queries and keys, scaled
// on either side or after, capped, masked, a softmax over the keys, products with
// the values. Where heads are split off by Reshape and Transpose before and joined
// after, the operator takes over those too; keys and values that heads share,
// repeated by Expand, it takes as they are. A query for which the mask leaves no
// key gives zeros, not the NaN of a softmax over nothing.
func fuseAttention(s *Scope) (*Edit, error) {
	f := newFinder(s)
	for _, n := range f.live {
		if !is(n, "Softmax") {
			continue
		}
		for _, shared := range []bool{true, false} {
			if a, ok := f.attention(n, shared); ok {
				f.attend(a)
				break
			}
		}
	}
	return f.result()
}

// attention is what the parts around a softmax compute.
type attention struct {
	scores
	v   *heads
	end *graph.Node // the product with the values
}

// attention finds the parts around a softmax; shared says whether repeated keys
// and values are taken as they were before.
func (f *finder) attention(softmax *graph.Node, shared bool) (a attention, ok bool) {
	rank := len(f.dims(softmax.Inputs[0]))
	if rank != 3 && rank != 4 || !f.overLast(softmax, rank) {
		return a, false
	}
	if a.scores, ok = f.masked(softmax.Inputs[0], shared, 0); !ok {
		return a, false
	}
	a.nodes = append(slices.Clone(a.nodes), softmax)
	return a, f.values(&a, softmax, shared) && f.consistent(&a) && f.inside(a.end, a.nodes...)
}

// overLast reports whether a softmax is over the last axis alone.
func (f *finder) overLast(n *graph.Node, rank int) bool {
	axis := int64(-1)
	if n.Version < 13 {
		axis = 1
	}
	if a := n.Attr("axis"); a != nil {
		axis = a.Int
	}
	return axis == -1 || axis == int64(rank-1)
}

// values follows the softmax to the product with the values.
func (f *finder) values(a *attention, n *graph.Node, shared bool) bool {
	for cast := f.reader(n); is(cast, "Cast"); cast = f.reader(n) {
		a.nodes, n = append(a.nodes, cast), cast
	}
	if nodes, where := f.zeroed(n); where != nil {
		a.nodes, n = append(a.nodes, nodes...), where
	}
	a.end = f.reader(n)
	if !is(a.end, "MatMul") || !f.is(a.end.Inputs[0], n.Outputs[0]) {
		return false
	}
	a.v = f.headed(a.end.Inputs[1], shared)
	return a.v != nil
}

// zeroed returns the nodes that put 0 in the place of NaN behind n, and the last
// of them.
func (f *finder) zeroed(n *graph.Node) (nodes []*graph.Node, where *graph.Node) {
	users := f.readers[f.name(n.Outputs[0])]
	if len(users) != 2 || f.kept[f.name(n.Outputs[0])] {
		return nil, nil
	}
	for i := range 2 {
		test, where := users[i], users[1-i]
		if !f.bound[test] || !f.bound[where] || !is(test, "IsNaN") || !is(where, "Where") || f.reader(test) != where || !f.is(where.Inputs[0], test.Outputs[0]) {
			continue
		}
		zero, ok := f.number(where.Inputs[1], len(f.dims(n.Outputs[0])))
		if ok && zero == 0 && f.is(where.Inputs[2], n.Outputs[0]) {
			return []*graph.Node{test, where}, where
		}
	}
	return nil, nil
}

// consistent reports whether queries, keys and values go together as they must
// for the operator, which stretches nothing.
func (f *finder) consistent(a *attention) bool {
	q, k, v := a.q.dims, a.k.dims, a.v.dims
	n := len(q)
	if len(k) != n || len(v) != n || !f.equal(k[0], q[0]) || !f.equal(v[0], q[0]) || !f.equal(k[n-1], q[n-1]) || !f.equal(v[n-2], k[n-2]) {
		return false
	}
	if n == 4 {
		if !f.equal(k[1], v[1]) || !f.equal(k[1].Mul(graph.Known(a.k.repeat)), q[1]) || a.k.repeat != a.v.repeat {
			return false
		}
	}
	d := f.dtype(a.q.value)
	return slices.Contains([]tensor.DType{tensor.F32, tensor.F16, tensor.BF16}, d) && f.dtype(a.k.value) == d && f.dtype(a.v.value) == d
}

// attend puts the operator in the place of its parts.
func (f *finder) attend(a attention) bool {
	w := &attendWriter{finder: f, a: &a}
	if len(a.q.dims) == 3 {
		return w.write(a.end, a.end.Outputs[0], true)
	}
	joined := f.reader(a.end)
	if w.splits() && f.permutes(joined, 0, 2, 1, 3) {
		if r := f.reader(joined); is(r, "Reshape") && f.has(r.Outputs[0], w.out()) {
			return w.write(r, r.Outputs[0], true)
		}
		return w.write(joined, joined.Outputs[0], true)
	}
	return w.write(a.end, a.end.Outputs[0], false)
}

// has reports whether a value is known to have those extents.
func (f *finder) has(name string, want graph.Dims) bool {
	d := f.dims(name)
	return d != nil && slices.EqualFunc(d, want, f.equal)
}

// permutes reports whether a node is Transpose with that order of axes.
func (f *finder) permutes(n *graph.Node, perm ...int64) bool {
	if !is(n, "Transpose") {
		return false
	}
	a := n.Attr("perm")
	return a != nil && slices.Equal(a.Ints, perm)
}

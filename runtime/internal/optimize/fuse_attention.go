package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// fuseAttention replaces softmax(q·kᵀ + masks)·v by Attention. Scores may be scaled on either side
// or after their product, and capped. The operator also takes over the Reshape and Transpose nodes
// that split heads before and join them after, and the Expand that repeats keys and values for
// several heads of queries. If a mask leaves a query no key, the result is NaN as with softmax, or
// 0 if the graph replaces NaN by 0.
func fuseAttention() run {
	weights := uncast(zeroed(uncast(where(apply("Softmax", x), (*match).isLastSoftmax))))
	product := apply("MatMul", weights, y)
	return func(s *Scope) (*Edit, error) {
		m := newMatcher(s)
		for _, n := range m.candidates(product) {
			for _, shared := range []bool{true, false} {
				if m.find(product, n, func(found *match) bool { return found.attend(shared) }) {
					break
				}
			}
		}
		return m.result()
	}
}

// isLastSoftmax reports whether a softmax of three or four axes is over the last
// one.
func (m *match) isLastSoftmax(n *graph.Node) bool {
	rank := len(m.dims(n.Inputs[0]))
	def := int64(-1)
	if n.Version < 13 {
		def = 1
	}
	axis := intOr(n, "axis", def)
	return (rank == 3 || rank == 4) && (axis == -1 || axis == int64(rank-1))
}

// uncast matches a, or a cast of a.
func uncast(a pattern) formula { return either(a, apply("Cast", a)) }

// zeroed matches a, or a with NaN replaced by 0.
func zeroed(a pattern) formula {
	const weights, zero variable = "weights", "zero"
	replaced := apply("Where", apply("IsNaN", as(weights, a)), zero, weights)
	return either(a, where(replaced, func(m *match, n *graph.Node) bool {
		c, ok := m.number(n.Inputs[1], len(m.dims(n.Inputs[2])))
		return ok && c == 0
	}))
}

// attention describes the operands of an attention found in a graph.
type attention struct {
	scores
	v      *heads
	zeroed bool // NaN weights become 0
}

// attend replaces a match, with x for the scores and y for the values, by the operator. If shared,
// it takes keys and values from before their repetition.
func (m *match) attend(shared bool) bool {
	var a attention
	var ok bool
	if a.scores, ok = m.masked(m.values[x], shared, 0); !ok {
		return false
	}
	a.v = m.headed(m.values[y], shared)
	a.zeroed = slices.ContainsFunc(m.nodes, func(n *graph.Node) bool { return is(n, "IsNaN") })
	if a.v == nil || !m.consistent(&a) || !m.private(slices.Concat(a.nodes, m.nodes), m.root) {
		return false
	}
	w := &attentionWriter{builder: builder{matcher: m.matcher}, a: &a}
	if len(a.q.dims) == 3 {
		return w.write(m.root, true)
	}
	joined := m.consumer(m.root)
	if w.splits() && m.isTranspose(joined, 0, 2, 1, 3) {
		if r := m.consumer(joined); is(r, "Reshape") && m.hasDims(r.Outputs[0], w.out()) {
			return w.write(r, true)
		}
		return w.write(joined, true)
	}
	return w.write(m.root, false)
}

// consistent reports whether the extents of queries, keys and values fit without
// broadcasting, and whether their element types are equal.
func (m *matcher) consistent(a *attention) bool {
	q, k, v := a.q.dims, a.k.dims, a.v.dims
	n := len(q)
	if len(k) != n || len(v) != n || !m.equal(k[0], q[0]) || !m.equal(v[0], q[0]) || !m.equal(k[n-1], q[n-1]) ||
		!m.equal(v[n-2], k[n-2]) {
		return false
	}
	if n == 4 {
		if !m.equal(k[1], v[1]) || !m.equal(k[1].Mul(graph.Known(a.k.repeat)), q[1]) || a.k.repeat != a.v.repeat {
			return false
		}
	}
	d := m.dtype(a.q.value)
	return m.ofType(a.q.value, narrowFloats) && m.dtype(a.k.value) == d && m.dtype(a.v.value) == d
}

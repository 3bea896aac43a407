package optimize

import "github.com/nacre-ml/nacre/runtime/graph"

// fuseSwiGLU replaces swish(x)·gate by SwiGLU if gate has the shape of x.
func fuseSwiGLU() run {
	const swish, gate variable = "swish", "gate"
	return rewriting(rule{
		pattern: mul(as(swish, apply("Swish", x)), gate),
		when: func(m *match) bool {
			d := m.dims(m.values[x])
			return d != nil && m.hasDims(m.values[gate], d)
		},
		write: func(m *match) *graph.Node {
			return m.instead("", "SwiGLU", 28, []variable{x, gate}, m.nodeOf(swish).Attrs...)
		},
	})
}

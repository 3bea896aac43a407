package optimize

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// fuseSnake replaces x + ratio·sin(alpha·x)² by ChannelSnake if alpha and ratio have a number for each
// channel. A device beside the CPU computes the nodes one by one.
func fuseSnake() run {
	const alpha, ratio variable = "alpha", "ratio"
	sine := apply("Sin", mul(alpha, x))
	return rewriting(rule{
		pattern: add(x, mul(ratio, either(power(sine, exact(2)), mul(as(y, sine), y)))),
		when: func(m *match) bool {
			of := m.dims(m.values[x])
			return !m.Accelerated && m.dtype(m.values[x]) == tensor.F32 && len(of) >= 2 &&
				m.isPerChannel(m.values[alpha], len(of), of[1]) && m.isPerChannel(m.values[ratio], len(of), of[1])
		},
		write: func(m *match) *graph.Node {
			return m.instead(nacreDomain, "ChannelSnake", 1, []variable{x, alpha, ratio})
		},
	})
}

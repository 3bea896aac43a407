package optimize

import "github.com/nacre-ml/nacre/runtime/graph"

// fuseBiasGelu replaces gelu(x + bias) with a vector bias by BiasGelu or, if the
// Gelu is approximated, by FastGelu.
func fuseBiasGelu() run {
	const sum variable = "sum"
	return rewriting(rule{
		pattern: apply("Gelu", as(sum, add(x, bias))),
		when: func(m *match) bool {
			d := m.dims(m.values[sum])
			return len(d) >= 2 && m.hasDims(m.values[x], d) && m.hasDims(m.values[bias], d[len(d)-1:])
		},
		write: func(m *match) *graph.Node {
			op := "BiasGelu"
			if attrs(m.root).Str("approximate", "none") == "tanh" {
				op = "FastGelu"
			}
			return m.instead(microsoft, op, 1, []variable{x, bias})
		},
	})
}

package optimize

import "github.com/nacre-ml/nacre/runtime/graph"

// fuseSwish replaces x·sigmoid(alpha·x) by Swish, also known as SiLU and, with an
// alpha of 1.702, as QuickGelu.
func fuseSwish() run {
	const alpha parameter = "alpha"
	return rewriting(rule{
		pattern: mul(x, apply("Sigmoid", product(alpha, x))),
		write: func(m *match) *graph.Node {
			return m.instead("", "Swish", 24, []variable{x}, floatAttr("alpha", m.numbers[alpha]))
		},
	})
}

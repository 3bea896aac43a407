package optimize

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// fuseGelu replaces x/2·(1 + erf(x/√2)) by Gelu, and its approximation
// x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))) by Gelu approximated with tanh.
func fuseGelu() run {
	const cubic, inner = near(0.044715), near(math.Sqrt2 / math.SqrtPi)
	half := func(p pattern) pattern { return product(near(0.5), x, plus(exact(1), p)) }
	gelu := func(approximate string) func(m *match) *graph.Node {
		return func(m *match) *graph.Node {
			return m.instead("", "Gelu", 20, []variable{x}, stringAttr("approximate", approximate))
		}
	}
	return rewriting(
		rule{
			pattern: half(apply("Erf", product(near(math.Sqrt2/2), x))),
			write:   gelu("none"),
		},
		rule{
			pattern: half(apply("Tanh", product(inner, add(x, product(cubic, x, x, x))))),
			write:   gelu("tanh"),
		},
		rule{
			pattern: half(apply("Tanh", product(inner, x, plus(exact(1), product(cubic, x, x))))),
			write:   gelu("tanh"),
		},
	)
}

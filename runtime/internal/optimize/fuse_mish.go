package optimize

import "github.com/nacre-ml/nacre/runtime/graph"

// fuseMish replaces x·tanh(softplus(x)) by Mish. softplus(x) may be written as log(1 + exp(x)). On
// its own that form stays, because it overflows for numbers for which Softplus does not.
func fuseMish() run {
	softplus := either(apply("Softplus", x), apply("Log", plus(exact(1), apply("Exp", x))))
	return rewriting(rule{
		pattern: mul(x, apply("Tanh", softplus)),
		write:   func(m *match) *graph.Node { return m.instead("", "Mish", 18, []variable{x}) },
	})
}

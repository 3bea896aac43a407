package optimize

import "github.com/nacre-ml/nacre/runtime/graph"

// fuseHardSwish replaces x·hardsigmoid(x), with a slope of 1/6, and
// x·clip(x + 3, 0, 6)/6 by HardSwish.
func fuseHardSwish() run {
	hardSigmoid := where(apply("HardSigmoid", x), func(m *match, n *graph.Node) bool {
		slope := near(1.0/6).accept(m, floatOr(n, "alpha", 0.2), n.Outputs[0], func() bool { return true })
		return slope && floatOr(n, "beta", 0.5) == 0.5
	})
	clip := where(apply("Clip", plus(exact(3), x)), func(m *match, n *graph.Node) bool {
		lo, hi, ok := m.limits(n)
		return ok && lo == 0 && hi == 6
	})
	return rewriting(rule{
		pattern: either(product(near(1), x, hardSigmoid), product(near(1.0/6), x, clip)),
		write:   func(m *match) *graph.Node { return m.instead("", "HardSwish", 14, []variable{x}) },
	})
}

// limits returns both limits of a Clip. They are attributes before version 11 and inputs since. If
// one is omitted or not constant, ok is false.
func (m *matcher) limits(n *graph.Node) (lo, hi float64, ok bool) {
	if n.Version < 11 {
		if n.Attr("min") == nil || n.Attr("max") == nil {
			return 0, 0, false
		}
		return floatOr(n, "min", 0), floatOr(n, "max", 0), true
	}
	if len(n.Inputs) < 3 {
		return 0, 0, false
	}
	lo, ok1 := m.number(n.Inputs[1], 1)
	hi, ok2 := m.number(n.Inputs[2], 1)
	return lo, hi, ok1 && ok2
}

package optimize

import "github.com/nacre-ml/nacre/runtime/graph"

// fuseBiasGelu joins Gelu with the sum of a value and a vector before it, as
// BiasGelu or, where it is approximated, FastGelu.
func fuseBiasGelu(s *Scope) (*Edit, error) {
	f := newFinder(s)
	for _, n := range f.live {
		if !is(n, "Gelu") {
			continue
		}
		sum := f.from(n.Inputs[0], "Add")
		d := f.dims(n.Inputs[0])
		if sum == nil || len(d) < 2 || !f.inside(n, sum) {
			continue
		}
		for i := range 2 {
			x, bias := sum.Inputs[i], sum.Inputs[1-i]
			if f.has(x, d) && f.has(bias, d[len(d)-1:]) {
				f.replace(n, instead(n, microsoft, geluWithBias(n), 1, []string{x, bias}))
				break
			}
		}
	}
	return f.result()
}

// geluWithBias names the operator that adds a bias before Gelu.
func geluWithBias(n *graph.Node) string {
	if a := n.Attr("approximate"); a != nil && string(a.Str) == "tanh" {
		return "FastGelu"
	}
	return "BiasGelu"
}

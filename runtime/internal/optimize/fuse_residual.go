package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// fuseResidual adds a value of the same shape within the convolution or the product
// that computes the other summand.
func fuseResidual() run {
	const residual variable = "residual"
	return rewriting(rule{
		pattern: add(as(y, once(applyAny(fusible))), residual),
		when: func(m *match) bool {
			a, b := m.values[y], m.values[residual]
			return m.dtype(a) == m.dtype(b) && m.sameDims(a, b)
		},
		write: func(m *match) *graph.Node {
			by := m.fused(m.nodeOf(y))
			if by == nil || by.Op == "FusedGemm" || len(by.Inputs) > 3 {
				return nil
			}
			for len(by.Inputs) < 3 {
				by.Inputs = append(by.Inputs, "")
			}
			by.Inputs = append(by.Inputs, m.values[residual])
			by.Outputs = m.root.Outputs
			return by
		},
	})
}

// fusible lists the operators for which fused returns nodes.
var fusible = []string{"Conv", "Gemm", "MatMul", fusedConv, fusedGemm, matMulBias}

// fused returns a convolution or a product as a node that can also add a residual and apply an
// activation. If the node already applies one, or its operands are no floats or no matrices, it
// returns nil.
func (m *matcher) fused(n *graph.Node) *graph.Node {
	if !m.ofType(n.Outputs[0], floats) {
		return nil
	}
	r := *n
	r.Inputs = slices.Clone(n.Inputs)
	switch {
	case is(n, "Conv"):
		r.Domain, r.Op, r.Version = microsoft, "FusedConv", 1
	case is(n, "Gemm"):
		r.Domain, r.Op, r.Version = microsoft, "FusedGemm", 1
		r.Attrs = without(n.Attrs, "broadcast")
	case is(n, "MatMul"):
		if !m.multipliesMatrices(n) {
			return nil
		}
		r.Domain, r.Op, r.Version = nacreDomain, "MatMulBias", 1
	default:
		if attrs(n).Str("activation", "") != "" {
			return nil
		}
		r.Attrs = without(n.Attrs, "activation")
	}
	return &r
}

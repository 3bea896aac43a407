package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// fuseWidening makes a float32 product take constants of 16 bits without the Cast that widens them.
// They stay half as large, and the product widens them.
func fuseWidening() run {
	const narrow variable = "narrow"
	return rewriting(rule{
		pattern: apply("Gemm", x, apply("Cast", narrow)),
		when: func(m *match) bool {
			v := m.value(m.values[narrow])
			return v.Const != nil && (v.DType == tensor.F16 || v.DType == tensor.BF16) && m.dtype(m.values[x]) == tensor.F32
		},
		write: func(m *match) *graph.Node {
			inputs := slices.Clone(m.root.Inputs)
			inputs[1] = m.values[narrow]
			return &graph.Node{Name: m.root.Name, Domain: nacreDomain, Op: "WidenedGemm", Version: 1, Inputs: inputs, Outputs: m.root.Outputs,
				Attrs: without(m.root.Attrs, "broadcast")}
		},
	})
}

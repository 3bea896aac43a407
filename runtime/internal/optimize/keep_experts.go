package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// keepExperts makes mixtures of experts read constant weights of 16 bits or of ggml's types of
// blocks, where a Cast makes float32 of the weights of all experts.
func keepExperts(s *Scope) (*Edit, error) {
	m := newMatcher(s)
	for _, n := range m.live {
		if !is(n, microsoft+".MoE") {
			continue
		}
		inputs, kept := slices.Clone(n.Inputs), false
		for i := 2; i < len(inputs); i += 2 {
			if narrow := m.castNarrow(inputs[i]); narrow != "" {
				inputs[i], kept = narrow, true
			}
		}
		if kept {
			m.replace(n, instead(n, nacreDomain, "WidenedMoE", 1, inputs, n.Attrs...))
		}
	}
	return m.result()
}

// castNarrow returns the value in blocks or the constant of 16 bits that a Cast widens to float32,
// or "".
func (m *matcher) castNarrow(name string) string {
	if blocks := m.castBlocks(name, tensor.F32); blocks != "" {
		return blocks
	}
	cast := m.producer(name, "Cast")
	if cast == nil || m.dtype(cast.Outputs[0]) != tensor.F32 {
		return ""
	}
	if v := m.value(cast.Inputs[0]); v.Const == nil || v.DType != tensor.F16 && v.DType != tensor.BF16 {
		return ""
	}
	return m.canonical(cast.Inputs[0])
}

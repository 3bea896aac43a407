package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// keepBlocks makes nodes read values in blocks of ggml's types, where a Cast makes floats of the whole
// value: a product reads the blocks, and a Gather takes blocks, which are cast afterwards.
func keepBlocks(s *Scope) (*Edit, error) {
	m := newMatcher(s)
	for _, n := range m.live {
		switch {
		case is(n, "Gemm"):
			if blocks := m.castBlocks(n.Inputs[1], tensor.F32); blocks != "" {
				m.replace(n, blocksGemm(n, blocks))
			}
		case is(n, "Gather"):
			if blocks := m.castBlocks(n.Inputs[0], m.dtype(n.Outputs[0])); blocks != "" {
				m.gatherBlocks(n, blocks)
			}
		}
	}
	return m.result()
}

// castBlocks returns the value in blocks that a Cast makes elements of type d of, or "".
func (m *matcher) castBlocks(name string, d tensor.DType) string {
	cast := m.producer(name, "Cast")
	if cast == nil || m.dtype(cast.Outputs[0]) != d || m.dtype(cast.Inputs[0]).Blocks() == nil {
		return ""
	}
	return m.canonical(cast.Inputs[0])
}

// blocksGemm returns n with its right operand in blocks.
func blocksGemm(n *graph.Node, blocks string) *graph.Node {
	inputs := slices.Clone(n.Inputs)
	inputs[1] = blocks
	return instead(n, nacreDomain, "WidenedGemm", 1, inputs, without(n.Attrs, "broadcast")...)
}

// gatherBlocks replaces a Gather of cast elements by a Cast of gathered blocks.
func (m *matcher) gatherBlocks(n *graph.Node, blocks string) {
	b := builder{matcher: m}
	inputs := slices.Clone(n.Inputs)
	inputs[0] = blocks
	rows := b.apply("Gather", n.Version, inputs, n.Attrs...)
	b.replaceRoot(n, "", "Cast", 13, []string{rows}, typeAttr("to", m.dtype(n.Outputs[0])))
	m.replace(n, b.nodes...)
}

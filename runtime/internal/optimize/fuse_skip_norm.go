package optimize

import (
	"maps"
	"slices"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// fuseSkipNorm replaces the normalization of x + y over the last axis by an operator that also
// adds. Other consumers of the sum read it as an output of that operator. Only float32 is replaced:
// the two separate operators convert narrower floats in passing.
func fuseSkipNorm() run {
	skip := map[string]string{"LayerNormalization": "SkipLayerNormalization",
		"RMSNormalization": "SkipSimplifiedLayerNormalization"}
	normalization := applyAny(slices.Sorted(maps.Keys(skip)), add(x, y))
	return func(s *Scope) (*Edit, error) {
		m := newMatcher(s)
		for _, n := range m.candidates(normalization) {
			m.find(normalization, n, func(found *match) bool {
				sum := m.producer(n.Inputs[0], "Add")
				if m.edit.removes(sum) || !found.normalizesRows() {
					return false
				}
				in := append([]string{found.values[x], found.values[y]}, n.Inputs[1:]...)
				fused := instead(n, microsoft, skip[n.Op], 1, in, floatAttr("epsilon", floatOr(n, "epsilon", 1e-5)))
				if m.consumer(sum) != n {
					fused.Outputs = []string{n.Outputs[0], "", "", sum.Outputs[0]}
				}
				if !m.replaceMatch(found, fused) {
					return false
				}
				m.edit.Replace[sum] = nil
				return true
			})
		}
		return m.result()
	}
}

// normalizesRows reports whether the root normalizes float32 rows of a sum of two
// values of one shape, with parameters that are vectors.
func (m *match) normalizesRows() bool {
	n := m.root
	d := m.dims(n.Inputs[0])
	if len(n.Outputs) > 1 || m.dtype(n.Inputs[0]) != tensor.F32 || intOr(n, "stash_type", 1) != 1 || len(d) < 2 ||
		len(d) > 3 {
		return false
	}
	if axis := intOr(n, "axis", -1); axis != -1 && axis != int64(len(d)-1) {
		return false
	}
	for _, name := range n.Inputs[1:] {
		if !m.hasDims(name, d[len(d)-1:]) {
			return false
		}
	}
	return m.hasDims(m.values[x], d) && m.hasDims(m.values[y], d)
}

package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// fuseSwiGLU makes SwiGLU of the product of Swish and a value of the same shape.
func fuseSwiGLU(m *graph.Model, c Context) (*Edit, error) {
	f := newFinder(m, c)
	for _, n := range f.nodes {
		if !standard(n, "Swish") {
			continue
		}
		end := f.user(n)
		if !standard(end, "Mul") {
			continue
		}
		gate := f.otherOperand(end, n)
		if d := f.dims(gate); d == nil || !slices.EqualFunc(d, f.dims(n.Inputs[0]), graph.Dim.Same) {
			continue
		}
		f.replace(end, node(end, "", "SwiGLU", 28, []string{n.Inputs[0], gate}, n.Attrs...))
	}
	return f.edit, nil
}

package op

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// eltwiseRows are the arithmetic operators and activations.
var eltwiseRows = slices.Concat(unaryRows, clipRows, binaryRows, powRows, variadicRows)

// extentsUnder returns the extents of y and of each input, aligned at the last axis,
// as the broadcasting kernels want them.
func extentsUnder(y tensor.Shape, inputs ...tensor.Shape) ([]int, error) {
	rank := len(y)
	dims := append(make([]int, 0, rank*(1+len(inputs))), y...)
	for _, s := range inputs {
		for axis := range y {
			n := 1
			if k := axis - rank + len(s); k >= 0 {
				n = s[k]
			}
			if n != 1 && n != y[axis] {
				return nil, graph.Errorf(graph.ErrShape, "shape %v does not stretch to %v", s, y)
			}
			dims = append(dims, n)
		}
		if len(s) > rank {
			return nil, graph.Errorf(graph.ErrShape, "shape %v does not stretch to %v", s, y)
		}
	}
	return dims, nil
}

// sameTypes reports inputs whose element types differ from that of the first, which must be there.
func sameTypes(in []*Value) error {
	for i, v := range in {
		if v != nil && v.DType != in[0].DType {
			return graph.Errorf(graph.ErrShape, "inputs 0 and %d have element types %v and %v, which must be equal", i, in[0].DType, v.DType)
		}
	}
	return nil
}

// copyInto copies the elements of x to y of the same type and size, unless they
// are the same memory.
func copyInto(y, x *tensor.Tensor) {
	if y.DType() == tensor.String {
		copy(y.Strings(), x.Strings())
	} else if y.Pointer() != x.Pointer() {
		copy(y.Bytes(), x.Bytes())
	}
}

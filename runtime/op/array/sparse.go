package array

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// maxDense bounds the elements that a sparse tensor may unfold to.
const maxDense = 1 << 28

// dense returns the tensor with all its elements, nil for nil.
func dense(s *graph.SparseTensor) (*tensor.Tensor, error) {
	if s == nil {
		return nil, nil
	}
	if err := s.Shape.Check(); err != nil {
		return nil, err
	}
	if s.Shape.Len() > maxDense {
		return nil, graph.Errorf(graph.ErrUnsupported, "sparse tensor of shape %v has more than %d elements", s.Shape, maxDense)
	}
	at, err := sparseOffsets(s)
	if err != nil {
		return nil, err
	}
	t := tensor.New(s.Values.DType(), s.Shape...)
	for i, x := range at {
		op.CopyElement(t, x, s.Values, i)
	}
	return t, nil
}

// sparseOffsets returns where in the dense tensor each value belongs.
func sparseOffsets(s *graph.SparseTensor) ([]int, error) {
	n := s.Values.Len()
	index, err := op.Ints(s.Indices)
	if err != nil {
		return nil, err
	}
	linear := len(s.Indices.Shape()) == 1
	extents := tensor.Shape{s.Shape.Len()}
	if !linear {
		extents = s.Shape
	}
	if n*len(extents) != len(index) {
		return nil, graph.Errorf(graph.ErrFormat, "sparse tensor of shape %v has %d values and indices of shape %v", s.Shape, n, s.Indices.Shape())
	}
	steps := extents.Strides()
	at := make([]int, n)
	for i := range at {
		for a, e := range extents {
			x := index[i*len(extents)+a]
			if x < 0 || x >= e {
				return nil, graph.Errorf(graph.ErrFormat, "sparse tensor of shape %v has a value at %d along axis %d", s.Shape, x, a)
			}
			at[i] += x * steps[a]
		}
	}
	return at, nil
}

package kit

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Sparse is a checked sparse tensor.
type Sparse struct {
	DType  tensor.DType
	Shape  tensor.Shape
	values *tensor.Tensor
	at     []int // index of each value in the dense tensor
}

// NewSparse checks the indices of a sparse tensor. Its memory depends on the number of values
// alone.
func NewSparse(s *graph.SparseTensor) (*Sparse, error) {
	if err := s.Shape.Check(); err != nil {
		return nil, err
	}
	at, err := sparseOffsets(s)
	if err != nil {
		return nil, err
	}
	return &Sparse{DType: s.Values.DType(), Shape: s.Shape, values: s.Values, at: at}, nil
}

// Bytes returns the size of the dense tensor.
func (s *Sparse) Bytes() int { return tensor.SizeOf(s.DType, s.Shape) }

// Dense returns the dense tensor.
func (s *Sparse) Dense() *tensor.Tensor {
	t := tensor.New(s.DType, s.Shape...)
	s.put(t)
	return t
}

// Unfold overwrites t, a tensor of the same type and shape, with all elements.
func (s *Sparse) Unfold(t *tensor.Tensor) {
	clear(t.Bytes())
	clear(t.Strings())
	s.put(t)
}

func (s *Sparse) put(t *tensor.Tensor) {
	for i, x := range s.at {
		CopyElement(t, x, s.values, i)
	}
}

// sparseOffsets returns the index of each value in the dense tensor.
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
		return nil, graph.Errorf(graph.ErrFormat, "sparse tensor of shape %v has %d values and indices of shape %v",
			s.Shape, n, s.Indices.Shape())
	}
	steps := extents.Strides()
	at := make([]int, n)
	for i := range at {
		for a, e := range extents {
			x := index[i*len(extents)+a]
			if x < 0 || x >= e {
				return nil, graph.Errorf(graph.ErrFormat, "sparse tensor of shape %v has a value at %d along axis %d", s.Shape, x,
					a)
			}
			at[i] += x * steps[a]
		}
	}
	return at, nil
}

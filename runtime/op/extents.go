package op

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// MaxInts limits the length of integer vectors that Infer reads and passes on. Shapes and the
// values that they are computed from are short; tables are not.
const MaxInts = 1024

// KnownInts returns the elements of an integer scalar or vector if all are numbers.
func (v *Value) KnownInts() ([]int, bool) {
	list, ok := v.IntVec()
	if !ok {
		return nil, false
	}
	out := make([]int, len(list))
	for i, d := range list {
		if out[i], ok = d.Value(); !ok {
			return nil, false
		}
	}
	return out, true
}

// checkIndex returns an error if v cannot hold axes, extents or indices.
func (v *Value) checkIndex() error {
	if v.DType != tensor.Invalid && !IsIndex(v.DType) {
		return graph.Errorf(graph.ErrShape, "%v where int32 or int64 is needed", v.Type)
	}
	return nil
}

// KnownAxes is KnownInts for an input that holds axes or a count of axes. If v has another element
// type, it returns an error.
func (v *Value) KnownAxes() (list []int, ok bool, err error) {
	if err := v.checkIndex(); err != nil {
		return nil, false, err
	}
	list, ok = v.KnownInts()
	return list, ok, nil
}

// Extents returns the extents that v, a vector, holds. If only their count is known, they are
// unknown dims. If their count is unknown, it returns nil. A scalar stands for one extent.
func (v *Value) Extents() (graph.Dims, error) {
	if err := v.checkIndex(); err != nil {
		return nil, err
	}
	rank, ranked := v.Rank()
	if ranked && rank > 1 {
		return nil, graph.Errorf(graph.ErrShape, "a shape is given as %v, not as a vector", v.Type)
	}
	if v.Const != nil && v.Const.Len() > MaxInts {
		return nil, graph.Errorf(graph.ErrShape, "a shape with %d axes", v.Const.Len())
	}
	if list, ok := v.IntVec(); ok {
		return append(make(graph.Dims, 0, len(list)), list...), nil
	}
	if !ranked {
		return nil, nil
	}
	n, ok := v.Dims.Len().Value()
	switch {
	case !ok:
		return nil, nil
	case n > MaxInts:
		return nil, graph.Errorf(graph.ErrShape, "a shape with %d axes", n)
	}
	return graph.UnknownDims(n), nil
}

// SetInts records the known elements of output i, a scalar or vector of integers.
func (c *Infer) SetInts(i int, list []graph.Dim) {
	if i < len(c.Out) && list != nil && len(list) <= MaxInts {
		c.Out[i].Ints = list
	}
}

// IsIndex reports whether d is an element type for axes, extents and indices.
func IsIndex(d tensor.DType) bool { return d == tensor.I64 || d == tensor.I32 }

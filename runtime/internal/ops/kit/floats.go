package kit

import (
	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Doubles returns the elements of a float tensor as float64. A float64 tensor returns its own
// memory; others are copied. A nil tensor gives nil.
func Doubles(t *tensor.Tensor) []float64 {
	switch {
	case t == nil || !op.Floats.Has(t.DType()):
		return nil
	case t.DType() == tensor.F64:
		return tensor.View[float64](t)
	}
	list := make([]float64, t.Len())
	GetDoubles(list, t, 0)
	return list
}

// GetDoubles sets list to elements of t, a float tensor, from index at on.
func GetDoubles(list []float64, t *tensor.Tensor, at int) { elements.Get(list, t, at) }

// Convert returns the results of to for each element.
func Convert[T, U any](s []T, to func(T) U) []U {
	list := make([]U, len(s))
	for i, v := range s {
		list[i] = to(v)
	}
	return list
}

// PutDoubles rounds list to the elements of a float tensor. If t is nil, it does nothing.
func PutDoubles(t *tensor.Tensor, list []float64) {
	if t != nil {
		elements.Put(t, 0, list)
	}
}

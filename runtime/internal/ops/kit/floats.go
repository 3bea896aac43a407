package kit

import (
	"github.com/nacre-ml/nacre/packed"
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
func GetDoubles(list []float64, t *tensor.Tensor, at int) {
	switch t.DType() {
	case tensor.F64:
		copy(list, tensor.View[float64](t)[at:])
	case tensor.F32:
		for i, v := range tensor.View[float32](t)[at:][:len(list)] {
			list[i] = float64(v)
		}
	case tensor.F16:
		for i, v := range tensor.View[packed.F16](t)[at:][:len(list)] {
			list[i] = float64(v.Float32())
		}
	case tensor.BF16:
		for i, v := range tensor.View[packed.BF16](t)[at:][:len(list)] {
			list[i] = float64(v.Float32())
		}
	}
}

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
		putDoubles(t, 0, list)
	}
}

// putDoubles is PutDoubles from index at on.
func putDoubles(t *tensor.Tensor, at int, list []float64) {
	switch t.DType() {
	case tensor.F64:
		copy(tensor.View[float64](t)[at:], list)
	case tensor.F32:
		for i, out := 0, tensor.View[float32](t)[at:][:len(list)]; i < len(out); i++ {
			out[i] = float32(list[i])
		}
	case tensor.F16:
		for i, out := 0, tensor.View[packed.F16](t)[at:][:len(list)]; i < len(out); i++ {
			out[i] = packed.ToF16(float32(list[i]))
		}
	case tensor.BF16:
		for i, out := 0, tensor.View[packed.BF16](t)[at:][:len(list)]; i < len(out); i++ {
			out[i] = packed.ToBF16(float32(list[i]))
		}
	}
}

// Package elements converts elements of tensors to Go's numbers and back. It holds the switches
// over element types that such conversions need, so that other packages have none.
package elements

import (
	"math"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Number is the set of types that elements are converted to and from.
type Number interface {
	float32 | float64 | int | int32 | int64 | uint64
}

// stored is the set of Go's types of elements that are numbers.
type stored interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// Get sets list to the elements of t from index at on, converted as Go converts numbers. A bool
// becomes 0 or 1. The elements of t must be aligned. Get returns false, and changes nothing, if
// they are strings or complex.
func Get[N Number](list []N, t *tensor.Tensor, at int) bool {
	switch d := t.DType(); d {
	case tensor.F32:
		get[float32](list, t, at)
	case tensor.F64:
		get[float64](list, t, at)
	case tensor.F16:
		for i, v := range tensor.View[packed.F16](t)[at:][:len(list)] {
			list[i] = N(v.Float32())
		}
	case tensor.BF16:
		for i, v := range tensor.View[packed.BF16](t)[at:][:len(list)] {
			list[i] = N(v.Float32())
		}
	case tensor.I8:
		get[int8](list, t, at)
	case tensor.I16:
		get[int16](list, t, at)
	case tensor.I32:
		get[int32](list, t, at)
	case tensor.I64:
		get[int64](list, t, at)
	case tensor.U8:
		get[uint8](list, t, at)
	case tensor.U16:
		get[uint16](list, t, at)
	case tensor.U32:
		get[uint32](list, t, at)
	case tensor.U64:
		get[uint64](list, t, at)
	case tensor.Bool:
		for i, b := range t.Bytes()[at:][:len(list)] {
			list[i] = N(min(b, 1))
		}
	case tensor.F8E8M0:
		for i, v := range tensor.View[packed.F8E8M0](t)[at:][:len(list)] {
			list[i] = N(v.Float32())
		}
	default:
		if f := packed.Float8Of(d.String()); f != nil {
			for i, code := range t.Bytes()[at:][:len(list)] {
				list[i] = N(f.Float32(code))
			}
			return true
		}
		switch {
		case d.Blocks() != nil:
			unpackBlocks(list, t, at)
		case d.Layout() != nil:
			unpack(list, t, at)
		default:
			return false
		}
	}
	return true
}

func get[T stored, N Number](list []N, t *tensor.Tensor, at int) {
	from := tensor.View[T](t)[at:][:len(list)]
	if same, ok := any(list).([]T); ok {
		copy(same, from)
		return
	}
	for i, v := range from {
		list[i] = N(v)
	}
}

// Put sets the elements of t from index at on to the numbers in list. An integer keeps its low bits,
// a 16-bit float is rounded once, and a bool is true for any number but 0. The elements of t must be
// aligned. Put returns false, and changes nothing, if they are strings, complex, in blocks, or floats
// of 8 bits or fewer.
func Put[N Number](t *tensor.Tensor, at int, list []N) bool {
	switch d := t.DType(); d {
	case tensor.F32:
		put[float32](t, at, list)
	case tensor.F64:
		put[float64](t, at, list)
	case tensor.F16:
		to := tensor.View[packed.F16](t)[at:][:len(list)]
		if floats, ok := any(list).([]float32); ok {
			for i, v := range floats {
				to[i] = packed.ToF16(v)
			}
			break
		}
		for i, v := range list {
			to[i] = packed.ToF16(Odd(float64(v)))
		}
	case tensor.BF16:
		to := tensor.View[packed.BF16](t)[at:][:len(list)]
		if floats, ok := any(list).([]float32); ok {
			for i, v := range floats {
				to[i] = packed.ToBF16(v)
			}
			break
		}
		for i, v := range list {
			to[i] = packed.ToBF16(Odd(float64(v)))
		}
	case tensor.I8:
		put[int8](t, at, list)
	case tensor.I16:
		put[int16](t, at, list)
	case tensor.I32:
		put[int32](t, at, list)
	case tensor.I64:
		put[int64](t, at, list)
	case tensor.U8:
		put[uint8](t, at, list)
	case tensor.U16:
		put[uint16](t, at, list)
	case tensor.U32:
		put[uint32](t, at, list)
	case tensor.U64:
		put[uint64](t, at, list)
	case tensor.Bool:
		for i, b := 0, tensor.View[bool](t)[at:]; i < len(list); i++ {
			b[i] = list[i] != 0
		}
	default:
		if d.Layout() == nil || d.IsFloat() {
			return false
		}
		pack(t, at, list)
	}
	return true
}

func put[T stored, N Number](t *tensor.Tensor, at int, list []N) {
	to := tensor.View[T](t)[at:][:len(list)]
	if same, ok := any(list).([]T); ok {
		copy(to, same)
		return
	}
	for i, v := range list {
		to[i] = T(v)
	}
}

// Odd returns v as float32. If float32 does not hold v, Odd returns the neighbour of v with an odd
// last bit. Rounding the result to at most 22 bits then equals rounding v once.
func Odd(v float64) float32 {
	if f := float32(v); float64(f) == v || v != v {
		return f
	}
	return odd(v)
}

// odd is Odd for a number that float32 does not hold.
func odd(v float64) float32 {
	f := float32(v)
	bits := math.Float32bits(f)
	if math.Abs(float64(f)) > math.Abs(v) {
		bits-- // an infinity becomes the largest number
	}
	return math.Float32frombits(bits | 1)
}

// Rounding returns the function that rounds a number to type d, a float that is computed in
// float32.
func Rounding(d tensor.DType) func(v float32) float32 {
	switch d {
	case tensor.F16:
		return func(v float32) float32 { return packed.ToF16(v).Float32() }
	case tensor.BF16:
		return func(v float32) float32 { return packed.ToBF16(v).Float32() }
	}
	return func(v float32) float32 { return v }
}

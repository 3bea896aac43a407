package compare

import (
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Numbers returns element i of the tensor as a function of i: integers and
// floats by value, booleans as 0 and 1. It returns nil for strings and complex
// numbers.
func Numbers(t *tensor.Tensor) func(i int) float64 {
	t = t.Aligned()
	switch t.DType() {
	case tensor.F32:
		return plain[float32](t)
	case tensor.F64:
		return plain[float64](t)
	case tensor.I8:
		return plain[int8](t)
	case tensor.I16:
		return plain[int16](t)
	case tensor.I32:
		return plain[int32](t)
	case tensor.I64:
		return plain[int64](t)
	case tensor.U8, tensor.Bool:
		return plain[uint8](t)
	case tensor.U16:
		return plain[uint16](t)
	case tensor.U32:
		return plain[uint32](t)
	case tensor.U64:
		return plain[uint64](t)
	case tensor.F16:
		return small[packed.F16](t)
	case tensor.BF16:
		return small[packed.BF16](t)
	case tensor.F8E4M3FN:
		return small[packed.F8E4M3FN](t)
	case tensor.F8E4M3FNUZ:
		return small[packed.F8E4M3FNUZ](t)
	case tensor.F8E5M2:
		return small[packed.F8E5M2](t)
	case tensor.F8E5M2FNUZ:
		return small[packed.F8E5M2FNUZ](t)
	case tensor.F8E8M0:
		return small[packed.F8E8M0](t)
	}
	if l := t.DType().Layout(); l != nil {
		return codes(t, l)
	}
	return nil
}

// codes are the elements narrower than a byte.
func codes(t *tensor.Tensor, l *packed.Layout) func(int) float64 {
	data := t.Bytes()
	switch {
	case t.DType().IsFloat():
		return func(i int) float64 { return float64(packed.F4E2M1(l.At(data, i)).Float32()) }
	case l.Signed:
		return func(i int) float64 { return float64(l.At(data, i)) }
	}
	return func(i int) float64 { return float64(uint8(l.At(data, i))) }
}

func plain[T interface {
	tensor.Element
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}](t *tensor.Tensor) func(int) float64 {
	s := tensor.View[T](t)
	return func(i int) float64 { return float64(s[i]) }
}

func small[T interface {
	tensor.Element
	Float32() float32
}](t *tensor.Tensor) func(int) float64 {
	s := tensor.View[T](t)
	return func(i int) float64 { return float64(s[i].Float32()) }
}

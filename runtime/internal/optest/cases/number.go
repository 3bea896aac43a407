package cases

import (
	"bytes"
	"fmt"
	"math"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// canCompute reports whether Number and SetNumber support the type.
func canCompute(d tensor.DType) bool {
	switch d {
	case tensor.F32, tensor.F64, tensor.F16, tensor.BF16, tensor.Bool:
		return true
	}
	return d.IsInteger()
}

// Number returns element i as a float64, exact up to 2^53.
func Number(t *tensor.Tensor, i int) float64 {
	switch d := t.DType(); d {
	case tensor.F32:
		return float64(tensor.View[float32](t)[i])
	case tensor.F64:
		return tensor.View[float64](t)[i]
	case tensor.F16:
		return float64(tensor.View[packed.F16](t)[i].Float32())
	case tensor.BF16:
		return float64(tensor.View[packed.BF16](t)[i].Float32())
	case tensor.I8:
		return float64(tensor.View[int8](t)[i])
	case tensor.I16:
		return float64(tensor.View[int16](t)[i])
	case tensor.I32:
		return float64(tensor.View[int32](t)[i])
	case tensor.I64:
		return float64(tensor.View[int64](t)[i])
	case tensor.U8, tensor.Bool:
		return float64(t.Bytes()[i])
	case tensor.U16:
		return float64(tensor.View[uint16](t)[i])
	case tensor.U32:
		return float64(tensor.View[uint32](t)[i])
	case tensor.U64:
		return float64(tensor.View[uint64](t)[i])
	default:
		if d.Blocks() != nil {
			return tensor.Numbers(t)(i)
		}
		return float64(d.Layout().At(t.Bytes(), i))
	}
}

// SetNumber rounds v to element i.
func SetNumber(t *tensor.Tensor, i int, v float64) {
	switch d := t.DType(); d {
	case tensor.F32:
		tensor.View[float32](t)[i] = float32(v)
	case tensor.F64:
		tensor.View[float64](t)[i] = v
	case tensor.F16:
		tensor.View[packed.F16](t)[i] = packed.ToF16(float32(v))
	case tensor.BF16:
		tensor.View[packed.BF16](t)[i] = packed.ToBF16(float32(v))
	case tensor.I8:
		tensor.View[int8](t)[i] = int8(v)
	case tensor.I16:
		tensor.View[int16](t)[i] = int16(v)
	case tensor.I32:
		tensor.View[int32](t)[i] = int32(v)
	case tensor.I64:
		tensor.View[int64](t)[i] = int64(v)
	case tensor.U8:
		t.Bytes()[i] = uint8(v)
	case tensor.Bool:
		t.Bytes()[i] = 0
		if v != 0 {
			t.Bytes()[i] = 1
		}
	case tensor.U16:
		tensor.View[uint16](t)[i] = uint16(v)
	case tensor.U32:
		tensor.View[uint32](t)[i] = uint32(v)
	case tensor.U64:
		tensor.View[uint64](t)[i] = uint64(v)
	default:
		d.Layout().Set(t.Bytes(), i, int8(v))
	}
}

// Numbers returns the elements as float64.
func Numbers(t *tensor.Tensor) []float64 {
	list := make([]float64, t.Len())
	if t.DType().Blocks() != nil {
		for i, at := 0, tensor.Numbers(t); i < len(list); i++ {
			list[i] = at(i)
		}
		return list
	}
	for i := range list {
		list[i] = Number(t, i)
	}
	return list
}

// FromNumbers returns a tensor of the given elements, each rounded once.
func FromNumbers(d tensor.DType, list []float64, shape ...int) *tensor.Tensor {
	t := tensor.New(d, shape...)
	for i, v := range list {
		SetNumber(t, i, v)
	}
	return t
}

// ulp returns the distance from 1 to the next float of type d.
func ulp(d tensor.DType) float64 {
	switch d {
	case tensor.F64:
		return 0x1p-52
	case tensor.F16:
		return 0x1p-10
	case tensor.BF16:
		return 0x1p-7
	}
	return 0x1p-23
}

// compare reports the first element of got that differs from want.
func compare(got, want *tensor.Tensor, ulps float64) error {
	if got == nil {
		return fmt.Errorf("got none, want %v", want)
	}
	if got.DType() != want.DType() || !got.Shape().Equal(want.Shape()) {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	if want.DType().Blocks() != nil {
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			return fmt.Errorf("blocks of %v differ", want)
		}
		return nil
	}
	for i := range want.Len() {
		if d := want.DType(); d.IsFloat() && canCompute(d) {
			g, w := Number(got, i), Number(want, i)
			if !near(g, w, ulps*ulp(d)) {
				return fmt.Errorf("element %d of %v is %v, want %v", i, want, g, w)
			}
		} else if g, w := Element(got, i), Element(want, i); g != w {
			if canCompute(d) {
				g, w = Number(got, i), Number(want, i)
			}
			return fmt.Errorf("element %d of %v is %q, want %q", i, want, fmt.Sprint(g), fmt.Sprint(w))
		}
	}
	return unusedBits(got)
}

// near reports whether floats are equal, both NaN, or differ by at most part times want, or part if
// |want| is below 1.
func near(got, want, part float64) bool {
	if got == want || math.IsNaN(got) && math.IsNaN(want) {
		return true
	}
	if math.IsInf(got, 0) || math.IsInf(want, 0) || math.IsNaN(got) != math.IsNaN(want) {
		return false
	}
	return math.Abs(got-want) <= part*max(1, math.Abs(want))
}

// unusedBits returns an error if bits after the last element are not zero.
func unusedBits(t *tensor.Tensor) error {
	used := t.Len() * t.DType().Bits() % 8
	if b := t.Bytes(); used > 0 && b[len(b)-1]>>used != 0 {
		return fmt.Errorf("bits behind the last element of %v are not zero", t)
	}
	return nil
}

// Element returns element i as a value that can be compared and copied.
func Element(t *tensor.Tensor, i int) any {
	switch d := t.DType(); {
	case d == tensor.String:
		return t.Strings()[i]
	case d.Layout() != nil:
		return d.Layout().At(t.Bytes(), i)
	default:
		w := d.Bits() / 8
		return string(t.Bytes()[i*w : (i+1)*w])
	}
}

// SetElement is the inverse of Element.
func SetElement(t *tensor.Tensor, i int, v any) {
	switch d := t.DType(); {
	case d == tensor.String:
		t.Strings()[i] = v.(string)
	case d.Layout() != nil:
		d.Layout().Set(t.Bytes(), i, v.(int8))
	default:
		copy(t.Bytes()[i*d.Bits()/8:], v.(string))
	}
}

// Applied applies f to every element.
func Applied(x *tensor.Tensor, f func(float64) float64) *tensor.Tensor {
	list := Numbers(x)
	for i, v := range list {
		list[i] = f(v)
	}
	return FromNumbers(x.DType(), list, x.Shape()...)
}

// Choose returns a if ok, otherwise b.
func Choose(ok bool, a, b float64) float64 {
	if ok {
		return a
	}
	return b
}

// Truth returns 1 if ok, otherwise 0.
func Truth(ok bool) float64 { return Choose(ok, 1, 0) }

// Rounded rounds elements to whole numbers, so that equal elements are likely.
func Rounded(t *tensor.Tensor) *tensor.Tensor { return Applied(t, math.Round) }

// Wide returns x as float64.
func Wide(x *tensor.Tensor) *tensor.Tensor {
	return FromNumbers(tensor.F64, Numbers(x), x.Shape()...)
}

// Narrow returns x rounded to type d.
func Narrow(d tensor.DType, x *tensor.Tensor) *tensor.Tensor {
	return FromNumbers(d, Numbers(x), x.Shape()...)
}

// Total returns the sum.
func Total(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum
}

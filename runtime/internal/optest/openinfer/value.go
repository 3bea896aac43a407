package openinfer

import (
	"math"
	"math/big"

	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// isSigned reports whether elements are signed integers.
func isSigned(d tensor.DType) bool { return d.Kind() == tensor.Signed }

// bitsAt returns the bits of element i, read one by one.
func bitsAt(t *tensor.Tensor, i int) (v uint64) {
	for k := range t.DType().Bits() {
		at := i*t.DType().Bits() + k
		v |= uint64(t.Bytes()[at/8]>>(at%8)&1) << k
	}
	return v
}

// putBitsAt stores the low bits of v as element i.
func putBitsAt(t *tensor.Tensor, i int, v uint64) {
	for k := range t.DType().Bits() {
		at := i*t.DType().Bits() + k
		t.Bytes()[at/8] = t.Bytes()[at/8]&^(1<<(at%8)) | byte(v>>k&1)<<(at%8)
	}
}

// intAt returns element i of integers or bools.
func intAt(t *tensor.Tensor, i int) *big.Int {
	v := new(big.Int).SetUint64(bitsAt(t, i))
	return wrapped(v, t.DType().Bits(), isSigned(t.DType()))
}

// wrapped returns v modulo 2^bits, as a signed number if negative is set.
func wrapped(v *big.Int, bits int, negative bool) *big.Int {
	size := new(big.Int).Lsh(big.NewInt(1), uint(bits))
	v = new(big.Int).Mod(v, size)
	if negative && v.Bit(bits-1) == 1 {
		v.Sub(v, size)
	}
	return v
}

// putInt stores the low bits of v as element i. A bool is true if v is not 0.
func putInt(t *tensor.Tensor, i int, v *big.Int) {
	if t.DType() == tensor.Bool {
		putBitsAt(t, i, uint64(abs(v.Sign())))
		return
	}
	putBitsAt(t, i, wrapped(v, t.DType().Bits(), false).Uint64())
}

func abs(v int) int { return max(v, -v) }

// eighth returns the number that the code of an 8-bit float stands for.
func eighth(code int) float64 {
	exponent, fraction := code>>2&31, float64(code&3)
	v := math.Ldexp(1+fraction/4, exponent-15)
	switch {
	case exponent == 31 && fraction == 0:
		v = math.Inf(1)
	case exponent == 31:
		v = math.NaN()
	case exponent == 0:
		v = math.Ldexp(fraction/4, -14)
	}
	if code&128 != 0 {
		v = -v
	}
	return v
}

// eighthCode returns the code of the nearest number. A tie goes to the even code.
func eighthCode(v float64) int {
	if v != v {
		return 0x7d
	}
	code := 0
	for c := range 0x7c {
		off, best := math.Abs(eighth(c)-math.Abs(v)), math.Abs(eighth(code)-math.Abs(v))
		if off < best || off == best && c&1 == 0 {
			code = c
		}
	}
	if math.Abs(v) >= 61440 { // halfway to the successor of the greatest number
		code = 0x7c
	}
	if math.Signbit(v) {
		code |= 128
	}
	return code
}

// floatAt returns element i of floats.
func floatAt(t *tensor.Tensor, i int) float64 {
	if t.DType() == tensor.F8E5M2 {
		return eighth(int(t.Bytes()[i]))
	}
	return cases.Number(t, i)
}

// putFloat rounds v to element i. For types below 64 bits, v is a float32, as operators compute it.
func putFloat(t *tensor.Tensor, i int, v float64) {
	if t.DType() == tensor.F8E5M2 {
		t.Bytes()[i] = byte(eighthCode(v))
		return
	}
	cases.SetNumber(t, i, v)
}

// narrow rounds v to float32 unless d is float64, as operators compute elements.
func narrow(d tensor.DType, v float64) float64 {
	if d == tensor.F64 {
		return v
	}
	return float64(float32(v))
}

// edges returns elements at which operators go wrong.
func edges(s *cases.Suite, d tensor.DType) *tensor.Tensor {
	var t *tensor.Tensor
	switch {
	case d == tensor.Bool:
		return cases.Vector(d, 0, 1)
	case d.IsFloat():
		list := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3, -7, math.NaN(), math.Inf(1),
			math.Inf(-1), 0x1p-16, 57344, 0x1p-149, 1e30}
		t = tensor.New(d, len(list))
		for i, v := range list {
			putFloat(t, i, v)
		}
	case d.Bits() <= 4:
		t = tensor.New(d, 1<<d.Bits())
		for i := range t.Len() {
			putBitsAt(t, i, uint64(i))
		}
	default:
		top := uint64(1) << (d.Bits() - 1)
		list := []uint64{0, 1, 2, 3, 7, ^uint64(0), ^uint64(1), ^uint64(6), top, top + 1, top - 1, top / 2, s.Uint64(),
			s.Uint64(), s.Uint64()}
		t = tensor.New(d, len(list))
		for i, v := range list {
			putBitsAt(t, i, v)
		}
	}
	return t
}

// some returns a tensor of edges and other elements.
func some(s *cases.Suite, d tensor.DType, shape ...int) *tensor.Tensor {
	t, e := tensor.New(d, shape...), edges(s, d)
	for i := range t.Len() {
		switch {
		case d == tensor.Bool || s.IntN(2) == 0:
			cases.SetElement(t, i, cases.Element(e, s.IntN(e.Len())))
		case d.IsFloat():
			putFloat(t, i, s.NormFloat64()*4)
		default:
			putBitsAt(t, i, s.Uint64())
		}
	}
	return t
}

// crossed returns every pair of edges in two tensors.
func crossed(s *cases.Suite, d tensor.DType) (a, b *tensor.Tensor) {
	e := edges(s, d)
	n := e.Len()
	a, b = tensor.New(d, n, n), tensor.New(d, n, n)
	for i := range n * n {
		cases.SetElement(a, i, cases.Element(e, i/n))
		cases.SetElement(b, i, cases.Element(e, i%n))
	}
	return a, b
}

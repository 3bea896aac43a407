package openinfer

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// scalarBits returns a tensor with one element of these bits.
func scalarBits(d dtype, code uint64) *tensor.Tensor {
	t := tensor.New(d.tensor())
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], code)
	copy(t.Bytes(), b[:])
	return t
}

// bitsOf returns the bits of a tensor's single element.
func bitsOf(t *tensor.Tensor) uint64 {
	var b [8]byte
	copy(b[:], t.Bytes())
	code := binary.LittleEndian.Uint64(b[:])
	if w := t.DType().Bits(); w < 64 {
		code &= 1<<w - 1
	}
	return code
}

// scalarFloat returns the element of type d nearest to a number.
func scalarFloat(d dtype, v float64) *tensor.Tensor {
	switch d {
	case dtF64:
		return scalarBits(d, math.Float64bits(v))
	case dtF16:
		return scalarBits(d, uint64(packed.ToF16(float32(v))))
	case dtBF16:
		return scalarBits(d, uint64(packed.ToBF16(float32(v))))
	case dtF8:
		return scalarBits(d, uint64(packed.ToF8E5M2(float32(v), false)))
	}
	return scalarBits(dtF32, uint64(math.Float32bits(float32(v))))
}

// whole is a 64-bit integer with a separate sign.
type whole struct {
	magnitude uint64
	negative  bool
}

// scalarInt returns v as an element of type d: an integer, a bool or a bit set. It fails if the
// type cannot hold v.
func scalarInt(d dtype, v whole) (*tensor.Tensor, error) {
	low, high := intRange(d)
	if v.magnitude == 0 {
		v.negative = false
	}
	fits := !v.negative && v.magnitude <= high || v.negative && v.magnitude <= low
	switch {
	case d.isFloat():
		return nil, fmt.Errorf("is an integer; elements of type %v need a number with a point, such as 1.0", d)
	case d == dtT1 && v.magnitude != 1, !fits:
		return nil, fmt.Errorf("is out of the range of %v", d)
	}
	code := v.magnitude
	if v.negative {
		code = -code
	}
	if d == dtT1 {
		code = uint64(bit(!v.negative))
	}
	return scalarBits(d, code&(math.MaxUint64>>(64-d.bits()))), nil
}

// intRange returns the magnitudes of the least and the greatest integer of a type.
func intRange(d dtype) (low, high uint64) {
	switch {
	case d == dtBool, d == dtT1, d == dtT2:
		return uint64(bit(d != dtBool)), 1
	case d == dtBitset:
		return 0, 255
	case d.isUnsigned():
		return 0, math.MaxUint64 >> (64 - d.bits())
	}
	return 1 << (d.bits() - 1), 1<<(d.bits()-1) - 1
}

// scalarInteger returns an element of type d as an integer. d must not be a float.
func scalarInteger(d dtype, t *tensor.Tensor) whole {
	code := bitsOf(t)
	switch {
	case d == dtT1:
		return whole{1, code == 0}
	case d == dtBool || d == dtBitset || d.isUnsigned():
		return whole{code, false}
	}
	if shift := 64 - d.bits(); int64(code<<shift) < 0 {
		return whole{uint64(-(int64(code<<shift) >> shift)), true}
	}
	return whole{code, false}
}

// scalarText returns an element in the text language.
func scalarText(d dtype, t *tensor.Tensor) string {
	switch {
	case d == dtBool:
		return fmt.Sprint(bitsOf(t) != 0)
	case d.isFloat():
		width := 64
		if d != dtF64 {
			width = 32
		}
		return floatText(tensor.Numbers(t)(0), width)
	}
	v := scalarInteger(d, t)
	if v.negative {
		return fmt.Sprintf("-%d", v.magnitude)
	}
	return fmt.Sprint(v.magnitude)
}

// int64 returns the integer, or false if an int64 cannot hold it.
func (v whole) int64() (int64, bool) {
	if v.negative {
		return -int64(v.magnitude), bits.LeadingZeros64(v.magnitude-1) > 0
	}
	return int64(v.magnitude), v.magnitude <= math.MaxInt64
}

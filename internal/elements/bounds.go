package elements

import (
	"math"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Bounds returns the least and the greatest finite number of type d, bool, an integer or a float of
// 16 bits or more, as N. An N that does not hold them gets their low bits.
func Bounds[N Number](d tensor.DType) (low, high N) {
	switch d.Kind() {
	case tensor.Unsigned:
		return 0, N(uint64(math.MaxUint64) >> (64 - d.Bits()))
	case tensor.Signed:
		most := int64(math.MaxInt64) >> (64 - d.Bits())
		return N(-most - 1), N(most)
	case tensor.Boolean:
		return 0, 1
	}
	most := math.MaxFloat32
	switch d {
	case tensor.F64:
		most = math.MaxFloat64
	case tensor.F16:
		most = float64(packed.F16(0x7bff).Float32())
	case tensor.BF16:
		most = float64(packed.BF16(0x7f7f).Float32())
	}
	return N(-most), N(most)
}

// PutClamped is Put of numbers that become integers by dropping the fraction. A number beyond the
// bounds of the type becomes the nearer bound, and a NaN becomes 0.
func PutClamped(t *tensor.Tensor, at int, list []float64) bool {
	switch d := t.DType(); d.Kind() {
	case tensor.Signed:
		low, high := Bounds[int64](d)
		return putBlocks(t, at, list, func(v float64) int64 { return min(max(ToInt(v), low), high) })
	case tensor.Unsigned:
		_, high := Bounds[uint64](d)
		return putBlocks(t, at, list, func(v float64) uint64 { return min(ToUint(v), high) })
	}
	return Put(t, at, list)
}

func putBlocks[N int64 | uint64](t *tensor.Tensor, at int, list []float64, to func(float64) N) bool {
	var block [256]N
	for len(list) > 0 {
		n := min(len(list), len(block))
		for i, v := range list[:n] {
			block[i] = to(v)
		}
		if !Put(t, at, block[:n]) {
			return false
		}
		at, list = at+n, list[n:]
	}
	return true
}

// ToInt returns v without its fraction, clamped to int64, or 0 for NaN.
func ToInt(v float64) int64 {
	switch {
	case v != v:
		return 0
	case v >= 1<<63:
		return math.MaxInt64
	case v <= -1<<63:
		return math.MinInt64
	}
	return int64(v)
}

// ToUint returns v without its fraction, clamped to uint64, or 0 for NaN.
func ToUint(v float64) uint64 {
	switch {
	case v != v, v <= 0:
		return 0
	case v >= 1<<64:
		return math.MaxUint64
	}
	return uint64(v)
}

package arith

import (
	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// convertElements sets the elements of y to the elements of x, which has the same length. Floats
// become integers by rounding towards zero, clamped to the range of the type; a NaN becomes 0.
// Integers keep their low bits.
func convertElements(y, x *tensor.Tensor) {
	switch x.DType().Kind() {
	case tensor.Float:
		convertBlocks(x, func(at int, list []float64) { elements.PutClamped(y, at, list) })
	case tensor.Signed:
		convertBlocks(x, func(at int, list []int64) { putIntegers(y, at, list) })
	default:
		convertBlocks(x, func(at int, list []uint64) { putIntegers(y, at, list) })
	}
}

// convertBlocks calls put with blocks of the elements of x in the widest type of their kind.
func convertBlocks[W float64 | int64 | uint64](x *tensor.Tensor, put func(at int, list []W)) {
	var block [512]W
	for at := 0; at < x.Len(); at += len(block) {
		list := block[:min(x.Len()-at, len(block))]
		elements.Get(list, x, at)
		put(at, list)
	}
}

// putIntegers sets the elements of y from index at on. On the way to 16-bit floats, integers are
// rounded to float32.
func putIntegers[W int64 | uint64](y *tensor.Tensor, at int, list []W) {
	if d := y.DType(); !d.IsFloat() || d.Bits() > 16 {
		elements.Put(y, at, list)
		return
	}
	var block [512]float32
	for i, v := range list {
		block[i] = float32(v)
	}
	elements.Put(y, at, block[:len(list)])
}

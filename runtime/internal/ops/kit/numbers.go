package kit

import (
	"sync"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Number is the set of element types that Go computes with.
type Number interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// Integer is the set of integer types among Number.
type Integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// Numbers returns the elements of a tensor as float64. A float64 tensor returns its own memory. ok
// is false unless the elements are floats of 16 bits or more, integers or bools. Integers beyond
// 2^53 are rounded.
func Numbers(t *tensor.Tensor) (list []float64, ok bool) {
	if !op.Numeric.Has(t.DType()) && t.DType() != tensor.Bool {
		return nil, false
	}
	if t = t.Aligned(); t.DType() == tensor.F64 {
		return tensor.View[float64](t), true
	}
	list = make([]float64, t.Len())
	return list, elements.Get(list, t, 0)
}

// Dot returns the dot product of x and the first len(x) elements of y, in four partial sums.
func Dot[T float32 | float64](x, y []T) T {
	var a, b, c, d T
	y = y[:len(x)]
	for ; len(x) >= 4; x, y = x[4:], y[4:] {
		p, q := (*[4]T)(x), (*[4]T)(y)
		a += p[0] * q[0]
		b += p[1] * q[1]
		c += p[2] * q[2]
		d += p[3] * q[3]
	}
	for i, v := range x {
		a += v * y[i]
	}
	return (a + b) + (c + d)
}

// SetNumbers stores list as the elements of a tensor of floats of 16 bits or more, integers or
// bools. Floats are rounded, integers are truncated, and bools are true for any number but 0. If t
// is nil, it does nothing.
func SetNumbers(t *tensor.Tensor, list []float64) {
	if t != nil {
		elements.Put(t, 0, list)
	}
}

// fillBlock is the number of elements that Fill computes at a time.
const fillBlock = 1 << 10

// blocks holds buffers for later calls of Fill.
var blocks = sync.Pool{New: func() any { return new([fillBlock]float64) }}

// Fill sets the elements of t to the numbers that f computes, as SetNumbers does. f sets list to
// the numbers from index at on. Several goroutines call f at once.
func Fill(c *op.Run, t *tensor.Tensor, f func(list []float64, at int)) error {
	return c.Parallel(t.Len(), fillBlock, func(from, to int) error {
		block := blocks.Get().(*[fillBlock]float64)
		defer blocks.Put(block)
		for at := from; at < to; at += fillBlock {
			list := block[:min(fillBlock, to-at)]
			f(list, at)
			elements.Put(t, at, list)
		}
		return nil
	})
}

package optest

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// each calls f for every index of the shape in row-major order.
func each(shape tensor.Shape, f func(flat int, at []int)) {
	at := make([]int, len(shape))
	for flat := range shape.Len() {
		rest := flat
		for a := len(shape) - 1; a >= 0; a-- {
			at[a] = rest % shape[a]
			rest /= shape[a]
		}
		f(flat, at)
	}
}

// flat is the number of the element at an index.
func flat(shape tensor.Shape, at ...int) int {
	n := 0
	for a, d := range shape {
		n = n*d + at[a]
	}
	return n
}

// pick makes a tensor whose elements are those of t at the index that from
// returns, or zero where it returns nil.
func pick(t *tensor.Tensor, shape tensor.Shape, from func(at []int) []int) *tensor.Tensor {
	out := tensor.New(t.DType(), shape...)
	each(shape, func(i int, at []int) {
		if src := from(slices.Clone(at)); src != nil {
			setElement(out, i, element(t, flat(t.Shape(), src...)))
		}
	})
	return out
}

// mod is the remainder with the sign of n.
func mod(x, n int) int { return ((x % n) + n) % n }

// with returns a copy of list in which element i is v.
func with(list []int, i, v int) []int {
	list = slices.Clone(list)
	list[i] = v
	return list
}

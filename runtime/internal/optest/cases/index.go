package cases

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Each calls f for every index of the shape in row-major order.
func Each(shape tensor.Shape, f func(flat int, at []int)) {
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

// Flat returns the row-major offset of an index.
func Flat(shape tensor.Shape, at ...int) int {
	n := 0
	for a, d := range shape {
		n = n*d + at[a]
	}
	return n
}

// Pick returns a tensor with the elements of t at the indices that from returns. If from returns
// nil, the element is zero.
func Pick(t *tensor.Tensor, shape tensor.Shape, from func(at []int) []int) *tensor.Tensor {
	out := tensor.New(t.DType(), shape...)
	Each(shape, func(i int, at []int) {
		if src := from(slices.Clone(at)); src != nil {
			SetElement(out, i, Element(t, Flat(t.Shape(), src...)))
		}
	})
	return out
}

// Mod returns the remainder of x over n with the sign of n.
func Mod(x, n int) int { return ((x % n) + n) % n }

// With returns a copy of list with v as element i.
func With(list []int, i, v int) []int {
	list = slices.Clone(list)
	list[i] = v
	return list
}

// Filled returns a tensor with element f(at) at each index.
func Filled(d tensor.DType, f func(at []int) float64, shape ...int) *tensor.Tensor {
	t := tensor.New(d, shape...)
	Each(t.Shape(), func(i int, at []int) { SetNumber(t, i, f(at)) })
	return t
}

// Broadcasted returns a tensor of type d: f of the elements of tensors that broadcast to one shape.
func Broadcasted(d tensor.DType, f func(x []float64) float64, list ...*tensor.Tensor) *tensor.Tensor {
	shape := tensor.Shape{}
	for _, t := range list {
		shape = BroadcastShape(shape, t.Shape())
	}
	y := tensor.New(d, shape...)
	x := make([]float64, len(list))
	Each(shape, func(i int, at []int) {
		for k, t := range list {
			x[k] = Number(t, Flat(t.Shape(), BroadcastIndex(t.Shape(), at)...))
		}
		SetNumber(y, i, f(x))
	})
	return y
}

// ShapePairs lists shapes that broadcast to each other in every manner.
var ShapePairs = [][2][]int{
	{{3, 5}, {3, 5}}, {{2, 3, 19}, {}}, {{}, {7}}, {{2, 3, 5}, {5}}, {{2, 3, 5}, {3, 1}},
	{{1, 5}, {3, 1}}, {{2, 1, 4, 1}, {3, 1, 6}}, {{2, 3, 17}, {2, 1, 17}}, {{0, 3}, {1}}, {{1}, {1, 1}},
}

// Transposed returns the transpose of a matrix.
func Transposed(x *tensor.Tensor) *tensor.Tensor {
	sh := x.Shape()
	return Pick(x, tensor.Shape{sh[1], sh[0]}, func(at []int) []int { return []int{at[1], at[0]} })
}

// BroadcastShape returns the shape to which two shapes broadcast.
func BroadcastShape(a, b []int) tensor.Shape {
	out := make(tensor.Shape, max(len(a), len(b)))
	for i := range out {
		out[i] = 1
		for _, shape := range [][]int{a, b} {
			if j := i - len(out) + len(shape); j >= 0 && shape[j] != 1 {
				out[i] = shape[j]
			}
		}
	}
	return out
}

// BroadcastIndex returns the index into shape of the element that broadcasts to index at of the
// result.
func BroadcastIndex(shape tensor.Shape, at []int) []int {
	src := slices.Clone(at[len(at)-len(shape):])
	for a, n := range shape {
		if n == 1 {
			src[a] = 0
		}
	}
	return src
}

// Seen returns t reshaped.
func Seen(t *tensor.Tensor, shape ...int) *tensor.Tensor {
	return Pick(t, shape, func(at []int) []int {
		rest := Flat(shape, at...)
		src := make([]int, len(t.Shape()))
		for a, n := range slices.Backward(t.Shape()) {
			src[a] = rest % n
			rest /= n
		}
		return src
	})
}

// Inside reports whether an index is within the shape.
func Inside(shape, at []int) bool {
	for a, i := range at {
		if i < 0 || i >= shape[a] {
			return false
		}
	}
	return true
}

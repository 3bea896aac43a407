package arith

import (
	"errors"
	"math"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// reduceAny reduces every element type and empty inputs. Integer sums wrap around. Results of
// integer types are rounded towards zero.
func reduceAny(pace *op.Pace, r *Reducer, x *tensor.Tensor, reduced []bool, out *tensor.Tensor) error {
	switch x.DType() {
	case tensor.F32:
		reduceFloats(pace, r, x, reduced, out, func(v float32) float64 { return float64(v) })
	case tensor.F64:
		reduceFloats(pace, r, x, reduced, out, func(v float64) float64 { return v })
	case tensor.F16:
		reduceFloats(pace, r, x, reduced, out, func(v packed.F16) float64 { return float64(v.Float32()) })
	case tensor.BF16:
		reduceFloats(pace, r, x, reduced, out, func(v packed.BF16) float64 { return float64(v.Float32()) })
	case tensor.I8:
		return reduceInts[int8](pace, r, x, reduced, out)
	case tensor.I16:
		return reduceInts[int16](pace, r, x, reduced, out)
	case tensor.I32:
		return reduceInts[int32](pace, r, x, reduced, out)
	case tensor.I64:
		return reduceInts[int64](pace, r, x, reduced, out)
	case tensor.U8:
		return reduceInts[uint8](pace, r, x, reduced, out)
	case tensor.U16:
		return reduceInts[uint16](pace, r, x, reduced, out)
	case tensor.U32:
		return reduceInts[uint32](pace, r, x, reduced, out)
	case tensor.U64:
		return reduceInts[uint64](pace, r, x, reduced, out)
	case tensor.Bool:
		return reduceInts[uint8](pace, r, x, reduced, out)
	}
	return nil
}

// Empty returns the result of reducing no elements of type d.
func (r *Reducer) Empty(d tensor.DType) (*tensor.Tensor, error) {
	y := tensor.New(d, 1)
	return y, reduceAny(new(op.Run).Pace(), r, tensor.New(d, 0), []bool{true}, y)
}

// Accumulate sets acc[o] = step(acc[o], v) for every element v of x and the index o of its output
// element.
func Accumulate[T, A any](pace *op.Pace, x []T, shape tensor.Shape, reduced []bool, acc []A, step func(A, T) A) {
	if len(x) == 0 {
		return
	}
	strides := make([]int, len(shape)) // of acc; 0 along reduced axes
	for i, n := len(shape)-1, 1; i >= 0; i-- {
		if !reduced[i] {
			strides[i] = n
			n *= shape[i]
		}
	}
	index, o := make([]int, len(shape)), 0
	for _, v := range x {
		pace.Work(4)
		acc[o] = step(acc[o], v)
		for i := len(shape) - 1; i >= 0; i-- {
			index[i]++
			o += strides[i]
			if index[i] < shape[i] {
				break
			}
			o -= strides[i] * shape[i]
			index[i] = 0
		}
	}
}

func repeated[A any](v A, n int) []A {
	list := make([]A, n)
	for i := range list {
		list[i] = v
	}
	return list
}

func reduceFloats[T tensor.Element](
	pace *op.Pace, r *Reducer, x *tensor.Tensor, reduced []bool, out *tensor.Tensor, wide func(T) float64,
) {
	elements.Put(out, 0, reduceDoubles(pace, r, tensor.View[T](x), x.Shape(), reduced, out.Len(), wide))
}

// reduceDoubles computes n results in float64.
func reduceDoubles[T any](
	pace *op.Pace, r *Reducer, x []T, shape tensor.Shape, reduced []bool, n int, wide func(T) float64,
) []float64 {
	if r.Logs {
		return logSumExp(pace, x, shape, reduced, n, wide)
	}
	var acc []float64
	switch r.First {
	case ReduceSum:
		acc = make([]float64, n)
		Accumulate(pace, x, shape, reduced, acc, func(a float64, v T) float64 { return a + wide(v) })
	case ReduceSumSquare:
		acc = make([]float64, n)
		Accumulate(pace, x, shape, reduced, acc, func(a float64, v T) float64 { return a + wide(v)*wide(v) })
	case ReduceSumAbs:
		acc = make([]float64, n)
		Accumulate(pace, x, shape, reduced, acc, func(a float64, v T) float64 { return a + math.Abs(wide(v)) })
	case ReduceProd:
		acc = repeated(1.0, n)
		Accumulate(pace, x, shape, reduced, acc, func(a float64, v T) float64 { return a * wide(v) })
	case ReduceMax:
		acc = repeated(math.Inf(-1), n)
		Accumulate(pace, x, shape, reduced, acc, func(a float64, v T) float64 { return max(a, wide(v)) })
	case ReduceMin:
		acc = repeated(math.Inf(1), n)
		Accumulate(pace, x, shape, reduced, acc, func(a float64, v T) float64 { return min(a, wide(v)) })
	}
	for i := range acc {
		if r.Mean {
			acc[i] /= float64(len(x)) / float64(n)
		}
		acc[i] = r.Root.of(acc[i])
	}
	return acc
}

// logSumExp keeps, for each result, the largest element so far and the sum of exponentials relative
// to it.
func logSumExp[T any](pace *op.Pace, x []T, shape tensor.Shape, reduced []bool, n int, wide func(T) float64) []float64 {
	type state struct{ top, sum float64 }
	acc := repeated(state{top: math.Inf(-1)}, n)
	Accumulate(pace, x, shape, reduced, acc, func(a state, e T) state {
		v := wide(e)
		switch {
		case v == a.top:
			a.sum++
		case v > a.top:
			a.sum = a.sum*math.Exp(a.top-v) + 1
			a.top = v
		default:
			a.sum += math.Exp(v - a.top)
		}
		return a
	})
	list := make([]float64, n)
	for i, a := range acc {
		list[i] = a.top + math.Log(a.sum)
	}
	return list
}

// magnitude returns the absolute value of v. The most negative number is its own magnitude.
func magnitude[T kit.Integer](v T) T {
	if v < 0 {
		return -v
	}
	return v
}

func reduceInts[T kit.Integer](pace *op.Pace, r *Reducer, x *tensor.Tensor, reduced []bool, out *tensor.Tensor) error {
	src, dst := tensor.View[T](x), tensor.View[T](out)
	if r.Logs || r.Root != RootNone {
		for i, v := range reduceDoubles(pace, r, src, x.Shape(), reduced, len(dst), func(v T) float64 { return float64(v) }) {
			dst[i] = T(v)
		}
		return nil
	}
	fill := func(v T) {
		for i := range dst {
			dst[i] = v
		}
	}
	switch r.First {
	case ReduceSum:
		return sumInts(pace, r, src, x.Shape(), reduced, dst)
	case ReduceSumSquare:
		fill(0)
		Accumulate(pace, src, x.Shape(), reduced, dst, func(a, v T) T { return a + v*v })
	case ReduceSumAbs:
		fill(0)
		Accumulate(pace, src, x.Shape(), reduced, dst, func(a, v T) T { return a + magnitude(v) })
	case ReduceProd:
		fill(1)
		Accumulate(pace, src, x.Shape(), reduced, dst, func(a, v T) T { return a * v })
	case ReduceMax:
		low, _ := elements.Bounds[int64](x.DType())
		fill(T(low))
		Accumulate(pace, src, x.Shape(), reduced, dst, func(a, v T) T { return max(a, v) })
	case ReduceMin:
		_, high := elements.Bounds[int64](x.DType())
		fill(T(high))
		Accumulate(pace, src, x.Shape(), reduced, dst, func(a, v T) T { return min(a, v) })
	}
	return nil
}

// sumInts adds in 64 bits, so that means do not wrap around.
func sumInts[T kit.Integer](pace *op.Pace, r *Reducer, src []T, shape tensor.Shape, reduced []bool, dst []T) error {
	if r.Mean && len(src) == 0 {
		return errors.New("the mean of no integers is not defined")
	}
	acc := make([]int64, len(dst))
	Accumulate(pace, src, shape, reduced, acc, func(a int64, v T) int64 { return a + int64(v) })
	for i, v := range acc {
		switch {
		case !r.Mean:
			dst[i] = T(v)
		case T(0)-1 > 0: // unsigned
			dst[i] = T(uint64(v) / uint64(len(src)/len(dst)))
		default:
			dst[i] = T(v / int64(len(src)/len(dst)))
		}
	}
	return nil
}

package openinfer

import (
	"math"
	"math/big"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// reducedTo calls f for every result of a reduction with the offsets of its elements in order. It
// returns the shape of the results.
func reducedTo(shape tensor.Shape, axes []int, keep bool, f func(result int, elements []int)) tensor.Shape {
	drop := make([]bool, len(shape))
	for _, a := range axes {
		drop[cases.Mod(a, len(shape))] = true
	}
	kept, out := shape.Clone(), tensor.Shape{}
	for i, n := range shape {
		if drop[i] {
			kept[i] = 1
		}
		if !drop[i] {
			out = append(out, n)
		} else if keep {
			out = append(out, 1)
		}
	}
	members := make([][]int, kept.Len())
	cases.Each(shape, func(i int, at []int) {
		at = slices.Clone(at)
		for k := range at {
			if drop[k] {
				at[k] = 0
			}
		}
		to := cases.Flat(kept, at...)
		members[to] = append(members[to], i)
	})
	for i, list := range members {
		f(i, list)
	}
	return out
}

// fold computes a reduction of elements.
type fold struct {
	ints   func(x []*big.Int) *big.Int
	floats func(x []float64, single func(float64) float64) float64
}

func joined(start float64, real func(a, b float64) float64, start64 int64, whole func(z, x, y *big.Int) *big.Int) fold {
	return fold{
		func(x []*big.Int) *big.Int {
			all := big.NewInt(start64)
			for _, v := range x {
				all = whole(new(big.Int), all, v)
			}
			return all
		},
		func(x []float64, single func(float64) float64) float64 {
			all := start
			for _, v := range x {
				all = single(real(all, v))
			}
			return all
		}}
}

// best returns the reduction to the first of the best elements. A NaN stays if it is first; other
// NaNs are ignored.
func best(order int) fold {
	return fold{
		func(x []*big.Int) *big.Int {
			v := x[0]
			for _, w := range x {
				if w.Cmp(v) == order {
					v = w
				}
			}
			return v
		},
		func(x []float64, _ func(float64) float64) float64 { return x[bestOf(x, order, false)] }}
}

func bestOf(x []float64, order int, last bool) int {
	at := 0
	for i, v := range x {
		if order > 0 && v > x[at] || order < 0 && v < x[at] || last && v == x[at] {
			at = i
		}
	}
	return at
}

var (
	sumOf  = joined(0, func(a, b float64) float64 { return a + b }, 0, (*big.Int).Add)
	prodOf = joined(1, func(a, b float64) float64 { return a * b }, 1, (*big.Int).Mul)
	folds  = map[string]fold{
		"sum_axis":  sumOf,
		"prod_axis": prodOf,
		"max_axis":  best(1),
		"min_axis":  best(-1),
		"mean_axis": {
			func(x []*big.Int) *big.Int {
				if len(x) == 0 {
					return new(big.Int)
				}
				// the sum wraps in 64 bits before the division
				return new(big.Int).Quo(sumOf.ints(x), big.NewInt(int64(len(x))))
			},
			func(x []float64, single func(float64) float64) float64 {
				return sumOf.floats(x, single) / float64(len(x))
			}},
	}
	reduced = []struct {
		shape []int
		axes  []int
	}{
		{[]int{3, 5}, []int{1}}, {[]int{3, 5}, []int{0}}, {[]int{2, 3, 5}, []int{1}}, {[]int{2, 3, 5}, []int{-1, 0}}, {[]int{2, 3, 1, 5}, []int{0, 1}},
		{[]int{7}, []int{0}}, {[]int{2, 0, 3}, []int{2}}, {[]int{3, 1100}, []int{0}}, {[]int{3, 1100}, []int{1}}, {[]int{2, 3, 2, 3}, []int{0, 2}},
	}
)

func reduceCases(s *cases.Suite) {
	for _, name := range names(folds) {
		f := folds[name]
		for _, d := range numbers {
			for i, r := range reduced {
				reduceCase(s, name, f, small(s, name, d, r.shape...), r.axes, i%2 == 0, d)
				for _, acc := range wider(d) {
					if i < 3 && name != "max_axis" && name != "min_axis" {
						reduceCase(s, name, f, small(s, name, d, r.shape...), r.axes, i%2 == 0, acc)
					}
				}
			}
		}
	}
	x := some(s, tensor.I2, 2, 0)
	for _, name := range []string{"sum_axis", "mean_axis", "prod_axis"} {
		reduceCase(s, name, folds[name], x, []int{1}, false, tensor.I2)
		reduceCase(s, name, folds[name], some(s, tensor.F8E5M2, 0), []int{0}, false, tensor.F8E5M2)
	}
	s.Add(cases.Case{Domain: domain, Op: "max_axis", Version: 1, Note: "empty", Attrs: cases.Attrs("axes", []int{1}),
		In: cases.In(x), Fails: graph.ErrShape})
}

// small returns elements with limited sums and products. For a mean, sums fit 64 bits. For a
// product on types that devices flush, products stay normal numbers.
func small(s *cases.Suite, name string, d tensor.DType, shape ...int) *tensor.Tensor {
	if name == "mean_axis" && d.Bits() == 64 && d.IsInteger() {
		return s.Any(d, shape...)
	}
	t := some(s, d, shape...)
	for i := 0; name == "prod_axis" && flushed[d] > 0 && i < t.Len(); i++ {
		if v := math.Abs(floatAt(t, i)); v > 0 && v < 0x1p-60 {
			putFloat(t, i, 1.5)
		}
	}
	return t
}

func reduceCase(s *cases.Suite, name string, f fold, x *tensor.Tensor, axes []int, keep bool, out tensor.DType) {
	d := x.DType()
	values := map[int]*big.Int{}
	reals := map[int]float64{}
	shape := reducedTo(x.Shape(), axes, keep, func(result int, elements []int) {
		var whole []*big.Int
		var real []float64
		for _, i := range elements {
			if d.IsFloat() {
				real = append(real, floatAt(x, i))
			} else {
				whole = append(whole, intAt(x, i))
			}
		}
		if d.IsFloat() {
			reals[result] = f.floats(real, func(v float64) float64 { return narrow(d, v) })
		} else {
			values[result] = f.ints(whole)
		}
	})
	y := tensor.New(out, shape...)
	for i := range y.Len() {
		if d.IsFloat() {
			putFloat(y, i, narrow(d, reals[i]))
		} else {
			putInt(y, i, values[i])
		}
	}
	attrs := cases.Attrs("axes", axes, "keepdims", int(cases.Truth(keep)))
	if out != d {
		attrs = append(attrs, cases.Attrs("acc", out.String())...)
	}
	s.Add(cases.Case{Domain: domain, Op: name, Version: 1, Attrs: attrs, In: cases.In(x), Want: cases.Want(y)})
}

func argCases(s *cases.Suite) {
	orders := map[string]int{"argmax_axis": 1, "argmin_axis": -1}
	for _, name := range names(orders) {
		for _, d := range numbers {
			for i, r := range reduced {
				if len(r.axes) > 1 {
					continue
				}
				x := some(s, d, r.shape...)
				for _, last := range []bool{false, true} {
					argCase(s, name, orders[name], x, r.axes, i%2 == 0, last)
				}
			}
		}
	}
	s.Add(cases.Case{Domain: domain, Op: "argmax_axis", Version: 1, Note: "empty", Attrs: cases.Attrs("axes", []int{0}),
		In: cases.In(some(s, tensor.U1, 0, 3)), Fails: graph.ErrShape})
}

func argCase(s *cases.Suite, name string, order int, x *tensor.Tensor, axes []int, keep, last bool) {
	found := map[int]int{}
	shape := reducedTo(x.Shape(), axes, keep, func(result int, elements []int) {
		at := 0
		if x.DType().IsFloat() {
			var list []float64
			for _, i := range elements {
				list = append(list, floatAt(x, i))
			}
			at = bestOf(list, order, last)
		}
		for k, i := range elements {
			if x.DType().IsFloat() {
				break
			}
			if c := intAt(x, i).Cmp(intAt(x, elements[at])); c == order || last && c == 0 {
				at = k
			}
		}
		found[result] = at
	})
	y := tensor.New(tensor.I64, shape...)
	for i := range y.Len() {
		putBitsAt(y, i, uint64(found[i]))
	}
	attrs := cases.Attrs("axes", axes, "keepdims", int(cases.Truth(keep)), "select_first", int(cases.Truth(!last)))
	s.Add(cases.Case{Domain: domain, Op: name, Version: 1, Attrs: attrs, In: cases.In(x), Want: cases.Want(y)})
}

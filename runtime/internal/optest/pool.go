package optest

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

func poolCases(s *suite) {
	for _, d := range slices.Concat(floats, []tensor.DType{tensor.I8, tensor.U8}) {
		for _, c := range windows() {
			poolCase(s, d, c.in, c.w)
		}
		// With rounding up, the last window hangs over the end.
		poolCase(s, d, []int{6, 19}, window{[]int{3, 2}, []int{2, 3}, []int{1, 1}, []int{1, 0}, []int{0, 1}, "", true})
		poolCase(s, d, []int{5}, window{[]int{2}, []int{3}, []int{1}, []int{0}, []int{1}, "", true})
	}
	for _, d := range floats {
		globalPoolCases(s, d)
	}
	poolCase(s, tensor.F32, []int{56, 57}, window{[]int{3, 3}, []int{2, 2}, []int{1, 1}, []int{1, 1}, []int{1, 1}, "", false})
}

// pooled applies f to the elements under every window; padded counts those under
// it that are not elements but pads.
func pooled(x *tensor.Tensor, w window, f func(list []float64, padded int) float64) *tensor.Tensor {
	space := []int(x.Shape()[2:])
	placed, out := w.over(space)
	y := tensor.New(x.DType(), slices.Concat(x.Shape()[:2], out)...)
	each(y.Shape(), func(i int, at []int) {
		var list []float64
		padded := 0
		placed.visit(at[2:], func(_, in []int) {
			beyond := false
			for a, n := range space {
				beyond = beyond || in[a] >= n+placed.after[a]
			}
			switch {
			case inside(space, in):
				list = append(list, number(x, flat(x.Shape(), slices.Concat(at[:2], in)...)))
			case !beyond:
				padded++
			}
		})
		setNumber(y, i, f(list, padded))
	})
	return y
}

func largest(list []float64, _ int) float64 {
	top := math.Inf(-1)
	for _, v := range list {
		top = math.Max(top, v)
	}
	return top
}

func total(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum
}

func mean(list []float64, _ int) float64 { return total(list) / float64(len(list)) }

func paddedMean(list []float64, padded int) float64 { return total(list) / float64(len(list)+padded) }

func norm(p float64) func([]float64, int) float64 {
	return func(list []float64, _ int) float64 {
		sum := 0.0
		for _, v := range list {
			sum += math.Pow(math.Abs(v), p)
		}
		return math.Pow(sum, 1/p)
	}
}

func poolCase(s *suite, d tensor.DType, space []int, w window) {
	x := s.any(d, slices.Concat([]int{2, 3}, space)...)
	version := 1
	dilated := slices.Max(w.dilation) > 1
	if dilated || w.ceil {
		version = 10
	}
	if d.IsInteger() {
		s.add(Case{Op: "MaxPool", Version: 12, Note: w.auto, Attrs: w.attrs(), In: in(x), Want: want(pooled(x, w, largest))})
		return
	}
	s.add(Case{Op: "MaxPool", Version: version, Note: w.auto, Attrs: w.attrs(), In: in(x), Want: want(pooled(x, w, largest))})
	y, rows := largestPlaces(x, w, false)
	s.add(Case{Op: "MaxPool", Version: max(version, 8), Note: "places", Attrs: w.attrs(), In: in(x), Want: want(y, rows)})
	y, cols := largestPlaces(x, w, true)
	s.add(Case{Op: "MaxPool", Version: max(version, 8), Note: "places by column", Attrs: w.attrs("storage_order", 1), In: in(x), Want: want(y, cols)})
	average := version
	if dilated || w.ceil {
		average = 19
	}
	s.add(Case{Op: "AveragePool", Version: average, Note: w.auto, Attrs: w.attrs(), In: in(x), Want: want(pooled(x, w, mean)), Ulps: 16})
	s.add(Case{Op: "AveragePool", Version: max(average, 7), Note: "pads count", Attrs: w.attrs("count_include_pad", 1), In: in(x),
		Want: want(pooled(x, w, paddedMean)), Ulps: 16})
	lp := 2
	if dilated || w.ceil {
		lp = 18
	}
	s.add(Case{Op: "LpPool", Version: lp, Note: w.auto, Attrs: w.attrs(), In: in(x), Want: want(pooled(x, w, norm(2))), Ulps: 16})
	s.add(Case{Op: "LpPool", Version: lp, Note: "third", Attrs: w.attrs("p", 3), In: in(x), Want: want(pooled(x, w, norm(3))), Ulps: 16})
	if lp == 2 {
		s.add(Case{Op: "LpPool", Version: 1, Until: 2, Attrs: w.attrs("p", 3.0), In: in(x), Want: want(pooled(x, w, norm(3))), Ulps: 16})
	}
}

// largestPlaces are the largest elements and the numbers of the first of them
// within the whole input, its images stored by rows or by columns.
func largestPlaces(x *tensor.Tensor, w window, columns bool) (values, places *tensor.Tensor) {
	values = pooled(x, w, largest)
	places = tensor.New(tensor.I64, values.Shape()...)
	space := x.Shape()[2:]
	placed, _ := w.over(space)
	each(values.Shape(), func(i int, at []int) {
		found := false
		placed.visit(at[2:], func(_, in []int) {
			if found || !inside(space, in) || number(x, flat(x.Shape(), slices.Concat(at[:2], in)...)) != number(values, i) {
				return
			}
			found = true
			image := (at[0]*x.Shape()[1] + at[1]) * space.Len()
			inner := flat(space, in...)
			if columns {
				back, shape := slices.Clone(in), slices.Clone(space)
				slices.Reverse(back)
				slices.Reverse(shape)
				inner = flat(shape, back...)
			}
			setNumber(places, i, float64(image+inner))
		})
	})
	return values, places
}

func globalPoolCases(s *suite, d tensor.DType) {
	for _, space := range [][]int{{5, 7}, {37}, {2, 3, 4}} {
		x := s.any(d, slices.Concat([]int{2, 3}, space)...)
		w := plain(space...)
		s.add(Case{Op: "GlobalMaxPool", Version: 1, In: in(x), Want: want(pooled(x, w, largest))})
		s.add(Case{Op: "GlobalAveragePool", Version: 1, In: in(x), Want: want(pooled(x, w, mean)), Ulps: 16})
		s.add(Case{Op: "GlobalLpPool", Version: 2, Attrs: attrs("p", 3), In: in(x), Want: want(pooled(x, w, norm(3))), Ulps: 16})
		s.add(Case{Op: "GlobalLpPool", Version: 1, Until: 2, Attrs: attrs("p", 3.0), In: in(x), Want: want(pooled(x, w, norm(3))), Ulps: 16})
	}
}

package nn

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func poolCases(s *cases.Suite) {
	for _, d := range slices.Concat(cases.Floats, []tensor.DType{tensor.I8, tensor.U8}) {
		for _, c := range Windows() {
			poolCase(s, d, c.In, c.W)
		}
		// With rounding up, the last window extends beyond the end.
		poolCase(s, d, []int{6, 19}, Window{[]int{3, 2}, []int{2, 3}, []int{1, 1}, []int{1, 0}, []int{0, 1}, "", true})
		poolCase(s, d, []int{5}, Window{[]int{2}, []int{3}, []int{1}, []int{0}, []int{1}, "", true})
	}
	for _, d := range cases.Floats {
		globalPoolCases(s, d)
	}
	poolCase(s, tensor.F32, []int{56, 57},
		Window{[]int{3, 3}, []int{2, 2}, []int{1, 1}, []int{1, 1}, []int{1, 1}, "", false})
}

// Pooled applies f to the elements under every window. padded is the number of pads under the
// window.
func Pooled(x *tensor.Tensor, w Window, f func(list []float64, padded int) float64) *tensor.Tensor {
	space := []int(x.Shape()[2:])
	placed, out := w.Over(space)
	y := tensor.New(x.DType(), slices.Concat(x.Shape()[:2], out)...)
	cases.Each(y.Shape(), func(i int, at []int) {
		var list []float64
		padded := 0
		placed.Visit(at[2:], func(_, in []int) {
			beyond := false
			for a, n := range space {
				beyond = beyond || in[a] >= n+placed.After[a]
			}
			switch {
			case cases.Inside(space, in):
				list = append(list, cases.Number(x, cases.Flat(x.Shape(), slices.Concat(at[:2], in)...)))
			case !beyond:
				padded++
			}
		})
		cases.SetNumber(y, i, f(list, padded))
	})
	return y
}

// Largest returns the greatest number.
func Largest(list []float64, _ int) float64 {
	top := math.Inf(-1)
	for _, v := range list {
		top = math.Max(top, v)
	}
	return top
}

// Mean returns the mean of the numbers.
func Mean(list []float64, _ int) float64 { return cases.Total(list) / float64(len(list)) }

func paddedMean(list []float64, padded int) float64 {
	return cases.Total(list) / float64(len(list)+padded)
}

func norm(p float64) func([]float64, int) float64 {
	return func(list []float64, _ int) float64 {
		sum := 0.0
		for _, v := range list {
			sum += math.Pow(math.Abs(v), p)
		}
		return math.Pow(sum, 1/p)
	}
}

func poolCase(s *cases.Suite, d tensor.DType, space []int, w Window) {
	x := s.Any(d, slices.Concat([]int{2, 3}, space)...)
	version := 1
	dilated := slices.Max(w.Dilation) > 1
	if dilated || w.Ceil {
		version = 10
	}
	if d.IsInteger() {
		s.Add(cases.Case{Op: "MaxPool", Version: 12, Note: w.Auto, Attrs: w.Attrs(), In: cases.In(x),
			Want: cases.Want(Pooled(x, w, Largest))})
		return
	}
	s.Add(cases.Case{Op: "MaxPool", Version: version, Note: w.Auto, Attrs: w.Attrs(), In: cases.In(x),
		Want: cases.Want(Pooled(x, w, Largest))})
	y, rows := largestPlaces(x, w, false)
	s.Add(cases.Case{Op: "MaxPool", Version: max(version, 8), Note: "places", Attrs: w.Attrs(), In: cases.In(x),
		Want: cases.Want(y, rows)})
	y, cols := largestPlaces(x, w, true)
	s.Add(cases.Case{Op: "MaxPool", Version: max(version, 8), Note: "places by column",
		Attrs: w.Attrs("storage_order", 1), In: cases.In(x), Want: cases.Want(y, cols)})
	average := version
	if dilated || w.Ceil {
		average = 19
	}
	s.Add(cases.Case{Op: "AveragePool", Version: average, Note: w.Auto, Attrs: w.Attrs(), In: cases.In(x),
		Want: cases.Want(Pooled(x, w, Mean)), Ulps: 16})
	s.Add(cases.Case{Op: "AveragePool", Version: max(average, 7), Note: "pads count", Attrs: w.Attrs("count_include_pad", 1), In: cases.In(x),
		Want: cases.Want(Pooled(x, w, paddedMean)), Ulps: 16})
	lp := 2
	if dilated || w.Ceil {
		lp = 18
	}
	s.Add(cases.Case{Op: "LpPool", Version: lp, Note: w.Auto, Attrs: w.Attrs(), In: cases.In(x),
		Want: cases.Want(Pooled(x, w, norm(2))), Ulps: 16})
	s.Add(cases.Case{Op: "LpPool", Version: lp, Note: "third", Attrs: w.Attrs("p", 3), In: cases.In(x),
		Want: cases.Want(Pooled(x, w, norm(3))), Ulps: 16})
	if lp == 2 {
		s.Add(cases.Case{Op: "LpPool", Version: 1, Until: 2, Attrs: w.Attrs("p", 3.0), In: cases.In(x),
			Want: cases.Want(Pooled(x, w, norm(3))), Ulps: 16})
	}
}

// largestPlaces returns the largest elements and the offset of the first of each in the whole
// input, with images stored by rows or by columns.
func largestPlaces(x *tensor.Tensor, w Window, columns bool) (values, places *tensor.Tensor) {
	values = Pooled(x, w, Largest)
	places = tensor.New(tensor.I64, values.Shape()...)
	space := x.Shape()[2:]
	placed, _ := w.Over(space)
	cases.Each(values.Shape(), func(i int, at []int) {
		found := false
		placed.Visit(at[2:], func(_, in []int) {
			if found || !cases.Inside(space, in) ||
				cases.Number(x, cases.Flat(x.Shape(), slices.Concat(at[:2], in)...)) != cases.Number(values, i) {
				return
			}
			found = true
			image := (at[0]*x.Shape()[1] + at[1]) * space.Len()
			inner := cases.Flat(space, in...)
			if columns {
				back, shape := slices.Clone(in), slices.Clone(space)
				slices.Reverse(back)
				slices.Reverse(shape)
				inner = cases.Flat(shape, back...)
			}
			cases.SetNumber(places, i, float64(image+inner))
		})
	})
	return values, places
}

func globalPoolCases(s *cases.Suite, d tensor.DType) {
	for _, space := range [][]int{{5, 7}, {37}, {2, 3, 4}} {
		x := s.Any(d, slices.Concat([]int{2, 3}, space)...)
		w := Plain(space...)
		s.Add(cases.Case{Op: "GlobalMaxPool", Version: 1, In: cases.In(x), Want: cases.Want(Pooled(x, w, Largest))})
		s.Add(cases.Case{Op: "GlobalAveragePool", Version: 1, In: cases.In(x), Want: cases.Want(Pooled(x, w, Mean)),
			Ulps: 16})
		for _, p := range []int{1, 2, 3} {
			s.Add(cases.Case{Op: "GlobalLpPool", Version: 2, Attrs: cases.Attrs("p", p), In: cases.In(x),
				Want: cases.Want(Pooled(x, w, norm(float64(p)))), Ulps: 16})
		}
		s.Add(cases.Case{Op: "GlobalLpPool", Version: 1, Until: 2, Attrs: cases.Attrs("p", 3.0), In: cases.In(x),
			Want: cases.Want(Pooled(x, w, norm(3))), Ulps: 16})
	}
}

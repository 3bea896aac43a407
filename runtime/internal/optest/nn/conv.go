package nn

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func convCases(s *cases.Suite) {
	for _, d := range cases.Floats {
		version := 1
		if d == tensor.BF16 {
			version = 22
		}
		for _, c := range Windows() {
			for _, g := range [][3]int{{1, 3, 4}, {2, 2, 3}, {4, 1, 1}} {
				convCase(s, d, version, c.In, c.W, g[0], g[1], g[2])
				transposeConvCase(s, d, version, c.In, c.W, g[0], g[1], g[2])
			}
		}
	}
	three := Window{[]int{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}, []int{1, 1}, "", false}
	convCase(s, tensor.F32, 1, []int{14, 15}, three, 1, 33, 35)
	convCase(s, tensor.F32, 1, []int{28, 29}, Plain(1, 1), 1, 40, 67)
	convCase(s, tensor.F32, 1, []int{14, 37}, three, 24, 1, 1)
	shortConvCases(s)
}

// shortConvCases convolves small values by many filters: along one axis with strides, padding,
// dilation and a stride that skips the end of the value, and along two axes.
func shortConvCases(s *cases.Suite) {
	for _, c := range []struct {
		space    []int
		w        Window
		channels int
	}{
		{[]int{40}, Window{[]int{16}, []int{8}, []int{1}, []int{0}, []int{0}, "", false}, 1},
		{[]int{4}, Window{[]int{3}, []int{1}, []int{1}, []int{1}, []int{1}, "", false}, 5},
		{[]int{7}, Window{[]int{3}, []int{2}, []int{2}, []int{2}, []int{1}, "", false}, 3},
		{[]int{9}, Window{[]int{2}, []int{4}, []int{1}, []int{0}, []int{0}, "", false}, 2},
		{[]int{6}, Plain(1), 7},
		{[]int{3}, Plain(3), 4},
		{[]int{3, 4}, Window{[]int{3, 2}, []int{2, 2}, []int{1, 1}, []int{1, 0}, []int{1, 0}, "", false}, 3},
		{[]int{1, 1}, Window{[]int{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}, []int{1, 1}, "", false}, 6},
	} {
		convCase(s, tensor.F32, 1, c.space, c.w, 1, c.channels, 34)
	}
}

// convCase convolves images by group·filters filters with the given channels each.
func convCase(s *cases.Suite, d tensor.DType, version int, space []int, w Window, group, channels, filters int) {
	x := s.Any(d, slices.Concat([]int{2, group * channels}, space)...)
	k := s.Any(d, slices.Concat([]int{group * filters, channels}, w.Kernel)...)
	bias := s.Any(d, group*filters)
	placed, out := w.Over(space)
	shape := tensor.Shape(slices.Concat([]int{2, group * filters}, out))
	y, biased := tensor.New(d, shape...), tensor.New(d, shape...)
	cases.Each(shape, func(i int, at []int) {
		sum := 0.0
		placed.Visit(at[2:], func(kernel, in []int) {
			if !cases.Inside(space, in) {
				return
			}
			for c := range channels {
				from := slices.Concat([]int{at[0], at[1]/filters*channels + c}, in)
				weight := slices.Concat([]int{at[1], c}, kernel)
				sum += cases.Number(x, cases.Flat(x.Shape(), from...)) * cases.Number(k, cases.Flat(k.Shape(), weight...))
			}
		})
		cases.SetNumber(y, i, sum)
		cases.SetNumber(biased, i, sum+cases.Number(bias, at[1]))
	})
	ulps := 8 * float64(channels*tensor.Shape(w.Kernel).Len())
	s.Add(cases.Case{Op: "Conv", Version: version, Note: w.Auto, Attrs: w.Attrs("group", group), In: cases.In(x, k),
		Want: cases.Want(y), Ulps: ulps})
	s.Add(cases.Case{Op: "Conv", Version: version, Note: w.Auto, Attrs: w.Attrs("group", group),
		In: cases.In(x, k, bias), Want: cases.Want(biased), Ulps: ulps})
}

// transposeConvCase spreads every input element over the window from which a convolution computes
// it. It tries only explicit pads, since the meaning of auto_pad differs between versions.
func transposeConvCase(
	s *cases.Suite, d tensor.DType, version int, space []int, w Window, group, channels, filters int,
) {
	if w.Auto != "" {
		return
	}
	x := s.Any(d, slices.Concat([]int{2, group * channels}, space)...)
	k := s.Any(d, slices.Concat([]int{group * channels, filters}, w.Kernel)...)
	bias := s.Any(d, group*filters)
	out := make([]int, len(space))
	extra := make([]int, len(space))
	for a, n := range space {
		extra[a] = w.Stride[a] - 1
		out[a] = (n-1)*w.Stride[a] + w.span(a) - w.Before[a] - w.After[a] + extra[a]
	}
	shape := tensor.Shape(slices.Concat([]int{2, group * filters}, out))
	sums := make([]float64, shape.Len())
	cases.Each(shape, func(i int, at []int) { sums[i] = cases.Number(bias, at[1]) })
	cases.Each(x.Shape(), func(i int, at []int) {
		w.Visit(at[2:], func(kernel, to []int) {
			if !cases.Inside(out, to) {
				return
			}
			for f := range filters {
				weight := slices.Concat([]int{at[1], f}, kernel)
				target := slices.Concat([]int{at[0], at[1]/channels*filters + f}, to)
				sums[cases.Flat(shape, target...)] += cases.Number(x, i) * cases.Number(k, cases.Flat(k.Shape(), weight...))
			}
		})
	})
	ulps := 8 * float64(channels*tensor.Shape(w.Kernel).Len())
	s.Add(cases.Case{Op: "ConvTranspose", Version: version, Attrs: w.Attrs("group", group, "output_padding", extra), In: cases.In(x, k, bias),
		Want: cases.Want(cases.FromNumbers(d, sums, shape...)), Ulps: ulps})
}

func fusedConvCases(s *cases.Suite, d tensor.DType) {
	x, w, b, z := s.Any(d, 1, 2, 5, 6), s.Any(d, 3, 2, 1, 1), s.Any(d, 3), s.Any(d, 1, 3, 5, 6)
	y := cases.Filled(d, func(at []int) float64 {
		sum := cases.Number(b, at[1]) + cases.Number(z, cases.Flat(z.Shape(), at...))
		for c := range 2 {
			sum += cases.Number(w, at[1]*2+c) * cases.Number(x, cases.Flat(x.Shape(), 0, c, at[2], at[3]))
		}
		return min(max(sum, -0.5), 2)
	}, 1, 3, 5, 6)
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "FusedConv", Version: 1, Attrs: cases.Attrs("activation", "Clip", "activation_params", []float64{-0.5, 2}),
		In: cases.In(x, w, b, z), Want: cases.Want(y), Ulps: 16})
}

// convFusedCases adds convolutions followed by functions.
func convFusedCases(s *cases.Suite) {
	for _, d := range cases.Floats {
		fusedConvCases(s, d)
	}
}

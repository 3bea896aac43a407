package optest

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

func convCases(s *suite) {
	for _, d := range floats {
		version := 1
		if d == tensor.BF16 {
			version = 22
		}
		for _, c := range windows() {
			for _, g := range [][3]int{{1, 3, 4}, {2, 2, 3}, {4, 1, 1}} {
				convCase(s, d, version, c.in, c.w, g[0], g[1], g[2])
				transposeConvCase(s, d, version, c.in, c.w, g[0], g[1], g[2])
			}
		}
	}
	three := window{[]int{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}, []int{1, 1}, "", false}
	convCase(s, tensor.F32, 1, []int{14, 15}, three, 1, 33, 35)
	convCase(s, tensor.F32, 1, []int{28, 29}, plain(1, 1), 1, 40, 67)
	convCase(s, tensor.F32, 1, []int{14, 37}, three, 24, 1, 1)
	shortConvCases(s)
}

// shortConvCases convolve values of few places by many filters: along one axis with
// strides, padding, dilation and results that leave a part of the value out, and along
// two.
func shortConvCases(s *suite) {
	for _, c := range []struct {
		space    []int
		w        window
		channels int
	}{
		{[]int{40}, window{[]int{16}, []int{8}, []int{1}, []int{0}, []int{0}, "", false}, 1},
		{[]int{4}, window{[]int{3}, []int{1}, []int{1}, []int{1}, []int{1}, "", false}, 5},
		{[]int{7}, window{[]int{3}, []int{2}, []int{2}, []int{2}, []int{1}, "", false}, 3},
		{[]int{9}, window{[]int{2}, []int{4}, []int{1}, []int{0}, []int{0}, "", false}, 2},
		{[]int{6}, plain(1), 7},
		{[]int{3}, plain(3), 4},
		{[]int{3, 4}, window{[]int{3, 2}, []int{2, 2}, []int{1, 1}, []int{1, 0}, []int{1, 0}, "", false}, 3},
		{[]int{1, 1}, window{[]int{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}, []int{1, 1}, "", false}, 6},
	} {
		convCase(s, tensor.F32, 1, c.space, c.w, 1, c.channels, 34)
	}
}

// convCase convolves images with group·filters filters of some channels.
func convCase(s *suite, d tensor.DType, version int, space []int, w window, group, channels, filters int) {
	x := s.any(d, slices.Concat([]int{2, group * channels}, space)...)
	k := s.any(d, slices.Concat([]int{group * filters, channels}, w.kernel)...)
	bias := s.any(d, group*filters)
	placed, out := w.over(space)
	shape := tensor.Shape(slices.Concat([]int{2, group * filters}, out))
	y, biased := tensor.New(d, shape...), tensor.New(d, shape...)
	each(shape, func(i int, at []int) {
		sum := 0.0
		placed.visit(at[2:], func(kernel, in []int) {
			if !inside(space, in) {
				return
			}
			for c := range channels {
				from := slices.Concat([]int{at[0], at[1]/filters*channels + c}, in)
				weight := slices.Concat([]int{at[1], c}, kernel)
				sum += number(x, flat(x.Shape(), from...)) * number(k, flat(k.Shape(), weight...))
			}
		})
		setNumber(y, i, sum)
		setNumber(biased, i, sum+number(bias, at[1]))
	})
	ulps := 8 * float64(channels*tensor.Shape(w.kernel).Len())
	s.add(Case{Op: "Conv", Version: version, Note: w.auto, Attrs: w.attrs("group", group), In: in(x, k), Want: want(y), Ulps: ulps})
	s.add(Case{Op: "Conv", Version: version, Note: w.auto, Attrs: w.attrs("group", group), In: in(x, k, bias), Want: want(biased), Ulps: ulps})
}

// transposeConvCase spreads every input element over the window that it is the
// result of in a convolution. Only windows with pads of their own are tried:
// what auto_pad means here differs between versions.
func transposeConvCase(s *suite, d tensor.DType, version int, space []int, w window, group, channels, filters int) {
	if w.auto != "" {
		return
	}
	x := s.any(d, slices.Concat([]int{2, group * channels}, space)...)
	k := s.any(d, slices.Concat([]int{group * channels, filters}, w.kernel)...)
	bias := s.any(d, group*filters)
	out := make([]int, len(space))
	extra := make([]int, len(space))
	for a, n := range space {
		extra[a] = w.stride[a] - 1
		out[a] = (n-1)*w.stride[a] + w.span(a) - w.before[a] - w.after[a] + extra[a]
	}
	shape := tensor.Shape(slices.Concat([]int{2, group * filters}, out))
	sums := make([]float64, shape.Len())
	each(shape, func(i int, at []int) { sums[i] = number(bias, at[1]) })
	each(x.Shape(), func(i int, at []int) {
		w.visit(at[2:], func(kernel, to []int) {
			if !inside(out, to) {
				return
			}
			for f := range filters {
				weight := slices.Concat([]int{at[1], f}, kernel)
				target := slices.Concat([]int{at[0], at[1]/channels*filters + f}, to)
				sums[flat(shape, target...)] += number(x, i) * number(k, flat(k.Shape(), weight...))
			}
		})
	})
	ulps := 8 * float64(channels*tensor.Shape(w.kernel).Len())
	s.add(Case{Op: "ConvTranspose", Version: version, Attrs: w.attrs("group", group, "output_padding", extra), In: in(x, k, bias),
		Want: want(fromNumbers(d, sums, shape...)), Ulps: ulps})
}

package nn

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func deformConvCases(s *cases.Suite, d tensor.DType) {
	for _, c := range Windows() {
		if c.W.Auto != "" || d != tensor.F32 && tensor.Shape(c.In).Len() > 50 || tensor.Shape(c.In).Len() > 130 {
			continue
		}
		deformConvCase(s, d, c.In, c.W, 1, 1)
		deformConvCase(s, d, c.In, c.W, 2, 2)
		deformConvCase(s, d, c.In, c.W, 1, 4)
		deformConvCase(s, d, c.In, c.W, 4, 2)
	}
}

func deformConvCase(s *cases.Suite, d tensor.DType, space []int, w Window, group, fields int) {
	const channels, filters = 4, 8
	placed, out := w.Over(space)
	r, kernel := len(space), tensor.Shape(w.Kernel).Len()
	x := s.Any(d, slices.Concat([]int{2, channels}, space)...)
	weights := s.Any(d, slices.Concat([]int{filters, channels / group}, w.Kernel)...)
	offsets := s.Any(d, slices.Concat([]int{2, fields * kernel * r}, out)...)
	bias, masks := s.Any(d, filters), s.Any(d, slices.Concat([]int{2, fields * kernel}, out)...)
	y, plain := tensor.New(d, slices.Concat([]int{2, filters}, out)...),
		tensor.New(d, slices.Concat([]int{2, filters}, out)...)
	cases.Each(y.Shape(), func(i int, at []int) {
		sum, sumPlain := 0.0, 0.0
		for ch := range channels / group {
			in := at[1]/(filters/group)*(channels/group) + ch
			field := in / (channels / fields)
			placed.Visit(at[2:], func(k, pixel []int) {
				e := cases.Flat(w.Kernel, k...)
				place := func(a int) float64 {
					row := (field*kernel+e)*r + a
					return float64(pixel[a]) + cases.Number(offsets,
						cases.Flat(offsets.Shape(), slices.Concat([]int{at[0], row}, at[2:])...))
				}
				v := blended(func(p []int) float64 {
					return cases.Number(x, cases.Flat(x.Shape(), slices.Concat([]int{at[0], in}, p)...))
				}, nil, space, place)
				v *= cases.Number(weights, cases.Flat(weights.Shape(), slices.Concat([]int{at[1], ch}, k)...))
				sumPlain += v
				sum += v * cases.Number(masks, cases.Flat(masks.Shape(), slices.Concat([]int{at[0], field*kernel + e}, at[2:])...))
			})
		}
		cases.SetNumber(y, i, sum+cases.Number(bias, at[1]))
		cases.SetNumber(plain, i, sumPlain)
	})
	list := cases.Attrs("strides", w.Stride, "dilations", w.Dilation, "pads", slices.Concat(w.Before, w.After), "group",
		group, "offset_group", fields)
	s.Add(cases.Case{Op: "DeformConv", Version: 19, Attrs: list, In: cases.In(x, weights, offsets, bias, masks),
		Want: cases.Want(y), Ulps: 128})
	s.Add(cases.Case{Op: "DeformConv", Version: 19, Attrs: list, In: cases.In(x, weights, offsets),
		Want: cases.Want(plain), Ulps: 128})
	if r > 1 {
		s.Add(cases.Case{Op: "DeformConv", Version: 19, Note: "offsets", Attrs: list, In: cases.In(x, weights, masks),
			Fails: graph.ErrShape})
	}
}

// blended interpolates between pixels. Pixels outside are 0.
func blended(at func(pixel []int) float64, pixel, space []int, place func(a int) float64) float64 {
	a := len(pixel)
	if a == len(space) {
		return at(pixel)
	}
	sum := 0.0
	for i := range space[a] {
		if part := 1 - math.Abs(place(a)-float64(i)); part > 0 {
			sum += part * blended(at, append(slices.Clone(pixel), i), space, place)
		}
	}
	return sum
}

package nn

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func col2imCases(s *cases.Suite, d tensor.DType) {
	for _, c := range Windows() {
		if c.W.Auto != "" || len(c.In) < 2 {
			continue
		}
		w, out := c.W.Over(c.In)
		block, blocks := tensor.Shape(w.Kernel).Len(), tensor.Shape(out).Len()
		x := s.Between(d, 0, 2, 2, 3*block, blocks)
		y := tensor.New(d, slices.Concat([]int{2, 3}, c.In)...)
		sums := make([]float64, y.Len())
		cases.Each(out, func(b int, at []int) {
			w.Visit(at, func(k, pixel []int) {
				if !cases.Inside(c.In, pixel) {
					return
				}
				for plane := range 6 {
					from := (plane*block+cases.Flat(w.Kernel, k...))*blocks + b
					sums[plane*tensor.Shape(c.In).Len()+cases.Flat(c.In, pixel...)] += cases.Number(x, from)
				}
			})
		})
		for i, v := range sums {
			cases.SetNumber(y, i, v)
		}
		s.Add(cases.Case{Op: "Col2Im", Version: 18, Attrs: cases.Attrs("strides", w.Stride, "dilations", w.Dilation, "pads", slices.Concat(w.Before, w.After)),
			In: cases.In(x, cases.Ints(c.In...), cases.Ints(w.Kernel...)), Want: cases.Want(y), Ulps: 16})
	}
	if d == tensor.F32 {
		s.Add(cases.Case{Op: "Col2Im", Version: 18, Note: "columns",
			In: cases.In(s.Any(d, 1, 4, 5), cases.Ints(3, 3), cases.Ints(2, 2)), Fails: graph.ErrShape})
	}
}

func maxUnpoolCases(s *cases.Suite, d tensor.DType) {
	x := s.Any(d, 1, 2, 2, 3)
	places := cases.Seen(cases.Ints(0, 3, 4, 13, 9, 15, 16, 18, 22, 25, 31, 28), 1, 2, 2, 3)
	small := tensor.New(d, 1, 2, 4, 4)
	for i := range x.Len() {
		at := int(cases.Number(places, i))
		cases.SetNumber(small, at, cases.Number(x, i))
	}
	s.Add(cases.Case{Op: "MaxUnpool", Version: 9, Attrs: cases.Attrs("kernel_shape", []int{3, 2}, "strides",
		[]int{1, 1}), In: cases.In(x, places), Want: cases.Want(small)})
	large := cases.Pick(small, tensor.Shape{1, 2, 5, 6}, func(at []int) []int {
		if at[2] >= 4 || at[3] >= 4 {
			return nil
		}
		return at
	})
	s.Add(cases.Case{Op: "MaxUnpool", Version: 9, Note: "larger", Attrs: cases.Attrs("kernel_shape", []int{3, 2}, "strides", []int{1, 1}),
		In: cases.In(x, places, cases.Ints(1, 2, 5, 6)), Want: cases.Want(large)})
	s.Add(cases.Case{Op: "MaxUnpool", Version: 9, Note: "outside", Attrs: cases.Attrs("kernel_shape", []int{2, 2},
		"strides", []int{1, 1}), In: cases.In(x, places), Fails: graph.ErrShape})
}

// foldCases combines windows again, and reads them at offsets.
func foldCases(s *cases.Suite) {
	for _, d := range cases.Numeric {
		col2imCases(s, d)
	}
	for _, d := range cases.Floats {
		deformConvCases(s, d)
		maxUnpoolCases(s, d)
	}
}

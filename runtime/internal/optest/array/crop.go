package array

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func cropPadCases(s *cases.Suite, d tensor.DType) {
	x := s.Any(d, 4, 5, 3)
	add := func(note string, to []int, list cases.AttrList, in []*tensor.Tensor) {
		y := cases.Pick(x, to, func(at []int) []int {
			from := make([]int, len(at))
			for a, n := range x.Shape() {
				from[a] = at[a] + int(math.Floor(math.Max(0, float64(n-to[a]))/2)) - int(math.Floor(math.Max(0,
					float64(to[a]-n))/2))
			}
			if !cases.Inside(x.Shape(), from) {
				return nil
			}
			return from
		})
		s.Add(cases.Case{Op: "CenterCropPad", Version: 18, Note: note, Attrs: list, In: in, Want: cases.Want(y)})
	}
	add("crop", []int{3, 2, 3}, nil, cases.In(x, cases.Ints(3, 2, 3)))
	add("pad", []int{7, 6, 3}, nil, cases.In(x, cases.Ints(7, 6, 3)))
	add("both", []int{3, 8, 3}, cases.Attrs("axes", []int{1, -3}), cases.In(x, cases.Ints(8, 3)))
	add("scalar", []int{4, 7, 3}, cases.Attrs("axes", []int{1}), cases.In(x, cases.Scalar(tensor.I64, 7)))
	if d == tensor.F32 {
		s.Add(cases.Case{Op: "CenterCropPad", Version: 18, Note: "count", In: cases.In(x, cases.Ints(3)),
			Fails: graph.ErrShape})
	}
}

// cropCases crops and pads around the centre.
func cropCases(s *cases.Suite) {
	for _, d := range tensor.DTypes() {
		cropPadCases(s, d)
	}
}

package array

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// expandDimsCases inserts axes.
func expandDimsCases(s *cases.Suite) {
	x := s.Any(tensor.F32, 2, 3)
	one := func(i int) *tensor.Tensor { return cases.Scalar(tensor.I32, float64(i)) }
	for _, d := range tensor.DTypes() {
		x := s.Any(d, 2, 3)
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "ExpandDims", Version: 1, In: cases.In(x, one(1)),
			Want: cases.Want(cases.Seen(x, 2, 1, 3))})
	}
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "ExpandDims", Version: 1, Note: "from the end",
		In: cases.In(x, one(-1)), Want: cases.Want(cases.Seen(x, 2, 3, 1))})
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "ExpandDims", Version: 1, Note: "beyond", In: cases.In(x, one(3)),
		Fails: graph.ErrShape})
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "ExpandDims", Version: 1, Note: "two",
		In: cases.In(x, cases.Ints(0, 1)), Fails: graph.ErrShape})
}

// rangeByOneCases counts without a step.
func rangeByOneCases(s *cases.Suite) {
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "Range", Version: 1, Note: "by one",
		In: cases.In(cases.Scalar(tensor.I64, 3), cases.Scalar(tensor.I64, 6)), Want: cases.Want(cases.Ints(3, 4, 5))})
}

package array

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func shapeCases(s *cases.Suite) {
	for _, d := range tensor.DTypes() {
		x := s.Any(d, 2, 1, 3)
		s.Add(cases.Case{Op: "Identity", Version: 1, In: cases.In(x), Want: cases.Want(x)})
		s.Add(cases.Case{Op: "Reshape", Version: 1, Until: 5, Attrs: cases.Attrs("shape", []int{3, 2}), In: cases.In(x),
			Want: cases.Want(cases.Seen(x, 3, 2))})
		s.Add(cases.Case{Op: "Reshape", Version: 5, In: cases.In(x, cases.Ints(0, -1)),
			Want: cases.Want(cases.Seen(x, 2, 3))})
		s.Add(cases.Case{Op: "Flatten", Version: 1, Attrs: cases.Attrs("axis", 2), In: cases.In(x),
			Want: cases.Want(cases.Seen(x, 2, 3))})
		s.Add(cases.Case{Op: "Squeeze", Version: 1, Until: 13, Attrs: cases.Attrs("axes", []int{1}), In: cases.In(x),
			Want: cases.Want(cases.Seen(x, 2, 3))})
		s.Add(cases.Case{Op: "Squeeze", Version: 13, In: cases.In(x, cases.Ints(-2)), Want: cases.Want(cases.Seen(x, 2, 3))})
		s.Add(cases.Case{Op: "Unsqueeze", Version: 1, Until: 13, Attrs: cases.Attrs("axes", []int{0, 4}), In: cases.In(x),
			Want: cases.Want(cases.Seen(x, 1, 2, 1, 3, 1))})
		s.Add(cases.Case{Op: "Unsqueeze", Version: 13, In: cases.In(x, cases.Ints(-1, 0)),
			Want: cases.Want(cases.Seen(x, 1, 2, 1, 3, 1))})
		s.Add(cases.Case{Op: "Shape", Version: 1, In: cases.In(x), Want: cases.Want(cases.Ints(2, 1, 3))})
		s.Add(cases.Case{Op: "Size", Version: 1, In: cases.In(x), Want: cases.Want(cases.Scalar(tensor.I64, 6))})
	}
	x := s.Any(tensor.F32, 2, 1, 3)
	s.Add(cases.Case{Op: "Squeeze", Version: 1, Note: "all", In: cases.In(x), Want: cases.Want(cases.Seen(x, 2, 3))})
	s.Add(cases.Case{Op: "Squeeze", Version: 13, Note: "twice", In: cases.In(x, cases.Ints(1, -2)),
		Want: cases.Want(cases.Seen(x, 2, 3))})
	s.Add(cases.Case{Op: "Squeeze", Version: 13, Note: "not one", In: cases.In(x, cases.Ints(0)), Fails: graph.ErrShape})
	s.Add(cases.Case{Op: "Flatten", Version: 1, Note: "none", Attrs: cases.Attrs("axis", 0), In: cases.In(x),
		Want: cases.Want(cases.Seen(x, 1, 6))})
	s.Add(cases.Case{Op: "Flatten", Version: 9, Note: "all", Attrs: cases.Attrs("axis", 3), In: cases.In(x),
		Want: cases.Want(cases.Seen(x, 6, 1))})
	s.Add(cases.Case{Op: "Shape", Version: 15, Note: "part", Attrs: cases.Attrs("start", -2, "end", 5), In: cases.In(x),
		Want: cases.Want(cases.Ints(1, 3))})
	s.Add(cases.Case{Op: "Shape", Version: 15, Note: "none", Attrs: cases.Attrs("start", 2, "end", -2), In: cases.In(x),
		Want: cases.Want(cases.Ints())})
	empty := tensor.New(tensor.F32, 0, 3)
	s.Add(cases.Case{Op: "Reshape", Version: 14, Note: "zero", Attrs: cases.Attrs("allowzero", 1),
		In: cases.In(empty, cases.Ints(3, 0)), Want: cases.Want(tensor.New(tensor.F32, 3, 0))})
	s.Add(cases.Case{Op: "Reshape", Version: 5, Note: "copied zero", In: cases.In(empty, cases.Ints(0, 5, 1)),
		Want: cases.Want(tensor.New(tensor.F32, 0, 5, 1))})
	s.Add(cases.Case{Op: "Reshape", Version: 5, Note: "rest beside a copied zero",
		In: cases.In(empty, cases.Ints(0, -1, 1)), Want: cases.Want(tensor.New(tensor.F32, 0, 3, 1))})
	s.Add(cases.Case{Op: "Reshape", Version: 5, Note: "wrong count", In: cases.In(x, cases.Ints(5)),
		Fails: graph.ErrShape})
	s.Add(cases.Case{Op: "Reshape", Version: 5, Note: "two left open", In: cases.In(x, cases.Ints(-1, -1)),
		Fails: graph.ErrShape})
	one := s.Any(tensor.F32, 1)
	s.Add(cases.Case{Op: "Reshape", Version: 5, Note: "scalar", In: cases.In(one, cases.Ints()),
		Want: cases.Want(cases.Seen(one))})
	dropoutCases(s)
}

func dropoutCases(s *cases.Suite) {
	for _, d := range []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16} {
		x := s.Any(d, 3, 5)
		all := tensor.New(tensor.Bool, 3, 5)
		ones := tensor.New(d, 3, 5)
		for i := range all.Len() {
			cases.SetNumber(all, i, 1)
			cases.SetNumber(ones, i, 1)
		}
		s.Add(cases.Case{Op: "Dropout", Version: 1, Until: 7, Attrs: cases.Attrs("is_test", 1), In: cases.In(x),
			Want: cases.Want(x, ones)})
		s.Add(cases.Case{Op: "Dropout", Version: 7, Until: 10, Attrs: cases.Attrs("ratio", 0.25), In: cases.In(x),
			Want: cases.Want(x)})
		s.Add(cases.Case{Op: "Dropout", Version: 10, In: cases.In(x), Want: cases.Want(x, all)})
		s.Add(cases.Case{Op: "Dropout", Version: 12, Note: "no training",
			In: cases.In(x, cases.Scalar(d, 0.25), cases.Scalar(tensor.Bool, 0)), Want: cases.Want(x, all)})
		s.Add(cases.Case{Op: "Dropout", Version: 12, Note: "no ratio",
			In: cases.In(x, cases.Scalar(tensor.F32, 0), cases.Scalar(tensor.Bool, 1)), Want: cases.Want(x, all)})
		s.Add(cases.Case{Op: "Dropout", Version: 12, Note: "bad ratio",
			In: cases.In(x, cases.Scalar(tensor.F32, 1), cases.Scalar(tensor.Bool, 1)), Fails: graph.ErrShape})
	}
}

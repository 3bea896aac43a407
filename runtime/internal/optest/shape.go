package optest

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// seen is t with another shape.
func seen(t *tensor.Tensor, shape ...int) *tensor.Tensor {
	return pick(t, shape, func(at []int) []int {
		rest := flat(shape, at...)
		src := make([]int, len(t.Shape()))
		for a, n := range slices.Backward(t.Shape()) {
			src[a] = rest % n
			rest /= n
		}
		return src
	})
}

func shapeCases(s *suite) {
	for _, d := range tensor.DTypes() {
		x := s.any(d, 2, 1, 3)
		s.add(Case{Op: "Identity", Version: 1, In: in(x), Want: want(x)})
		s.add(Case{Op: "Reshape", Version: 1, Until: 5, Attrs: attrs("shape", []int{3, 2}), In: in(x), Want: want(seen(x, 3, 2))})
		s.add(Case{Op: "Reshape", Version: 5, In: in(x, ints(0, -1)), Want: want(seen(x, 2, 3))})
		s.add(Case{Op: "Flatten", Version: 1, Attrs: attrs("axis", 2), In: in(x), Want: want(seen(x, 2, 3))})
		s.add(Case{Op: "Squeeze", Version: 1, Until: 13, Attrs: attrs("axes", []int{1}), In: in(x), Want: want(seen(x, 2, 3))})
		s.add(Case{Op: "Squeeze", Version: 13, In: in(x, ints(-2)), Want: want(seen(x, 2, 3))})
		s.add(Case{Op: "Unsqueeze", Version: 1, Until: 13, Attrs: attrs("axes", []int{0, 4}), In: in(x), Want: want(seen(x, 1, 2, 1, 3, 1))})
		s.add(Case{Op: "Unsqueeze", Version: 13, In: in(x, ints(-1, 0)), Want: want(seen(x, 1, 2, 1, 3, 1))})
		s.add(Case{Op: "Shape", Version: 1, In: in(x), Want: want(ints(2, 1, 3))})
		s.add(Case{Op: "Size", Version: 1, In: in(x), Want: want(scalar(tensor.I64, 6))})
	}
	x := s.any(tensor.F32, 2, 1, 3)
	s.add(Case{Op: "Squeeze", Version: 1, Note: "all", In: in(x), Want: want(seen(x, 2, 3))})
	s.add(Case{Op: "Squeeze", Version: 13, Note: "not one", In: in(x, ints(0)), Fails: graph.ErrShape})
	s.add(Case{Op: "Flatten", Version: 1, Note: "none", Attrs: attrs("axis", 0), In: in(x), Want: want(seen(x, 1, 6))})
	s.add(Case{Op: "Flatten", Version: 9, Note: "all", Attrs: attrs("axis", 3), In: in(x), Want: want(seen(x, 6, 1))})
	s.add(Case{Op: "Shape", Version: 15, Note: "part", Attrs: attrs("start", -2, "end", 5), In: in(x), Want: want(ints(1, 3))})
	s.add(Case{Op: "Shape", Version: 15, Note: "none", Attrs: attrs("start", 2, "end", -2), In: in(x), Want: want(ints())})
	empty := tensor.New(tensor.F32, 0, 3)
	s.add(Case{Op: "Reshape", Version: 14, Note: "zero", Attrs: attrs("allowzero", 1), In: in(empty, ints(3, 0)), Want: want(tensor.New(tensor.F32, 3, 0))})
	s.add(Case{Op: "Reshape", Version: 5, Note: "copied zero", In: in(empty, ints(0, 5, 1)), Want: want(tensor.New(tensor.F32, 0, 5, 1))})
	s.add(Case{Op: "Reshape", Version: 5, Note: "wrong count", In: in(x, ints(5)), Fails: graph.ErrShape})
	s.add(Case{Op: "Reshape", Version: 5, Note: "two left open", In: in(x, ints(-1, -1)), Fails: graph.ErrShape})
	one := s.any(tensor.F32, 1)
	s.add(Case{Op: "Reshape", Version: 5, Note: "scalar", In: in(one, ints()), Want: want(seen(one))})
	dropoutCases(s)
}

func dropoutCases(s *suite) {
	for _, d := range []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16} {
		x := s.any(d, 3, 5)
		all := tensor.New(tensor.Bool, 3, 5)
		ones := tensor.New(d, 3, 5)
		for i := range all.Len() {
			setNumber(all, i, 1)
			setNumber(ones, i, 1)
		}
		s.add(Case{Op: "Dropout", Version: 1, Until: 7, Attrs: attrs("is_test", 1), In: in(x), Want: want(x, ones)})
		s.add(Case{Op: "Dropout", Version: 7, Until: 10, Attrs: attrs("ratio", 0.25), In: in(x), Want: want(x)})
		s.add(Case{Op: "Dropout", Version: 10, In: in(x), Want: want(x, all)})
		s.add(Case{Op: "Dropout", Version: 12, Note: "no training", In: in(x, scalar(d, 0.25), scalar(tensor.Bool, 0)), Want: want(x, all)})
		s.add(Case{Op: "Dropout", Version: 12, Note: "no ratio", In: in(x, scalar(tensor.F32, 0), scalar(tensor.Bool, 1)), Want: want(x, all)})
		s.add(Case{Op: "Dropout", Version: 12, Note: "bad ratio", In: in(x, scalar(tensor.F32, 1), scalar(tensor.Bool, 1)), Fails: graph.ErrShape})
	}
}

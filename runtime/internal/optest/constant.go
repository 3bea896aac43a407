package optest

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func constantCases(s *suite) {
	for _, d := range tensor.DTypes() {
		x := s.any(d, 3, 3)
		s.add(Case{Op: "Constant", Version: 1, Attrs: attrs("value", x), Want: want(x)})
		sparseCases(s, d)
		one := s.any(d, 1)
		y := pick(one, tensor.Shape{3, 5}, func([]int) []int { return []int{0} })
		s.add(Case{Op: "ConstantOfShape", Version: 9, Attrs: attrs("value", one), In: in(ints(3, 5)), Want: want(y)})
	}
	s.add(Case{Op: "ConstantOfShape", Version: 9, Note: "scalar", In: in(ints()), Want: want(tensor.New(tensor.F32))})
	s.add(Case{Op: "ConstantOfShape", Version: 9, Note: "empty", In: in(ints(2, 0)), Want: want(tensor.New(tensor.F32, 2, 0))})
	s.add(Case{Op: "ConstantOfShape", Version: 9, Note: "negative", In: in(ints(-1)), Fails: graph.ErrShape})

	text := tensor.New(tensor.String, 2)
	copy(text.Strings(), []string{"a", "bc"})
	word := tensor.New(tensor.String)
	word.Strings()[0] = "abc"
	s.add(Case{Op: "Constant", Version: 12, Attrs: attrs("value_int", -7), Want: want(scalar(tensor.I64, -7))})
	s.add(Case{Op: "Constant", Version: 12, Attrs: attrs("value_float", 0.5), Want: want(scalar(tensor.F32, 0.5))})
	s.add(Case{Op: "Constant", Version: 12, Attrs: attrs("value_string", "abc"), Want: want(word)})
	s.add(Case{Op: "Constant", Version: 12, Attrs: attrs("value_ints", []int{3, -1}), Want: want(ints(3, -1))})
	s.add(Case{Op: "Constant", Version: 12, Attrs: attrs("value_floats", []float64{1, 2.5}), Want: want(vector(tensor.F32, 1, 2.5))})
	s.add(Case{Op: "Constant", Version: 12, Attrs: attrs("value_strings", []string{"a", "bc"}), Want: want(text)})
	s.add(Case{Op: "Constant", Version: 12, Note: "two", Attrs: attrs("value_int", 1, "value_float", 1.0), Fails: graph.ErrFormat})
	s.add(Case{Op: "Constant", Version: 1, Note: "none", Fails: graph.ErrFormat})
	rangeCases(s)
}

func sparseCases(s *suite, d tensor.DType) {
	values := s.any(d, 3)
	y := tensor.New(d, 3, 5)
	for i, at := range []int{1, 7, 14} {
		setElement(y, at, element(values, i))
	}
	linear := &graph.SparseTensor{Values: values, Indices: ints(1, 7, 14), Shape: tensor.Shape{3, 5}}
	pairs := &graph.SparseTensor{Values: values, Indices: seen(ints(0, 1, 1, 2, 2, 4), 3, 2), Shape: tensor.Shape{3, 5}}
	outside := &graph.SparseTensor{Values: values, Indices: ints(1, 7, 15), Shape: tensor.Shape{3, 5}}
	s.add(Case{Op: "Constant", Version: 11, Note: "sparse", Attrs: attrs("sparse_value", linear), Want: want(y)})
	s.add(Case{Op: "Constant", Version: 11, Note: "sparse pairs", Attrs: attrs("sparse_value", pairs), Want: want(y)})
	s.add(Case{Op: "Constant", Version: 11, Note: "sparse outside", Attrs: attrs("sparse_value", outside), Fails: graph.ErrFormat})
}

func rangeCases(s *suite) {
	for _, d := range []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16, tensor.I16, tensor.I32, tensor.I64} {
		for _, r := range [][3]float64{{0, 5, 1}, {3, 10, 2}, {10, 4, -2}, {2, 2, 1}, {5, 2, 1}, {-3, 4, 3}} {
			var list []float64
			for v := r[0]; (v-r[1])*r[2] < 0; v += r[2] {
				list = append(list, v)
			}
			s.add(Case{Op: "Range", Version: 11, In: in(scalar(d, r[0]), scalar(d, r[1]), scalar(d, r[2])), Want: want(vector(d, list...))})
		}
		s.add(Case{Op: "Range", Version: 11, Note: "no step", In: in(scalar(d, 0), scalar(d, 1), scalar(d, 0)), Fails: graph.ErrShape})
	}
	f := tensor.F32
	s.add(Case{Op: "Range", Version: 11, Note: "fractions", In: in(scalar(f, 0), scalar(f, 1), scalar(f, 0.3)), Want: want(vector(f, 0, 0.3, 0.6, 0.9)), Ulps: 2})
	s.add(Case{Op: "Range", Version: 11, Note: "endless", In: in(scalar(f, 0), scalar(f, math.Inf(1)), scalar(f, 1)), Fails: graph.ErrShape})
	s.add(Case{Op: "Range", Version: 11, Note: "too long", In: in(scalar(tensor.I64, math.MinInt), scalar(tensor.I64, 0x1p62), scalar(tensor.I64, 1)), Fails: graph.ErrShape})
}

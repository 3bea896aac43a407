package array

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func constantCases(s *cases.Suite) {
	for _, d := range tensor.DTypes() {
		x := s.Any(d, 3, 3)
		s.Add(cases.Case{Op: "Constant", Version: 1, Attrs: cases.Attrs("value", x), Want: cases.Want(x)})
		sparseCases(s, d)
		one := s.Any(d, 1)
		y := cases.Pick(one, tensor.Shape{3, 5}, func([]int) []int { return []int{0} })
		s.Add(cases.Case{Op: "ConstantOfShape", Version: 9, Attrs: cases.Attrs("value", one),
			In: cases.In(cases.Ints(3, 5)), Want: cases.Want(y)})
	}
	s.Add(cases.Case{Op: "ConstantOfShape", Version: 9, Note: "scalar", In: cases.In(cases.Ints()),
		Want: cases.Want(tensor.New(tensor.F32))})
	s.Add(cases.Case{Op: "ConstantOfShape", Version: 9, Note: "empty", In: cases.In(cases.Ints(2, 0)),
		Want: cases.Want(tensor.New(tensor.F32, 2, 0))})
	s.Add(cases.Case{Op: "ConstantOfShape", Version: 9, Note: "negative", In: cases.In(cases.Ints(-1)),
		Fails: graph.ErrShape})

	text := tensor.New(tensor.String, 2)
	copy(text.Strings(), []string{"a", "bc"})
	word := tensor.New(tensor.String)
	word.Strings()[0] = "abc"
	s.Add(cases.Case{Op: "Constant", Version: 12, Attrs: cases.Attrs("value_int", -7),
		Want: cases.Want(cases.Scalar(tensor.I64, -7))})
	s.Add(cases.Case{Op: "Constant", Version: 12, Attrs: cases.Attrs("value_float", 0.5),
		Want: cases.Want(cases.Scalar(tensor.F32, 0.5))})
	s.Add(cases.Case{Op: "Constant", Version: 12, Attrs: cases.Attrs("value_string", "abc"), Want: cases.Want(word)})
	s.Add(cases.Case{Op: "Constant", Version: 12, Attrs: cases.Attrs("value_ints", []int{3, -1}),
		Want: cases.Want(cases.Ints(3, -1))})
	s.Add(cases.Case{Op: "Constant", Version: 12, Attrs: cases.Attrs("value_floats", []float64{1, 2.5}),
		Want: cases.Want(cases.Vector(tensor.F32, 1, 2.5))})
	s.Add(cases.Case{Op: "Constant", Version: 12, Attrs: cases.Attrs("value_strings", []string{"a", "bc"}),
		Want: cases.Want(text)})
	s.Add(cases.Case{Op: "Constant", Version: 12, Note: "two", Attrs: cases.Attrs("value_int", 1, "value_float", 1.0),
		Fails: graph.ErrFormat})
	s.Add(cases.Case{Op: "Constant", Version: 1, Note: "none", Fails: graph.ErrFormat})
	rangeCases(s)
}

func sparseCases(s *cases.Suite, d tensor.DType) {
	values := s.Any(d, 3)
	y := tensor.New(d, 3, 5)
	for i, at := range []int{1, 7, 14} {
		cases.SetElement(y, at, cases.Element(values, i))
	}
	linear := &graph.SparseTensor{Values: values, Indices: cases.Ints(1, 7, 14), Shape: tensor.Shape{3, 5}}
	pairs := &graph.SparseTensor{Values: values, Indices: cases.Seen(cases.Ints(0, 1, 1, 2, 2, 4), 3, 2),
		Shape: tensor.Shape{3, 5}}
	outside := &graph.SparseTensor{Values: values, Indices: cases.Ints(1, 7, 15), Shape: tensor.Shape{3, 5}}
	s.Add(cases.Case{Op: "Constant", Version: 11, Note: "sparse", Attrs: cases.Attrs("sparse_value", linear),
		Want: cases.Want(y)})
	s.Add(cases.Case{Op: "Constant", Version: 11, Note: "sparse pairs", Attrs: cases.Attrs("sparse_value", pairs),
		Want: cases.Want(y)})
	s.Add(cases.Case{Op: "Constant", Version: 11, Note: "sparse outside", Attrs: cases.Attrs("sparse_value", outside),
		Fails: graph.ErrFormat})
}

func rangeCases(s *cases.Suite) {
	for _, d := range []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16, tensor.I16, tensor.I32, tensor.I64} {
		for _, r := range [][3]float64{{0, 5, 1}, {3, 10, 2}, {10, 4, -2}, {2, 2, 1}, {5, 2, 1}, {-3, 4, 3}} {
			var list []float64
			for v := r[0]; (v-r[1])*r[2] < 0; v += r[2] {
				list = append(list, v)
			}
			s.Add(cases.Case{Op: "Range", Version: 11, In: cases.In(cases.Scalar(d, r[0]), cases.Scalar(d, r[1]),
				cases.Scalar(d, r[2])), Want: cases.Want(cases.Vector(d, list...))})
		}
		s.Add(cases.Case{Op: "Range", Version: 11, Note: "no step",
			In: cases.In(cases.Scalar(d, 0), cases.Scalar(d, 1), cases.Scalar(d, 0)), Fails: graph.ErrShape})
	}
	f := tensor.F32
	s.Add(cases.Case{Op: "Range", Version: 11, Note: "fractions", In: cases.In(cases.Scalar(f, 0), cases.Scalar(f, 1),
		cases.Scalar(f, 0.3)), Want: cases.Want(cases.Vector(f, 0, 0.3, 0.6, 0.9)), Ulps: 2})
	s.Add(cases.Case{Op: "Range", Version: 11, Note: "endless",
		In: cases.In(cases.Scalar(f, 0), cases.Scalar(f, math.Inf(1)), cases.Scalar(f, 1)), Fails: graph.ErrShape})
	s.Add(cases.Case{Op: "Range", Version: 11, Note: "too long", In: cases.In(cases.Scalar(tensor.I64, math.MinInt),
		cases.Scalar(tensor.I64, 0x1p62), cases.Scalar(tensor.I64, 1)), Fails: graph.ErrShape})
}

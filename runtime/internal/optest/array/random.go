package array

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// randomCases adds draws with only one possible result.
func randomCases(s *cases.Suite) {
	shape := []int{2, 3, 4}
	filled := func(d tensor.DType, v float64) *tensor.Tensor {
		y := tensor.New(d, shape...)
		for i := range y.Len() {
			cases.SetNumber(y, i, v)
		}
		return y
	}
	for _, d := range cases.Floats {
		uniform, normal := cases.Attrs("low", 1.5, "high", 1.5), cases.Attrs("mean", -2.0, "scale", 0.0)
		made := cases.Attrs("dtype", d.Code())
		fixed := append(cases.Attrs("shape", shape, "seed", 3.0), made...)
		s.Add(cases.Case{Op: "RandomUniform", Version: 1, Attrs: append(fixed[:len(fixed):len(fixed)], uniform...),
			Want: cases.Want(filled(d, 1.5))})
		s.Add(cases.Case{Op: "RandomNormal", Version: 1, Attrs: append(fixed[:len(fixed):len(fixed)], normal...),
			Want: cases.Want(filled(d, -2))})
		x := s.Any(d, shape...)
		s.Add(cases.Case{Op: "RandomUniformLike", Version: 1, Note: "type", Attrs: uniform, In: cases.In(x),
			Want: cases.Want(filled(d, 1.5))})
		s.Add(cases.Case{Op: "RandomNormalLike", Version: 1, Note: "type", Attrs: normal, In: cases.In(x),
			Want: cases.Want(filled(d, -2))})
		for _, from := range tensor.DTypes() {
			like := s.Any(from, shape...)
			s.Add(cases.Case{Op: "RandomUniformLike", Version: 1, Note: d.String(), Attrs: append(made[:1:1], uniform...),
				In: cases.In(like), Want: cases.Want(filled(d, 1.5))})
			s.Add(cases.Case{Op: "RandomNormalLike", Version: 1, Note: d.String(), Attrs: append(made[:1:1], normal...),
				In: cases.In(like), Want: cases.Want(filled(d, -2))})
		}
		bernoulliCases(s, d)
		multinomialCases(s, d)
	}
	s.Add(cases.Case{Op: "RandomUniform", Version: 1, Note: "negative", Attrs: cases.Attrs("shape", []int{-1}),
		Fails: graph.ErrFormat})
	s.Add(cases.Case{Op: "RandomUniform", Version: 1, Note: "integers",
		Attrs: cases.Attrs("shape", []int{1}, "dtype", tensor.I32.Code()), Fails: graph.ErrUnsupported})
	s.Add(cases.Case{Op: "RandomNormalLike", Version: 1, Note: "integers", In: cases.In(cases.Ints(1)),
		Fails: graph.ErrUnsupported})
}

func bernoulliCases(s *cases.Suite, d tensor.DType) {
	p := cases.Rounded(s.Between(d, 0, 1, 3, 5))
	s.Add(cases.Case{Op: "Bernoulli", Version: 15, In: cases.In(p), Want: cases.Want(p)})
	for _, to := range append([]tensor.DType{tensor.Bool}, cases.Numeric...) {
		s.Add(cases.Case{Op: "Bernoulli", Version: 15, Note: to.String(),
			Attrs: cases.Attrs("dtype", to.Code(), "seed", 1.0), In: cases.In(p), Want: cases.Want(cases.Narrow(to, p))})
	}
}

func multinomialCases(s *cases.Suite, d tensor.DType) {
	logs := tensor.New(d, 3, 4)
	for i := range logs.Len() {
		cases.SetNumber(logs, i, -1e4)
	}
	for row, outcome := range []int{2, 0, 3} {
		cases.SetNumber(logs, row*4+outcome, 5)
	}
	drawn := cases.Vector(tensor.I32, 2, 2, 0, 0, 3, 3)
	s.Add(cases.Case{Op: "Multinomial", Version: 7, Attrs: cases.Attrs("sample_size", 2), In: cases.In(logs),
		Want: cases.Want(cases.Seen(drawn, 3, 2))})
	s.Add(cases.Case{Op: "Multinomial", Version: 7, Note: "int64", Attrs: cases.Attrs("sample_size", 2, "dtype", tensor.I64.Code(), "seed", 1.0), In: cases.In(logs),
		Want: cases.Want(cases.Seen(cases.Narrow(tensor.I64, drawn), 3, 2))})
	s.Add(cases.Case{Op: "Multinomial", Version: 7, Note: "no outcome", In: cases.In(tensor.New(d, 1, 0)),
		Fails: graph.ErrShape})
}

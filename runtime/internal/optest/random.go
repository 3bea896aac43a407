package optest

import "github.com/nacre-ml/nacre/runtime/graph"

import "github.com/nacre-ml/nacre/runtime/tensor"

// randomCases are draws of which only one result is possible.
func randomCases(s *suite) {
	shape := []int{2, 3, 4}
	filled := func(d tensor.DType, v float64) *tensor.Tensor {
		y := tensor.New(d, shape...)
		for i := range y.Len() {
			setNumber(y, i, v)
		}
		return y
	}
	for _, d := range floats {
		uniform, normal := attrs("low", 1.5, "high", 1.5), attrs("mean", -2.0, "scale", 0.0)
		made := attrs("dtype", codes[d])
		fixed := append(attrs("shape", shape, "seed", 3.0), made...)
		s.add(Case{Op: "RandomUniform", Version: 1, Attrs: append(fixed[:len(fixed):len(fixed)], uniform...), Want: want(filled(d, 1.5))})
		s.add(Case{Op: "RandomNormal", Version: 1, Attrs: append(fixed[:len(fixed):len(fixed)], normal...), Want: want(filled(d, -2))})
		x := s.any(d, shape...)
		s.add(Case{Op: "RandomUniformLike", Version: 1, Note: "type", Attrs: uniform, In: in(x), Want: want(filled(d, 1.5))})
		s.add(Case{Op: "RandomNormalLike", Version: 1, Note: "type", Attrs: normal, In: in(x), Want: want(filled(d, -2))})
		for _, from := range tensor.DTypes() {
			like := s.any(from, shape...)
			s.add(Case{Op: "RandomUniformLike", Version: 1, Note: d.String(), Attrs: append(made[:1:1], uniform...), In: in(like), Want: want(filled(d, 1.5))})
			s.add(Case{Op: "RandomNormalLike", Version: 1, Note: d.String(), Attrs: append(made[:1:1], normal...), In: in(like), Want: want(filled(d, -2))})
		}
		bernoulliCases(s, d)
		multinomialCases(s, d)
	}
	s.add(Case{Op: "RandomUniform", Version: 1, Note: "negative", Attrs: attrs("shape", []int{-1}), Fails: graph.ErrFormat})
	s.add(Case{Op: "RandomUniform", Version: 1, Note: "integers", Attrs: attrs("shape", []int{1}, "dtype", codes[tensor.I32]), Fails: graph.ErrUnsupported})
	s.add(Case{Op: "RandomNormalLike", Version: 1, Note: "integers", In: in(ints(1)), Fails: graph.ErrUnsupported})
}

func bernoulliCases(s *suite, d tensor.DType) {
	p := rounded(s.between(d, 0, 1, 3, 5))
	s.add(Case{Op: "Bernoulli", Version: 15, In: in(p), Want: want(p)})
	for _, to := range append([]tensor.DType{tensor.Bool}, numeric...) {
		s.add(Case{Op: "Bernoulli", Version: 15, Note: to.String(), Attrs: attrs("dtype", codes[to], "seed", 1.0), In: in(p), Want: want(narrow(to, p))})
	}
}

func multinomialCases(s *suite, d tensor.DType) {
	logs := tensor.New(d, 3, 4)
	for i := range logs.Len() {
		setNumber(logs, i, -1e4)
	}
	for row, outcome := range []int{2, 0, 3} {
		setNumber(logs, row*4+outcome, 5)
	}
	drawn := vector(tensor.I32, 2, 2, 0, 0, 3, 3)
	s.add(Case{Op: "Multinomial", Version: 7, Attrs: attrs("sample_size", 2), In: in(logs), Want: want(seen(drawn, 3, 2))})
	s.add(Case{Op: "Multinomial", Version: 7, Note: "int64", Attrs: attrs("sample_size", 2, "dtype", codes[tensor.I64], "seed", 1.0), In: in(logs),
		Want: want(seen(narrow(tensor.I64, drawn), 3, 2))})
	s.add(Case{Op: "Multinomial", Version: 7, Note: "no outcome", In: in(tensor.New(d, 1, 0)), Fails: graph.ErrShape})
}

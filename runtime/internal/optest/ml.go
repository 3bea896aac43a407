package optest

import (
	"fmt"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

const mlDomain = "ai.onnx.ml"

var mlNumbers = []tensor.DType{tensor.F32, tensor.F64, tensor.I64, tensor.I32}

func mlCases(s *suite) {
	// Models are chosen with care for what they amplify: not by the place of the
	// family in the list.
	s.source = newSource(0x6d6c)
	for _, d := range mlNumbers {
		scalings(s, d)
		imputations(s, d)
		normalizations(s, d)
		vectorizations(s, d)
		categories(s, d)
		linearModels(s, d)
		svmModels(s, d)
	}
	categories(s, tensor.String)
	for _, d := range append(slices.Clone(mlNumbers), tensor.String) {
		extractions(s, d)
	}
	encodings(s)
	mappings(s)
	treeModels(s)
}

func (s *suite) ml(op string, version int, note string, list attrList, in, want []*tensor.Tensor) {
	s.add(Case{Domain: mlDomain, Op: op, Version: version, Note: note, Attrs: list, In: in, Want: want, Ulps: 4})
}

func (s *suite) mlFails(kind error, op string, version int, note string, list attrList, in []*tensor.Tensor) {
	s.add(Case{Domain: mlDomain, Op: op, Version: version, Note: note, Attrs: list, In: in, Fails: kind})
}

// mapped is a tensor whose elements f computes from those of x and their place
// along the last axis.
func mapped(d tensor.DType, x *tensor.Tensor, f func(v float64, k int) float64) *tensor.Tensor {
	y := tensor.New(d, x.Shape()...)
	n := 1
	if len(x.Shape()) > 0 {
		n = x.Shape()[len(x.Shape())-1]
	}
	for i := range x.Len() {
		setNumber(y, i, f(number(x, i), i%n))
	}
	return y
}

func scalings(s *suite, d tensor.DType) {
	for _, shape := range [][]int{{3, 5}, {5}, {2, 3, 5}, {0, 5}, {}} {
		x := s.any(d, shape...)
		for _, t := range []float64{-1, 0, 0.5, 1} {
			s.ml("Binarizer", 1, fmt.Sprint(t), attrs("threshold", t), in(x), want(mapped(d, x, func(v float64, _ int) float64 { return truth(v > t) })))
		}
		s.ml("Binarizer", 1, "default", nil, in(x), want(mapped(d, x, func(v float64, _ int) float64 { return truth(v > 0) })))
		s.ml("Scaler", 1, "once", attrs("offset", []float64{0.5}, "scale", []float64{-2}), in(x),
			want(mapped(tensor.F32, x, func(v float64, _ int) float64 { return (v - 0.5) * -2 })))
		s.ml("Scaler", 1, "nothing", nil, in(x), want(mapped(tensor.F32, x, func(v float64, _ int) float64 { return v })))
		if len(shape) == 0 {
			continue
		}
		offset, scale := []float64{0, 0.5, 1, -2, 3}, []float64{1, 2, 0.25, -1, 0}
		s.ml("Scaler", 1, "each", attrs("offset", offset, "scale", scale), in(x),
			want(mapped(tensor.F32, x, func(v float64, k int) float64 { return (v - offset[k]) * scale[k] })))
		s.ml("Scaler", 1, "offsets", attrs("offset", offset, "scale", []float64{2}), in(x),
			want(mapped(tensor.F32, x, func(v float64, k int) float64 { return (v - offset[k]) * 2 })))
		s.mlFails(graph.ErrShape, "Scaler", 1, "too many", attrs("scale", []float64{1, 2}), in(x))
	}
	if d == tensor.I64 {
		x := longs(math.MaxInt64, math.MinInt64, 1<<60+1, 1<<60)
		s.ml("Binarizer", 1, "large", attrs("threshold", 0x1p60), in(x), want(ints(1, 0, 1, 0)))
		s.ml("Binarizer", 1, "above all", attrs("threshold", 0x1p63), in(x), want(ints(0, 0, 0, 0)))
		s.ml("Binarizer", 1, "below all", attrs("threshold", -0x1p64), in(x), want(ints(1, 1, 1, 1)))
	}
	if !d.IsInteger() {
		x := vector(d, math.NaN(), math.Inf(1), math.Inf(-1))
		s.ml("Binarizer", 1, "odd", nil, in(x), want(vector(d, 0, 1, 0)))
	}
}

func imputations(s *suite, d tensor.DType) {
	name, old := "imputed_value_floats", "replaced_value_float"
	values := func(list ...int) any {
		out := make([]float64, len(list))
		for i, v := range list {
			out[i] = float64(v)
		}
		return out
	}
	var one any = 1.0
	if d.IsInteger() {
		name, old = "imputed_value_int64s", "replaced_value_int64"
		values = func(list ...int) any { return list }
		one = 1
	}
	for _, shape := range [][]int{{4, 3}, {3}, {2, 2, 3}, {0, 3}} {
		x := rounded(s.any(d, shape...))
		replaced := func(by ...float64) *tensor.Tensor {
			return mapped(d, x, func(v float64, k int) float64 {
				if v == 1 {
					return by[k]
				}
				return v
			})
		}
		s.ml("Imputer", 1, "once", attrs(name, values(7), old, one), in(x), want(replaced(7, 7, 7)))
		s.ml("Imputer", 1, "each", attrs(name, values(7, 8, 9), old, one), in(x), want(replaced(7, 8, 9)))
		s.mlFails(graph.ErrShape, "Imputer", 1, "two", attrs(name, values(7, 8), old, one), in(x))
	}
	s.mlFails(graph.ErrFormat, "Imputer", 1, "none", attrs(old, one), in(s.any(d, 2)))
	if d.IsInteger() {
		s.mlFails(graph.ErrShape, "Imputer", 1, "floats", attrs("imputed_value_floats", []float64{1}), in(s.any(d, 2)))
		return
	}
	x := vector(d, math.NaN(), 0, 2)
	s.ml("Imputer", 1, "zero", attrs(name, values(7)), in(x), want(vector(d, math.NaN(), 7, 2)))
	s.ml("Imputer", 1, "nan", attrs(name, values(7, 8, 9), old, math.NaN()), in(x), want(vector(d, 7, 0, 2)))
}

func normalizations(s *suite, d tensor.DType) {
	for _, shape := range [][]int{{4, 5}, {5}, {0, 5}, {3, 0}} {
		x := s.any(d, shape...)
		if x.Len() == 20 {
			for i := range 5 {
				setNumber(x, i, 0)
			}
		}
		for norm, f := range map[string]func(list []float64) float64{
			"MAX": slices.Max[[]float64],
			"L1": func(list []float64) (sum float64) {
				for _, v := range list {
					sum += math.Abs(v)
				}
				return sum
			},
			"L2": func(list []float64) (sum float64) {
				for _, v := range list {
					sum += v * v
				}
				return math.Sqrt(sum)
			},
		} {
			y := tensor.New(tensor.F32, shape...)
			for r := 0; r < x.Len(); r += 5 {
				row := numbers(x)[r : r+5]
				by := f(row)
				if by == 0 {
					by = 1
				}
				for i, v := range row {
					setNumber(y, r+i, v/by)
				}
			}
			s.ml("Normalizer", 1, norm, attrs("norm", norm), in(x), want(y))
		}
	}
	s.mlFails(graph.ErrShape, "Normalizer", 1, "cube", nil, in(s.any(d, 2, 2, 2)))
	s.mlFails(graph.ErrFormat, "Normalizer", 1, "norm", attrs("norm", "L3"), in(s.any(d, 2, 2)))
}

func vectorizations(s *suite, d tensor.DType) {
	a, b, c := s.any(d, 3, 2), s.any(d, 3, 4), s.any(d, 3, 2, 2)
	y := filled(tensor.F32, func(at []int) float64 {
		switch r, k := at[0], at[1]; {
		case k < 2:
			return number(a, r*2+k)
		case k < 5:
			return number(b, r*4+k-2)
		case k < 9:
			return number(c, r*4+k-5)
		}
		return 0
	}, 3, 11)
	s.ml("FeatureVectorizer", 1, "cut and filled", attrs("inputdimensions", []int{2, 3, 6}), in(a, b, c), want(y))
	v := s.any(d, 4)
	s.ml("FeatureVectorizer", 1, "vectors", attrs("inputdimensions", []int{3, 1}), in(v, v),
		want(fromNumbers(tensor.F32, append(numbers(v)[:3:3], number(v, 0)), 1, 4)))
	s.mlFails(graph.ErrShape, "FeatureVectorizer", 1, "samples", attrs("inputdimensions", []int{2, 4}), in(a, s.any(d, 2, 4)))
	s.mlFails(graph.ErrFormat, "FeatureVectorizer", 1, "sizes", attrs("inputdimensions", []int{2}), in(a, b))
	s.mlFails(graph.ErrFormat, "FeatureVectorizer", 1, "negative", attrs("inputdimensions", []int{2, -4}), in(a, b))
}

func categories(s *suite, d tensor.DType) {
	name, of := "cats_int64s", func(t *tensor.Tensor, i int) any { return int(math.Trunc(number(t, i))) }
	list, known := any([]int{-1, 2, 0, 2}), []any{-1, 2, 0, 2}
	if d == tensor.String {
		name, of = "cats_strings", func(t *tensor.Tensor, i int) any { return t.Strings()[i] }
		list, known = []string{"s1", "s2", "s0", "s2"}, []any{"s1", "s2", "s0", "s2"}
	}
	for _, shape := range [][]int{{3, 5}, {5}, {}, {2, 0}, {2, 3, 2}} {
		x := s.between(d, -2, 3, shape...)
		if d == tensor.String {
			x = pickText(s, shape)
		}
		y := tensor.New(tensor.F32, append(slices.Clone(shape), 4)...)
		lacking := false
		for i := range x.Len() {
			k := -1
			for j, v := range known {
				if v == of(x, i) {
					k = j
				}
			}
			if lacking = lacking || k < 0; k >= 0 {
				setNumber(y, 4*i+k, 1)
			}
		}
		s.ml("OneHotEncoder", 1, "", attrs(name, list), in(x), want(y))
		if lacking {
			s.mlFails(graph.ErrShape, "OneHotEncoder", 1, "strict", attrs(name, list, "zeros", 0), in(x))
		} else {
			s.ml("OneHotEncoder", 1, "strict", attrs(name, list, "zeros", 0), in(x), want(y))
		}
	}
	if d == tensor.F32 || d == tensor.F64 {
		s.ml("OneHotEncoder", 1, "odd", attrs("cats_int64s", []int64{0, math.MinInt64}), in(vector(d, math.NaN(), math.Inf(1), -0x1p70, -0.5)),
			want(fromNumbers(tensor.F32, []float64{0, 0, 0, 0, 0, 0, 1, 0}, 4, 2)))
	}
	other := "cats_strings"
	if d == tensor.String {
		s.mlFails(graph.ErrShape, "OneHotEncoder", 1, "numbers", attrs("cats_int64s", []int{1}), in(pickText(s, []int{2})))
		other = name
	}
	s.mlFails(graph.ErrFormat, "OneHotEncoder", 1, "both", attrs("cats_int64s", []int{1}, other, []string{"a"}), in(tensor.New(d, 1)))
	s.mlFails(graph.ErrFormat, "OneHotEncoder", 1, "none", nil, in(tensor.New(d, 1)))
}

// pickText is a tensor of the strings s0 to s4.
func pickText(s *suite, shape []int) *tensor.Tensor {
	x := tensor.New(tensor.String, shape...)
	for i := range x.Strings() {
		x.Strings()[i] = fmt.Sprint("s", s.IntN(5))
	}
	return x
}

func extractions(s *suite, d tensor.DType) {
	for _, c := range []struct{ shape, index, out []int }{
		{[]int{3, 4}, []int{3, 0, 3}, []int{3, 3}},
		{[]int{4}, []int{2, 1}, []int{1, 2}},
		{[]int{2, 3, 4}, []int{0}, []int{2, 3, 1}},
		{[]int{0, 4}, []int{0, 1}, []int{0, 2}},
		{[]int{2, 4}, []int{}, []int{2, 0}},
		{[]int{2, 0}, []int{}, []int{2, 0}},
	} {
		x := s.any(d, c.shape...)
		last := c.shape[len(c.shape)-1]
		y := pick(x, c.out, func(at []int) []int {
			if len(c.shape) == 1 {
				return []int{c.index[at[1]]}
			}
			return with(at, len(at)-1, c.index[at[len(at)-1]])
		})
		s.ml("ArrayFeatureExtractor", 1, fmt.Sprint(c.index), nil, in(x, ints(c.index...)), want(y))
		s.mlFails(graph.ErrShape, "ArrayFeatureExtractor", 1, "outside", nil, in(x, ints(last)))
		s.mlFails(graph.ErrShape, "ArrayFeatureExtractor", 1, "negative", nil, in(x, ints(-1)))
	}
	x := s.any(d, 2, 4)
	y := pick(x, []int{2, 4}, func(at []int) []int { return with(at, 1, []int{1, 2, 3, 0}[at[1]]) })
	s.ml("ArrayFeatureExtractor", 1, "matrix of indices", nil, in(x, seen(ints(1, 2, 3, 0), 2, 2)), want(y))
	s.mlFails(graph.ErrShape, "ArrayFeatureExtractor", 1, "scalar", nil, in(tensor.New(d), ints(0)))
}

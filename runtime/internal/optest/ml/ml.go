package ml

import (
	"fmt"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

const domain = "ai.onnx.ml"

var numberTypes = []tensor.DType{tensor.F32, tensor.F64, tensor.I64, tensor.I32}

func mlCases(s *cases.Suite) {
	for _, d := range numberTypes {
		scalings(s, d)
		imputations(s, d)
		normalizations(s, d)
		vectorizations(s, d)
		categories(s, d)
		linearModels(s, d)
		svmModels(s, d)
	}
	categories(s, tensor.String)
	for _, d := range append(slices.Clone(numberTypes), tensor.String) {
		extractions(s, d)
	}
	encodings(s)
	mappings(s)
	treeModels(s)
}

func addCase(s *cases.Suite, op string, version int, note string, list cases.AttrList, in, want []*tensor.Tensor) {
	s.Add(cases.Case{Domain: domain, Op: op, Version: version, Note: note, Attrs: list, In: in, Want: want, Ulps: 4})
}

func addFailure(
	s *cases.Suite, kind error, op string, version int, note string, list cases.AttrList, in []*tensor.Tensor,
) {
	s.Add(cases.Case{Domain: domain, Op: op, Version: version, Note: note, Attrs: list, In: in, Fails: kind})
}

// mapped returns a tensor of f of each element of x and its index along the last axis.
func mapped(d tensor.DType, x *tensor.Tensor, f func(v float64, k int) float64) *tensor.Tensor {
	y := tensor.New(d, x.Shape()...)
	n := 1
	if len(x.Shape()) > 0 {
		n = x.Shape()[len(x.Shape())-1]
	}
	for i := range x.Len() {
		cases.SetNumber(y, i, f(cases.Number(x, i), i%n))
	}
	return y
}

func scalings(s *cases.Suite, d tensor.DType) {
	for _, shape := range [][]int{{3, 5}, {5}, {2, 3, 5}, {0, 5}, {}} {
		x := s.Any(d, shape...)
		for _, t := range []float64{-1, 0, 0.5, 1} {
			addCase(s, "Binarizer", 1, fmt.Sprint(t), cases.Attrs("threshold", t), cases.In(x),
				cases.Want(mapped(d, x, func(v float64, _ int) float64 { return cases.Truth(v > t) })))
		}
		addCase(s, "Binarizer", 1, "default", nil, cases.In(x),
			cases.Want(mapped(d, x, func(v float64, _ int) float64 { return cases.Truth(v > 0) })))
		addCase(s, "Scaler", 1, "once", cases.Attrs("offset", []float64{0.5}, "scale", []float64{-2}), cases.In(x),
			cases.Want(mapped(tensor.F32, x, func(v float64, _ int) float64 { return (v - 0.5) * -2 })))
		addCase(s, "Scaler", 1, "nothing", nil, cases.In(x),
			cases.Want(mapped(tensor.F32, x, func(v float64, _ int) float64 { return v })))
		if len(shape) == 0 {
			continue
		}
		offset, scale := []float64{0, 0.5, 1, -2, 3}, []float64{1, 2, 0.25, -1, 0}
		addCase(s, "Scaler", 1, "each", cases.Attrs("offset", offset, "scale", scale), cases.In(x),
			cases.Want(mapped(tensor.F32, x, func(v float64, k int) float64 { return (v - offset[k]) * scale[k] })))
		addCase(s, "Scaler", 1, "offsets", cases.Attrs("offset", offset, "scale", []float64{2}), cases.In(x),
			cases.Want(mapped(tensor.F32, x, func(v float64, k int) float64 { return (v - offset[k]) * 2 })))
		addFailure(s, graph.ErrShape, "Scaler", 1, "too many", cases.Attrs("scale", []float64{1, 2}), cases.In(x))
	}
	if d == tensor.I64 {
		x := cases.Longs(math.MaxInt64, math.MinInt64, 1<<60+1, 1<<60)
		addCase(s, "Binarizer", 1, "large", cases.Attrs("threshold", 0x1p60), cases.In(x), cases.Want(cases.Ints(1, 0, 1, 0)))
		addCase(s, "Binarizer", 1, "above all", cases.Attrs("threshold", 0x1p63), cases.In(x),
			cases.Want(cases.Ints(0, 0, 0, 0)))
		addCase(s, "Binarizer", 1, "below all", cases.Attrs("threshold", -0x1p64), cases.In(x),
			cases.Want(cases.Ints(1, 1, 1, 1)))
	}
	if !d.IsInteger() {
		x := cases.Vector(d, math.NaN(), math.Inf(1), math.Inf(-1))
		addCase(s, "Binarizer", 1, "odd", nil, cases.In(x), cases.Want(cases.Vector(d, 0, 1, 0)))
	}
}

func imputations(s *cases.Suite, d tensor.DType) {
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
		x := cases.Rounded(s.Any(d, shape...))
		replaced := func(by ...float64) *tensor.Tensor {
			return mapped(d, x, func(v float64, k int) float64 {
				if v == 1 {
					return by[k]
				}
				return v
			})
		}
		addCase(s, "Imputer", 1, "once", cases.Attrs(name, values(7), old, one), cases.In(x), cases.Want(replaced(7, 7, 7)))
		addCase(s, "Imputer", 1, "each", cases.Attrs(name, values(7, 8, 9), old, one), cases.In(x),
			cases.Want(replaced(7, 8, 9)))
		addFailure(s, graph.ErrShape, "Imputer", 1, "two", cases.Attrs(name, values(7, 8), old, one), cases.In(x))
	}
	addFailure(s, graph.ErrFormat, "Imputer", 1, "none", cases.Attrs(old, one), cases.In(s.Any(d, 2)))
	if d.IsInteger() {
		addFailure(s, graph.ErrShape, "Imputer", 1, "floats", cases.Attrs("imputed_value_floats", []float64{1}),
			cases.In(s.Any(d, 2)))
		return
	}
	x := cases.Vector(d, math.NaN(), 0, 2)
	addCase(s, "Imputer", 1, "zero", cases.Attrs(name, values(7)), cases.In(x),
		cases.Want(cases.Vector(d, math.NaN(), 7, 2)))
	addCase(s, "Imputer", 1, "nan", cases.Attrs(name, values(7, 8, 9), old, math.NaN()), cases.In(x),
		cases.Want(cases.Vector(d, 7, 0, 2)))
}

func normalizations(s *cases.Suite, d tensor.DType) {
	for _, shape := range [][]int{{4, 5}, {5}, {0, 5}, {3, 0}} {
		x := s.Any(d, shape...)
		if x.Len() == 20 {
			for i := range 5 {
				cases.SetNumber(x, i, 0)
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
				row := cases.Numbers(x)[r : r+5]
				by := f(row)
				if by == 0 {
					by = 1
				}
				for i, v := range row {
					cases.SetNumber(y, r+i, v/by)
				}
			}
			addCase(s, "Normalizer", 1, norm, cases.Attrs("norm", norm), cases.In(x), cases.Want(y))
		}
	}
	addFailure(s, graph.ErrShape, "Normalizer", 1, "cube", nil, cases.In(s.Any(d, 2, 2, 2)))
	addFailure(s, graph.ErrFormat, "Normalizer", 1, "norm", cases.Attrs("norm", "L3"), cases.In(s.Any(d, 2, 2)))
}

func vectorizations(s *cases.Suite, d tensor.DType) {
	a, b, c := s.Any(d, 3, 2), s.Any(d, 3, 4), s.Any(d, 3, 2, 2)
	y := cases.Filled(tensor.F32, func(at []int) float64 {
		switch r, k := at[0], at[1]; {
		case k < 2:
			return cases.Number(a, r*2+k)
		case k < 5:
			return cases.Number(b, r*4+k-2)
		case k < 9:
			return cases.Number(c, r*4+k-5)
		}
		return 0
	}, 3, 11)
	addCase(s, "FeatureVectorizer", 1, "cut and filled", cases.Attrs("inputdimensions", []int{2, 3, 6}),
		cases.In(a, b, c), cases.Want(y))
	v := s.Any(d, 4)
	addCase(s, "FeatureVectorizer", 1, "vectors", cases.Attrs("inputdimensions", []int{3, 1}), cases.In(v, v),
		cases.Want(cases.FromNumbers(tensor.F32, append(cases.Numbers(v)[:3:3], cases.Number(v, 0)), 1, 4)))
	addFailure(s, graph.ErrShape, "FeatureVectorizer", 1, "samples", cases.Attrs("inputdimensions", []int{2, 4}),
		cases.In(a, s.Any(d, 2, 4)))
	addFailure(s, graph.ErrFormat, "FeatureVectorizer", 1, "sizes", cases.Attrs("inputdimensions", []int{2}),
		cases.In(a, b))
	addFailure(s, graph.ErrFormat, "FeatureVectorizer", 1, "negative", cases.Attrs("inputdimensions", []int{2, -4}),
		cases.In(a, b))
}

func categories(s *cases.Suite, d tensor.DType) {
	name, of := "cats_int64s", func(t *tensor.Tensor, i int) any { return int(math.Trunc(cases.Number(t, i))) }
	list, known := any([]int{-1, 2, 0, 2}), []any{-1, 2, 0, 2}
	if d == tensor.String {
		name, of = "cats_strings", func(t *tensor.Tensor, i int) any { return t.Strings()[i] }
		list, known = []string{"s1", "s2", "s0", "s2"}, []any{"s1", "s2", "s0", "s2"}
	}
	for _, shape := range [][]int{{3, 5}, {5}, {}, {2, 0}, {2, 3, 2}} {
		x := s.Between(d, -2, 3, shape...)
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
				cases.SetNumber(y, 4*i+k, 1)
			}
		}
		addCase(s, "OneHotEncoder", 1, "", cases.Attrs(name, list), cases.In(x), cases.Want(y))
		if lacking {
			addFailure(s, graph.ErrShape, "OneHotEncoder", 1, "strict", cases.Attrs(name, list, "zeros", 0), cases.In(x))
		} else {
			addCase(s, "OneHotEncoder", 1, "strict", cases.Attrs(name, list, "zeros", 0), cases.In(x), cases.Want(y))
		}
	}
	if d == tensor.F32 || d == tensor.F64 {
		addCase(s, "OneHotEncoder", 1, "odd", cases.Attrs("cats_int64s", []int64{0, math.MinInt64}), cases.In(cases.Vector(d, math.NaN(), math.Inf(1), -0x1p70, -0.5)),
			cases.Want(cases.FromNumbers(tensor.F32, []float64{0, 0, 0, 0, 0, 0, 1, 0}, 4, 2)))
	}
	other := "cats_strings"
	if d == tensor.String {
		addFailure(s, graph.ErrShape, "OneHotEncoder", 1, "numbers", cases.Attrs("cats_int64s", []int{1}),
			cases.In(pickText(s, []int{2})))
		other = name
	}
	addFailure(s, graph.ErrFormat, "OneHotEncoder", 1, "both",
		cases.Attrs("cats_int64s", []int{1}, other, []string{"a"}), cases.In(tensor.New(d, 1)))
	addFailure(s, graph.ErrFormat, "OneHotEncoder", 1, "none", nil, cases.In(tensor.New(d, 1)))
}

// pickText returns a tensor of the strings s0 to s4.
func pickText(s *cases.Suite, shape []int) *tensor.Tensor {
	x := tensor.New(tensor.String, shape...)
	for i := range x.Strings() {
		x.Strings()[i] = fmt.Sprint("s", s.IntN(5))
	}
	return x
}

func extractions(s *cases.Suite, d tensor.DType) {
	for _, c := range []struct{ shape, index, out []int }{
		{[]int{3, 4}, []int{3, 0, 3}, []int{3, 3}},
		{[]int{4}, []int{2, 1}, []int{1, 2}},
		{[]int{2, 3, 4}, []int{0}, []int{2, 3, 1}},
		{[]int{0, 4}, []int{0, 1}, []int{0, 2}},
		{[]int{2, 4}, []int{}, []int{2, 0}},
		{[]int{2, 0}, []int{}, []int{2, 0}},
	} {
		x := s.Any(d, c.shape...)
		last := c.shape[len(c.shape)-1]
		y := cases.Pick(x, c.out, func(at []int) []int {
			if len(c.shape) == 1 {
				return []int{c.index[at[1]]}
			}
			return cases.With(at, len(at)-1, c.index[at[len(at)-1]])
		})
		addCase(s, "ArrayFeatureExtractor", 1, fmt.Sprint(c.index), nil, cases.In(x, cases.Ints(c.index...)), cases.Want(y))
		addFailure(s, graph.ErrShape, "ArrayFeatureExtractor", 1, "outside", nil, cases.In(x, cases.Ints(last)))
		addFailure(s, graph.ErrShape, "ArrayFeatureExtractor", 1, "negative", nil, cases.In(x, cases.Ints(-1)))
	}
	x := s.Any(d, 2, 4)
	y := cases.Pick(x, []int{2, 4}, func(at []int) []int { return cases.With(at, 1, []int{1, 2, 3, 0}[at[1]]) })
	addCase(s, "ArrayFeatureExtractor", 1, "matrix of indices", nil,
		cases.In(x, cases.Seen(cases.Ints(1, 2, 3, 0), 2, 2)), cases.Want(y))
	addFailure(s, graph.ErrShape, "ArrayFeatureExtractor", 1, "scalar", nil, cases.In(tensor.New(d), cases.Ints(0)))
}

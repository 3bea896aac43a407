package optest

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func texts(list ...string) *tensor.Tensor {
	t, err := tensor.FromStrings(list, len(list))
	if err != nil {
		panic(err)
	}
	return t
}

// mappings are tables between strings and integers in both directions.
func mappings(s *suite) {
	cats := attrs("cats_strings", []string{"a", "b", "a", ""}, "cats_int64s", []int{3, -5, 9, 3})
	s.ml("CategoryMapper", 1, "to numbers", cats, in(seen(texts("b", "a", "c", ""), 2, 2)), want(seen(ints(-5, 9, -1, 3), 2, 2)))
	s.ml("CategoryMapper", 1, "to texts", cats, in(ints(3, -5, 4)), want(texts("", "b", "_Unused")))
	defaults := append(cats, attrs("default_int64", 77, "default_string", "none")...)
	s.ml("CategoryMapper", 1, "default number", defaults, in(texts("c")), want(ints(77)))
	s.ml("CategoryMapper", 1, "default text", defaults, in(ints(4)), want(texts("none")))
	s.ml("CategoryMapper", 1, "empty", cats, in(tensor.New(tensor.I64, 0, 3)), want(tensor.New(tensor.String, 0, 3)))
	s.mlFails(graph.ErrFormat, "CategoryMapper", 1, "unequal", attrs("cats_strings", []string{"a"}, "cats_int64s", []int{1, 2}), in(ints(1)))

	classes := attrs("classes_strings", []string{"a", "b", "a"})
	first := func(note string, list attrList, in, want []*tensor.Tensor) {
		s.add(Case{Domain: mlDomain, Op: "LabelEncoder", Version: 1, Until: 2, Note: note, Attrs: list, In: in, Want: want})
	}
	first("to numbers", classes, in(texts("b", "a", "c")), want(ints(1, 2, -1)))
	first("to texts", classes, in(ints(2, 1, 3, -1)), want(texts("a", "b", "_Unused", "_Unused")))
	first("defaults", append(classes, attrs("default_int64", 5, "default_string", "x")...), in(ints(9)), want(texts("x")))
}

// encodings are LabelEncoder in every pair of types.
func encodings(s *suite) {
	lists := map[string]any{
		"strings": []string{"a", "b", "c"},
		"int64s":  []int{4, 0, -7},
		"floats":  []float64{0.5, 0, -7},
	}
	defaults := map[string]any{"strings": "none", "int64s": 12, "floats": 1.25}
	values := func(kind string, places ...int) *tensor.Tensor {
		switch list := lists[kind].(type) {
		case []string:
			out := make([]string, len(places))
			for i, p := range places {
				out[i] = append(list[:3:3], "_Unused", "none")[p]
			}
			return texts(out...)
		case []int:
			out := make([]int, len(places))
			for i, p := range places {
				out[i] = append(list[:3:3], -1, 12)[p]
			}
			return ints(out...)
		case []float64:
			out := make([]float64, len(places))
			for i, p := range places {
				out[i] = append(list[:3:3], math.Copysign(0, -1), 1.25)[p]
			}
			return vector(tensor.F32, out...)
		}
		panic(kind)
	}
	inputs := map[string]*tensor.Tensor{
		"strings": texts("c", "a", "q", "", "b"), "int64s": ints(-7, 4, 5, 1, 0), "floats": vector(tensor.F32, -7, 0.5, 4, math.NaN(), math.Copysign(0, -1)),
	}
	for key := range lists {
		for value := range lists {
			list := attrs("keys_"+key, lists[key], "values_"+value, lists[value])
			s.ml("LabelEncoder", 2, "", list, in(inputs[key]), want(values(value, 2, 0, 3, 3, 1)))
			name := "default_" + value[:len(value)-1]
			s.ml("LabelEncoder", 2, "default", append(list, attrs(name, defaults[value])...), in(inputs[key]), want(values(value, 2, 0, 4, 4, 1)))
		}
	}
	again := attrs("keys_int64s", []int{1, 1}, "values_int64s", []int{2, 3})
	s.add(Case{Domain: mlDomain, Op: "LabelEncoder", Version: 2, Until: 4, Note: "the first", Attrs: again, In: in(ints(1)), Want: want(ints(2))})
	s.ml("LabelEncoder", 4, "the last", again, in(ints(1)), want(ints(3)))
	s.ml("LabelEncoder", 2, "nan", attrs("keys_floats", []float64{math.NaN(), 0}, "values_int64s", []int{2, 3}), in(vector(tensor.F32, 0, math.NaN(), 1)), want(ints(3, 2, -1)))
	numeric := []tensor.DType{tensor.F32, tensor.F64, tensor.I64, tensor.I32, tensor.I16}
	for _, d := range numeric {
		for _, e := range numeric {
			list := attrs("keys_tensor", vector(d, 1, -2, 5), "values_tensor", vector(e, 7, 8, 9))
			x := fromNumbers(d, []float64{5, 1, 0, -2, 2, 3}, 2, 3)
			s.ml("LabelEncoder", 4, "tensors", append(list, attrs("default_tensor", vector(e, 3))...), in(x), want(fromNumbers(e, []float64{9, 7, 3, 8, 3, 3}, 2, 3)))
			other := -1.0
			if !e.IsInteger() {
				other = math.Copysign(0, -1)
			}
			s.ml("LabelEncoder", 4, "tensors without default", list, in(x), want(fromNumbers(e, []float64{9, 7, other, 8, other, other}, 2, 3)))
			if d != e {
				s.mlFails(graph.ErrShape, "LabelEncoder", 4, "another type", list, in(fromNumbers(e, []float64{1}, 1)))
			}
		}
		if d != tensor.I64 {
			s.mlFails(graph.ErrFormat, "LabelEncoder", 4, "default of another type", attrs("keys_int64s", []int{1}, "values_tensor", vector(d, 1), "default_tensor", ints(1)), in(ints(1)))
		}
	}
	s.ml("LabelEncoder", 4, "texts", attrs("keys_tensor", texts("a"), "values_tensor", texts("b"), "default_tensor", texts("c")), in(texts("a", "x")), want(texts("b", "c")))
	s.mlFails(graph.ErrFormat, "LabelEncoder", 2, "two keys", attrs("keys_int64s", []int{1}, "keys_strings", []string{"a"}, "values_int64s", []int{1}), in(ints(1)))
	s.mlFails(graph.ErrFormat, "LabelEncoder", 2, "no values", attrs("keys_int64s", []int{1}), in(ints(1)))
	s.mlFails(graph.ErrFormat, "LabelEncoder", 2, "unequal", attrs("keys_int64s", []int{1}, "values_int64s", []int{1, 2}), in(ints(1)))
	s.mlFails(graph.ErrUnsupported, "LabelEncoder", 4, "bool", attrs("keys_tensor", tensor.New(tensor.Bool, 2), "values_int64s", []int{1, 2}), in(tensor.New(tensor.Bool, 1)))
}

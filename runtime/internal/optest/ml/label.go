package ml

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func texts(list ...string) *tensor.Tensor {
	t, err := tensor.FromStrings(list, len(list))
	if err != nil {
		panic(err)
	}
	return t
}

// mappings adds tables between strings and integers in both directions.
func mappings(s *cases.Suite) {
	cats := cases.Attrs("cats_strings", []string{"a", "b", "a", ""}, "cats_int64s", []int{3, -5, 9, 3})
	addCase(s, "CategoryMapper", 1, "to numbers", cats, cases.In(cases.Seen(texts("b", "a", "c", ""), 2, 2)),
		cases.Want(cases.Seen(cases.Ints(-5, 9, -1, 3), 2, 2)))
	addCase(s, "CategoryMapper", 1, "to texts", cats, cases.In(cases.Ints(3, -5, 4)),
		cases.Want(texts("", "b", "_Unused")))
	defaults := append(cats, cases.Attrs("default_int64", 77, "default_string", "none")...)
	addCase(s, "CategoryMapper", 1, "default number", defaults, cases.In(texts("c")), cases.Want(cases.Ints(77)))
	addCase(s, "CategoryMapper", 1, "default text", defaults, cases.In(cases.Ints(4)), cases.Want(texts("none")))
	addCase(s, "CategoryMapper", 1, "empty", cats, cases.In(tensor.New(tensor.I64, 0, 3)),
		cases.Want(tensor.New(tensor.String, 0, 3)))
	addFailure(s, graph.ErrFormat, "CategoryMapper", 1, "unequal",
		cases.Attrs("cats_strings", []string{"a"}, "cats_int64s", []int{1, 2}), cases.In(cases.Ints(1)))

	classes := cases.Attrs("classes_strings", []string{"a", "b", "a"})
	first := func(note string, list cases.AttrList, in, want []*tensor.Tensor) {
		s.Add(cases.Case{Domain: domain, Op: "LabelEncoder", Version: 1, Until: 2, Note: note, Attrs: list, In: in,
			Want: want})
	}
	first("to numbers", classes, cases.In(texts("b", "a", "c")), cases.Want(cases.Ints(1, 2, -1)))
	first("to texts", classes, cases.In(cases.Ints(2, 1, 3, -1)), cases.Want(texts("a", "b", "_Unused", "_Unused")))
	first("defaults", append(classes, cases.Attrs("default_int64", 5, "default_string", "x")...),
		cases.In(cases.Ints(9)), cases.Want(texts("x")))
}

// encodings adds LabelEncoder for every pair of types.
func encodings(s *cases.Suite) {
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
			return cases.Ints(out...)
		case []float64:
			out := make([]float64, len(places))
			for i, p := range places {
				out[i] = append(list[:3:3], math.Copysign(0, -1), 1.25)[p]
			}
			return cases.Vector(tensor.F32, out...)
		}
		panic(kind)
	}
	inputs := map[string]*tensor.Tensor{
		"strings": texts("c", "a", "q", "", "b"), "int64s": cases.Ints(-7, 4, 5, 1, 0), "floats": cases.Vector(tensor.F32, -7, 0.5, 4, math.NaN(), math.Copysign(0, -1)),
	}
	for key := range lists {
		for value := range lists {
			list := cases.Attrs("keys_"+key, lists[key], "values_"+value, lists[value])
			addCase(s, "LabelEncoder", 2, "", list, cases.In(inputs[key]), cases.Want(values(value, 2, 0, 3, 3, 1)))
			name := "default_" + value[:len(value)-1]
			addCase(s, "LabelEncoder", 2, "default", append(list, cases.Attrs(name, defaults[value])...),
				cases.In(inputs[key]), cases.Want(values(value, 2, 0, 4, 4, 1)))
		}
	}
	again := cases.Attrs("keys_int64s", []int{1, 1}, "values_int64s", []int{2, 3})
	s.Add(cases.Case{Domain: domain, Op: "LabelEncoder", Version: 2, Until: 4, Note: "the first", Attrs: again,
		In: cases.In(cases.Ints(1)), Want: cases.Want(cases.Ints(2))})
	addCase(s, "LabelEncoder", 4, "the last", again, cases.In(cases.Ints(1)), cases.Want(cases.Ints(3)))
	addCase(s, "LabelEncoder", 2, "nan", cases.Attrs("keys_floats", []float64{math.NaN(), 0}, "values_int64s",
		[]int{2, 3}), cases.In(cases.Vector(tensor.F32, 0, math.NaN(), 1)), cases.Want(cases.Ints(3, 2, -1)))
	numeric := []tensor.DType{tensor.F32, tensor.F64, tensor.I64, tensor.I32, tensor.I16}
	for _, d := range numeric {
		for _, e := range numeric {
			list := cases.Attrs("keys_tensor", cases.Vector(d, 1, -2, 5), "values_tensor", cases.Vector(e, 7, 8, 9))
			x := cases.FromNumbers(d, []float64{5, 1, 0, -2, 2, 3}, 2, 3)
			addCase(s, "LabelEncoder", 4, "tensors", append(list, cases.Attrs("default_tensor", cases.Vector(e, 3))...),
				cases.In(x), cases.Want(cases.FromNumbers(e, []float64{9, 7, 3, 8, 3, 3}, 2, 3)))
			other := -1.0
			if !e.IsInteger() {
				other = math.Copysign(0, -1)
			}
			addCase(s, "LabelEncoder", 4, "tensors without default", list, cases.In(x),
				cases.Want(cases.FromNumbers(e, []float64{9, 7, other, 8, other, other}, 2, 3)))
			if d != e {
				addFailure(s, graph.ErrShape, "LabelEncoder", 4, "another type", list,
					cases.In(cases.FromNumbers(e, []float64{1}, 1)))
			}
		}
		if d != tensor.I64 {
			addFailure(s, graph.ErrFormat, "LabelEncoder", 4, "default of another type", cases.Attrs("keys_int64s", []int{1},
				"values_tensor", cases.Vector(d, 1), "default_tensor", cases.Ints(1)), cases.In(cases.Ints(1)))
		}
	}
	addCase(s, "LabelEncoder", 4, "texts", cases.Attrs("keys_tensor", texts("a"), "values_tensor", texts("b"),
		"default_tensor", texts("c")), cases.In(texts("a", "x")), cases.Want(texts("b", "c")))
	addFailure(s, graph.ErrFormat, "LabelEncoder", 2, "two keys", cases.Attrs("keys_int64s", []int{1}, "keys_strings",
		[]string{"a"}, "values_int64s", []int{1}), cases.In(cases.Ints(1)))
	addFailure(s, graph.ErrFormat, "LabelEncoder", 2, "no values", cases.Attrs("keys_int64s", []int{1}),
		cases.In(cases.Ints(1)))
	addFailure(s, graph.ErrFormat, "LabelEncoder", 2, "unequal",
		cases.Attrs("keys_int64s", []int{1}, "values_int64s", []int{1, 2}), cases.In(cases.Ints(1)))
	addFailure(s, graph.ErrUnsupported, "LabelEncoder", 4, "bool", cases.Attrs("keys_tensor", tensor.New(tensor.Bool, 2),
		"values_int64s", []int{1, 2}), cases.In(tensor.New(tensor.Bool, 1)))
}

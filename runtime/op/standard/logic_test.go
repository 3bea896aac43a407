package standard_test

import (
	"math"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func bools(v ...bool) *tensor.Tensor { return from(v, len(v)) }

func texts(v ...string) *tensor.Tensor {
	t, err := tensor.FromStrings(v, len(v))
	if err != nil {
		panic(err)
	}
	return t
}

func TestLogic(t *testing.T) {
	a, b := f32s(1, 2, float32(nan)), f32s(2, 2, float32(nan))
	three, four := tensor.Shape{3}, tensor.Shape{4}
	x, y := bools(false, false, true, true), bools(false, true, false, true)
	minus := math.Inf(-1)
	infinite := f32s(1, float32(inf), float32(minus), float32(nan))
	small := func(v ...float32) *tensor.Tensor {
		return from(kit.Convert(v, func(f float32) packed.F8E5M2 { return packed.ToF8E5M2(f, false) }), len(v))
	}
	runEvalCases(t, []evalCase{
		{"equal", "Equal", 13, nil, in(a, b), three, []float64{0, 1, 0}},
		{"greater", "Greater", 13, nil, in(b, a), three, []float64{1, 0, 0}},
		{"less", "Less", 13, nil, in(a, b), three, []float64{1, 0, 0}},
		{"less stretches", "Less", 13, nil, in(a, f32s(2)), three, []float64{1, 0, 0}},
		{"greater or equal", "GreaterOrEqual", 16, nil, in(a, b), three, []float64{0, 1, 0}},
		{"less or equal", "LessOrEqual", 16, nil, in(a, b), three, []float64{1, 1, 0}},
		{"float16", "Greater", 13, nil, in(f16s(1, 3), f16s(2, 2)), tensor.Shape{2}, []float64{0, 1}},
		{"unsigned", "Greater", 9, nil, in(u8s(200), u8s(100)), tensor.Shape{1}, []float64{1}},
		{"and", "And", 7, nil, in(x, y), four, []float64{0, 0, 0, 1}},
		{"or", "Or", 7, nil, in(x, y), four, []float64{0, 1, 1, 1}},
		{"xor", "Xor", 7, nil, in(x, y), four, []float64{0, 1, 1, 0}},
		{"not", "Not", 1, nil, in(x), four, []float64{1, 1, 0, 0}},
		{"equal bools", "Equal", 1, nil, in(x, y), four, []float64{1, 0, 0, 1}},
		{"equal strings", "Equal", 19, nil, in(texts("a", "b", "a"), texts("a")), three, []float64{1, 0, 1}},
		{"nan", "IsNaN", 13, nil, in(infinite), four, []float64{0, 0, 0, 1}},
		{"infinity", "IsInf", 10, nil, in(infinite), four, []float64{0, 1, 1, 0}},
		{"positive infinity", "IsInf", 20, []*graph.Attr{intAttr("detect_negative", 0)}, in(infinite), four, []float64{0, 1, 0, 0}},
		{"infinity of float16", "IsInf", 20, []*graph.Attr{intAttr("detect_positive", 0)}, in(f16s(1, float32(inf), float32(minus))), three, []float64{0, 0, 1}},
		{"infinity of bytes", "IsInf", 20, nil, in(small(1, float32(inf), float32(nan))), three, []float64{0, 1, 0}},
		{"nan of bytes", "IsNaN", 20, nil, in(small(1, float32(inf), float32(nan))), three, []float64{0, 0, 1}},
		{"where", "Where", 16, nil, in(bools(true, false, true), a, f32s(9)), three, []float64{1, 9, nan}},
		{"where stretches", "Where", 9, nil, in(from([]bool{true, false}, 2, 1), i64s(1, 2), from([]int64{0})), tensor.Shape{2, 2}, []float64{1, 2, 0, 0}},
	})
	refused(t, []evalCase{
		{name: "where of numbers", op: "Where", version: 16, in: in(f32s(1), a, a)},
		{name: "where of two types", op: "Where", version: 16, in: in(bools(true), a, i32s(1))},
		{name: "where of shapes", op: "Where", version: 16, in: in(bools(true, false), a, a)},
		{name: "where of nibbles", op: "Where", version: 16, in: in(bools(true), tensor.New(tensor.I4, 1), tensor.New(tensor.I4, 1))},
		{name: "and of numbers", op: "And", version: 7, in: in(i32s(1), i32s(1))},
		{name: "strings of shapes", op: "Equal", version: 19, in: in(texts("a", "b"), texts("a", "b", "c"))},
	})
}

func TestWhereStrings(t *testing.T) {
	testenv.Need(t, bindings.Available())
	out, err := evalNode("Where", 16, 1, nil, bools(true, false), texts("a", "b"), texts("z"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "z"}; !slices.Equal(out[0].Strings(), want) {
		t.Errorf("got %q, want %q", out[0].Strings(), want)
	}
}

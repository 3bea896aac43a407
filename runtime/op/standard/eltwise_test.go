package standard_test

import (
	"math"
	"testing"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func f32s(v ...float32) *tensor.Tensor { return from(v, len(v)) }

func i32s(v ...int32) *tensor.Tensor { return from(v, len(v)) }

func i64s(v ...int64) *tensor.Tensor { return from(v, len(v)) }

func u8s(v ...uint8) *tensor.Tensor { return from(v, len(v)) }

func i8s(v ...int8) *tensor.Tensor { return from(v, len(v)) }

func f16s(v ...float32) *tensor.Tensor {
	return from(kit.Convert(v, packed.ToF16), len(v))
}

func bf16s(v ...float32) *tensor.Tensor {
	return from(kit.Convert(v, packed.ToBF16), len(v))
}

func TestEltwiseUnary(t *testing.T) {
	minus := math.Inf(-1)
	x := f32s(-2, -0.5, 0, 0.5, 3)
	five := tensor.Shape{5}
	runEvalCases(t, []evalCase{
		{"leaky relu", "LeakyRelu", 16, nil, in(x), five, []float64{-0.02, -0.005, 0, 0.5, 3}},
		{"leaky relu alpha", "LeakyRelu", 6, []*graph.Attr{floatAttr("alpha", 0.5)}, in(x), five, []float64{-1, -0.25, 0, 0.5, 3}},
		{"first version", "Relu", 1, []*graph.Attr{intsAttr("consumed_inputs", 0)}, in(x), five, []float64{0, 0, 0, 0.5, 3}},
		{"selu 1", "Selu", 1, nil, in(f32s(-1, 1)), tensor.Shape{2}, []float64{1.0507 * 1.6732 * math.Expm1(-1), 1.0507}},
		{"shrink", "Shrink", 9, []*graph.Attr{floatAttr("lambd", 1), floatAttr("bias", 0.5)}, in(x), five, []float64{-1.5, 0, 0, 0, 2.5}},
		{"shrink integers", "Shrink", 9, []*graph.Attr{floatAttr("lambd", 1), floatAttr("bias", 1)}, in(i8s(-3, -1, 0, 1, 3)), five, []float64{-2, 0, 0, 0, 2}},
		{"erf integers", "Erf", 9, nil, in(i32s(-9, 0, 9)), tensor.Shape{3}, []float64{-1, 0, 1}},
		{"hard sigmoid", "HardSigmoid", 6, nil, in(x), five, []float64{0.1, 0.4, 0.5, 0.6, 1}},
		{"gelu tanh", "Gelu", 20, []*graph.Attr{strAttr("approximate", "tanh")}, in(f32s(1)), tensor.Shape{1}, []float64{0.841192}},
		{"swish", "Swish", 24, []*graph.Attr{floatAttr("alpha", 2)}, in(f32s(1)), tensor.Shape{1}, []float64{1 / (1 + math.Exp(-2))}},
		{"round to even", "Round", 22, nil, in(f32s(0.5, 1.5, 2.5, -0.5, -2.5)), five, []float64{0, 2, 2, 0, -2}},
		{"sign", "Sign", 13, nil, in(f32s(-3, 0, 2, float32(nan))), tensor.Shape{4}, []float64{-1, 0, 1, nan}},
		{"abs of the least integer", "Abs", 13, nil, in(i8s(-128, -1)), tensor.Shape{2}, []float64{-128, 1}},
		{"bitwise not", "BitwiseNot", 18, nil, in(i8s(0, -1, 5)), tensor.Shape{3}, []float64{-1, 0, -6}},
		{"edges of exp", "Exp", 13, nil, in(f32s(float32(nan), float32(inf), float32(minus), 0)), tensor.Shape{4}, []float64{nan, inf, 0, 1}},
		{"edges of log", "Log", 13, nil, in(f32s(float32(nan), float32(inf), 0, -1)), tensor.Shape{4}, []float64{nan, inf, minus, nan}},
		{"half", "Sqrt", 13, nil, in(f16s(4, 9, 2)), tensor.Shape{3}, []float64{2, 3, 1.4140625}},
		{"bfloat16", "Neg", 13, nil, in(bf16s(4, -0.5)), tensor.Shape{2}, []float64{-4, 0.5}},
		{"float64", "Tanh", 13, nil, in(from([]float64{0.1}, 1)), tensor.Shape{1}, []float64{math.Tanh(0.1)}},
		{"scalar", "Sin", 7, nil, in(from([]float32{1})), tensor.Shape{}, []float64{math.Sin(1)}},
		{"empty", "Exp", 13, nil, in(tensor.New(tensor.F32, 2, 0)), tensor.Shape{2, 0}, []float64{}},
	})
}

func TestEltwiseClip(t *testing.T) {
	x := f32s(-5, 0, 5, float32(nan))
	four := tensor.Shape{4}
	one := func(v float32) *tensor.Tensor { return from([]float32{v}) }
	runEvalCases(t, []evalCase{
		{"attributes", "Clip", 6, []*graph.Attr{floatAttr("min", -1), floatAttr("max", 2)}, in(x), four, []float64{-1, 0, 2, nan}},
		{"no attributes", "Clip", 6, nil, in(x), four, []float64{-5, 0, 5, nan}},
		{"inputs", "Clip", 13, nil, in(x, one(-1), one(2)), four, []float64{-1, 0, 2, nan}},
		{"no lower end", "Clip", 13, nil, in(x, nil, one(2)), four, []float64{-5, 0, 2, nan}},
		{"no ends", "Clip", 13, nil, in(x), four, []float64{-5, 0, 5, nan}},
		{"ends crossed", "Clip", 13, nil, in(f32s(1, 9), one(5), one(2)), tensor.Shape{2}, []float64{2, 2}},
		{"integers", "Clip", 12, nil, in(i64s(math.MinInt64, 3, math.MaxInt64), from([]int64{2})), tensor.Shape{3}, []float64{2, 3, math.MaxInt64}},
		{"no upper end of infinities", "Clip", 13, nil, in(f32s(float32(math.Inf(1))), one(0)), tensor.Shape{1}, []float64{math.MaxFloat32}},
		{"no upper end of half infinities", "Clip", 13, nil, in(f16s(float32(math.Inf(1)), float32(math.Inf(-1)))), tensor.Shape{2}, []float64{65504, -65504}},
		{"no upper end of brain infinities", "Clip", 13, nil, in(bf16s(float32(math.Inf(1)), float32(math.Inf(-1)))), tensor.Shape{2}, []float64{0x1.fep127, -0x1.fep127}},
		{"half", "Clip", 13, nil, in(f16s(-5, 5), from([]packed.F16{packed.ToF16(-1)})), tensor.Shape{2}, []float64{-1, 5}},
	})
	refused(t, []evalCase{
		{name: "vector of ends", op: "Clip", version: 13, in: in(x, f32s(1, 2))},
		{name: "mixed types", op: "Clip", version: 13, in: in(x, from([]int64{2}))},
		{name: "inputs before 11", op: "Clip", version: 6, in: in(x, one(1))},
	})
}

func TestEltwiseBinary(t *testing.T) {
	a, row, column := counted(2, 3), f32s(10, 20, 30), from([]float32{100, 200}, 2, 1)
	bits := func(name, v string) []*graph.Attr { return []*graph.Attr{strAttr(name, v)} }
	two := tensor.Shape{2, 3}
	runEvalCases(t, []evalCase{
		{"row", "Add", 14, nil, in(a, row), two, []float64{10, 21, 32, 13, 24, 35}},
		{"column", "Sub", 14, nil, in(a, column), two, []float64{-100, -99, -98, -197, -196, -195}},
		{"both stretch", "Mul", 14, nil, in(row, column), two, []float64{1000, 2000, 3000, 2000, 4000, 6000}},
		{"scalar", "Div", 14, nil, in(a, from([]float32{2})), two, []float64{0, 0.5, 1, 1.5, 2, 2.5}},
		{"half", "Add", 14, nil, in(f16s(1, 2), f16s(0.5, 2048)), tensor.Shape{2}, []float64{1.5, 2050}},
		{"half rounds", "Add", 14, nil, in(f16s(2048), f16s(1)), tensor.Shape{1}, []float64{2048}},
		{"integers wrap", "Mul", 14, nil, in(i8s(100, -128), i8s(2, -1)), tensor.Shape{2}, []float64{-56, -128}},
		{"division truncates", "Div", 14, nil, in(i32s(-7, 7, 5, math.MinInt32), i32s(2, -2, 0, -1)), tensor.Shape{4}, []float64{-3, -3, 0, math.MinInt32}},
		{"modulo", "Mod", 13, nil, in(i64s(-7, 7, 7, 5, math.MinInt64), i64s(3, -3, 3, 0, -1)), tensor.Shape{5}, []float64{2, -2, 1, 0, 0}},
		{"unsigned modulo", "Mod", 13, nil, in(u8s(7, 7), u8s(4, 0)), tensor.Shape{2}, []float64{3, 0}},
		{"integer fmod", "Mod", 13, []*graph.Attr{intAttr("fmod", 1)}, in(i32s(-7, 7), i32s(3, -3)), tensor.Shape{2}, []float64{-1, 1}},
		{"fmod", "Mod", 10, []*graph.Attr{intAttr("fmod", 1)}, in(f32s(-7.5, 7.5), f32s(2, -2)), tensor.Shape{2}, []float64{-1.5, 1.5}},
		{"shift left", "BitShift", 11, bits("direction", "LEFT"), in(u8s(1, 129, 1), u8s(3, 1, 8)), tensor.Shape{3}, []float64{8, 2, 0}},
		{"shift right", "BitShift", 11, bits("direction", "RIGHT"), in(u8s(16, 129, 255), u8s(3, 1, 200)), tensor.Shape{3}, []float64{2, 64, 0}},
		{"bits", "BitwiseXor", 18, nil, in(i8s(-1, 6), i8s(1, 3)), tensor.Shape{2}, []float64{-2, 5}},
		{"prelu", "PRelu", 16, nil, in(f32s(-2, 2), f32s(0.25)), tensor.Shape{2}, []float64{-0.5, 2}},
		{"prelu unsigned", "PRelu", 9, nil, in(from([]uint32{3}, 1), from([]uint32{9}, 1)), tensor.Shape{1}, []float64{3}},
		{"prelu by channel", "PRelu", 6, nil, in(from([]float32{-1, -1, -2, -2}, 1, 2, 2, 1), f32s(3, 5)), tensor.Shape{1, 2, 2, 1}, []float64{-3, -3, -10, -10}},
		{"old broadcast", "Add", 6, []*graph.Attr{intAttr("broadcast", 1)}, in(a, row), two, []float64{10, 21, 32, 13, 24, 35}},
		{"old axis", "Add", 6, []*graph.Attr{intAttr("broadcast", 1), intAttr("axis", 0)}, in(a, f32s(10, 20)), two, []float64{10, 11, 12, 23, 24, 25}},
		{"old scalar", "Mul", 1, []*graph.Attr{intAttr("broadcast", 1), intsAttr("consumed_inputs", 0, 0)}, in(a, from([]float32{2}, 1, 1)), two, []float64{0, 2, 4, 6, 8, 10}},
		{"old comparison", "Less", 1, []*graph.Attr{intAttr("broadcast", 1), intAttr("axis", -2)}, in(a, f32s(1, 5)), two, []float64{1, 0, 0, 1, 1, 0}},
	})
	refused(t, []evalCase{
		{name: "shapes", op: "Add", version: 14, in: in(a, f32s(1, 2))},
		{name: "types", op: "Add", version: 14, in: in(a, i32s(1, 2, 3))},
		{name: "left out", op: "Add", version: 14, in: in(a, nil)},
		{name: "bool", op: "Add", version: 14, in: in(from([]bool{true}, 1), from([]bool{true}, 1))},
		{name: "old without broadcast", op: "Add", version: 6, in: in(a, row)},
		{name: "old axis too far", op: "Add", version: 6, attrs: []*graph.Attr{intAttr("broadcast", 1), intAttr("axis", 2)}, in: in(a, row)},
		{name: "old left stretches", op: "Add", version: 6, attrs: []*graph.Attr{intAttr("broadcast", 1)}, in: in(f32s(1), row)},
		{name: "slope is larger", op: "PRelu", version: 16, in: in(row, a)},
		{name: "mod of floats", op: "Mod", version: 13, in: in(row, row)},
		{name: "direction", op: "BitShift", version: 11, attrs: bits("direction", "UP"), in: in(u8s(1), u8s(1))},
		{name: "unknown attribute", op: "Add", version: 14, attrs: []*graph.Attr{intAttr("broadcast", 1)}, in: in(a, a)},
	})
}

func TestEltwisePow(t *testing.T) {
	x, three := f32s(-2, 0.5, 3), tensor.Shape{3}
	runEvalCases(t, []evalCase{
		{"square", "Pow", 15, nil, in(x, from([]float32{2})), three, []float64{4, 0.25, 9}},
		{"cube by an integer", "Pow", 15, nil, in(x, from([]int64{3})), three, []float64{-8, 0.125, 27}},
		{"root", "Pow", 7, nil, in(f32s(4, 9, -1), from([]float32{0.5})), three, []float64{2, 3, nan}},
		{"each its own", "Pow", 13, nil, in(x, i32s(0, -1, 4)), three, []float64{1, 2, 81}},
		{"scalar base", "Pow", 13, nil, in(from([]float32{2}), f32s(1, 2, -1)), three, []float64{2, 4, 0.5}},
		{"integers", "Pow", 13, nil, in(i32s(-3, 2, 2), i64s(3, 33, -1)), three, []float64{-27, 0, 0}},
		{"integer of a float", "Pow", 13, nil, in(i64s(9, 2, 0), f32s(0.5, 2.5, -1)), three, []float64{3, 5, math.MaxInt64}},
		{"half", "Pow", 15, nil, in(f16s(3, 2, 4), from([]float64{2, 10, 0.5}, 3)), three, []float64{9, 1024, 2}},
		{"float64 of half", "Pow", 15, nil, in(from([]float64{3}, 1), bf16s(2)), tensor.Shape{1}, []float64{9}},
	})
	refused(t, []evalCase{
		{name: "exponent of bools", op: "Pow", version: 15, in: in(x, from([]bool{true}))},
		{name: "shapes", op: "Pow", version: 15, in: in(x, f32s(1, 2))},
	})
}

func TestEltwiseVariadic(t *testing.T) {
	a, b, c := f32s(1, 5), from([]float32{2, 3}, 2, 1), from([]float32{10})
	two := tensor.Shape{2, 2}
	runEvalCases(t, []evalCase{
		{"sum", "Sum", 13, nil, in(a, b, c), two, []float64{13, 17, 14, 18}},
		{"sum of small ones first", "Sum", 13, nil, in(c, c, a), tensor.Shape{2}, []float64{21, 25}},
		{"mean", "Mean", 8, nil, in(a, b, c), two, []float64{13. / 3, 17. / 3, 14. / 3, 6}},
		{"mean of float16", "Mean", 13, nil, in(f16s(1), f16s(2)), tensor.Shape{1}, []float64{1.5}},
		{"one input", "Mean", 6, nil, in(a), tensor.Shape{2}, []float64{1, 5}},
		{"max", "Max", 13, nil, in(a, b), two, []float64{2, 5, 3, 5}},
		{"min of integers", "Min", 12, nil, in(u8s(3, 200), u8s(100)), tensor.Shape{2}, []float64{3, 100}},
		{"max with NaN", "Max", 13, nil, in(f32s(float32(nan), 1, 2), f32s(1, float32(nan), 3)), tensor.Shape{3}, []float64{nan, nan, 3}},
		{"min with NaN", "Min", 8, nil, in(f32s(float32(nan), 1, 2), f32s(1, float32(nan), 3)), tensor.Shape{3}, []float64{nan, nan, 2}},
	})
	refused(t, []evalCase{
		{name: "types", op: "Sum", version: 13, in: in(a, from([]float64{1}, 1))},
		{name: "left out", op: "Max", version: 13, in: in(a, nil)},
	})
}

// TestEltwiseInts follows elements of shapes through arithmetic.
func TestEltwiseInts(t *testing.T) {
	i32 := func(list ...any) *op.Value {
		v := vec(list...)
		v.DType = tensor.I32
		return v
	}
	condition := &op.Value{Type: graph.TensorOf(tensor.Bool, sym(2)), Const: from([]bool{true, false}, 2)}
	tests := []struct {
		name, op string
		attrs    []*graph.Attr
		in       []*op.Value
		want     string
	}{
		{"add", "Add", nil, []*op.Value{vec("n", 3), scalar(1)}, "int64[2]=[n+1,4]"},
		{"sub", "Sub", nil, []*op.Value{scalar("n"), vec(1)}, "int64[1]=[n-1]"},
		{"mul", "Mul", nil, []*op.Value{vec("n", "m"), vec(2, "k")}, "int64[2]=[2*n,k*m]"},
		{"div", "Div", nil, []*op.Value{vec("n", -7, 8), vec(2, 2, 0)}, "int64[3]=[n/2,-3,?]"},
		{"min", "Min", nil, []*op.Value{vec("n", 3), vec("n", 5)}, "int64[2]=[n,3]"},
		{"max", "Max", nil, []*op.Value{vec("n", 3), vec(1, 5)}, "int64[2]=[max(n,1),5]"},
		{"cast", "Cast", attrs("to", 6), []*op.Value{vec("n", math.MaxInt)}, "int32[2]=[n,?]"},
		{"overflow", "Mul", nil, []*op.Value{i32(1 << 30), i32(4)}, "int32[1]=[?]"},
		{"where", "Where", nil, []*op.Value{condition, vec("n", "m"), vec("p", "q")}, "int64[2]=[n,q]"},
		{"equal", "Equal", nil, []*op.Value{vec("n", -1, 3), scalar(-1)}, "bool[3]=[0,1,0]"},
		{"equal sums", "Equal", nil, []*op.Value{vec(graph.ParseDim("n+m"), graph.ParseDim("m+n+1")), vec(graph.ParseDim("m+n"))}, "bool[2]=[1,0]"},
		{"matrix", "Add", nil, []*op.Value{of(tensor.I64, sym(2, 2)), scalar(1)}, "int64[2,2]"},
		{"unknown rank", "Add", nil, []*op.Value{of(tensor.F32, nil), of(tensor.F32, sym(2))}, "float32[...]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := &graph.Node{Op: tt.op, Version: 19, Attrs: tt.attrs, Inputs: []string{"a", "b", "c"}[:len(tt.in)],
				Outputs: []string{"y"}}
			o, _, err := standard.Registry().New(n)
			if err != nil {
				t.Fatal(err)
			}
			out, err := kit.InferOutputs(o, n, tt.in)
			if err != nil {
				t.Fatal(err)
			}
			got := out[0].Type.String()
			if out[0].Ints != nil {
				got += "=" + graph.Dims(out[0].Ints).String()
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

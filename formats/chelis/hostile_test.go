package chelis

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// filled returns a tensor that repeats the values of list.
func filled(d tensor.DType, list []float64, shape ...int) *tensor.Tensor {
	t := tensor.New(d, shape...)
	for i := range t.Len() {
		v := list[i%len(list)]
		switch d {
		case tensor.F32:
			tensor.View[float32](t)[i] = float32(v)
		case tensor.F64:
			tensor.View[float64](t)[i] = v
		case tensor.I32:
			tensor.View[int32](t)[i] = int32(v)
		case tensor.I64:
			tensor.View[int64](t)[i] = int64(v)
		default:
			t.Bytes()[i] = byte(v)
		}
	}
	return t
}

// steps holds small numbers of both signs.
var steps = []float64{3, -2, 0, 5, -7, 1, 4, -1, 2}

// TestMeanings compares modules of operators in unusual forms with runs of the models, and checks
// the errors of the forms that are refused.
func TestMeanings(t *testing.T) {
	i, f, s := graph.IntAttr, graph.FloatAttr, graph.StringAttr
	ints := func(name string, v ...int64) *graph.Attr { return graph.IntsAttr(name, v...) }
	list := func(a ...*graph.Attr) []*graph.Attr { return a }
	infinite := math.Inf(1)
	image := func(h, w int) *tensor.Tensor { return filled(tensor.F32, steps, 1, 2, h, w) }
	axes := func(v ...float64) *tensor.Tensor { return filled(tensor.I64, v, len(v)) }
	for _, c := range []struct {
		op      string
		opset   int
		x       *tensor.Tensor
		weights []*tensor.Tensor
		attrs   []*graph.Attr
		out     tensor.DType
		shape   []int
		want    error
		text    string
	}{
		{"Softmax", 11, filled(tensor.F32, steps, 2, 3, 4), nil, nil, tensor.F32, []int{2, 3, 4}, nil, ""},
		{"Softmax", 12, filled(tensor.F32, steps, 2, 3, 4), nil, list(i("axis", 0)), tensor.F32, []int{2, 3, 4}, nil, ""},
		{"Softmax", 12, filled(tensor.F32, steps, 2, 3, 4), nil, list(i("axis", -2)), tensor.F32, []int{2, 3, 4}, nil, ""},
		{"Softmax", 13, filled(tensor.F32, steps, 2, 3, 4), nil, list(i("axis", 1)), tensor.F32, []int{2, 3, 4}, nil, ""},
		{"LogSoftmax", 11, filled(tensor.F32, steps, 2, 3, 4), nil, nil, tensor.F32, []int{2, 3, 4}, nil, ""},
		{"LogSoftmax", 13, filled(tensor.F64, steps, 2, 3, 4), nil, list(i("axis", 0)), tensor.F64, []int{2, 3, 4}, nil, ""},
		{"Resize", 13, image(2, 2), nil, nil, tensor.F32, []int{1, 2, 4, 4}, ErrUnsupportedOperator, "unsupported operator: Resize"},
		{"ScatterElements", 18, image(2, 2), nil, nil, tensor.F32, []int{1, 2, 2, 2}, ErrUnsupportedOperator, "unsupported operator: ScatterElements"},

		{"MaxPool", 12, image(5, 6), nil, list(ints("kernel_shape", 2, 3), ints("strides", 2, 2), i("ceil_mode", 1)), tensor.F32, []int{1, 2, 3, 3}, nil, ""},
		{"MaxPool", 22, image(4, 4), nil, list(ints("kernel_shape", 2, 2), ints("strides", 2, 2), ints("pads", 1, 1, 1, 1), i("ceil_mode", 1)), tensor.F32, []int{1, 2, 3, 3}, nil, ""},
		{"MaxPool", 22, image(4, 4), nil, list(ints("kernel_shape", 3, 3), ints("strides", 2, 2), ints("pads", 0, 0, 2, 1), i("ceil_mode", 1)), tensor.F32, []int{1, 2, 3, 2}, nil, ""},
		{"AveragePool", 22, image(3, 5), nil, list(ints("kernel_shape", 3, 3), ints("strides", 3, 2), ints("pads", 0, 0, 2, 2), i("ceil_mode", 1), i("count_include_pad", 1)), tensor.F32, []int{1, 2, 1, 3}, nil, ""},
		{"MaxPool", 22, image(3, 3), nil, list(ints("kernel_shape", 2, 2), ints("strides", 3, 3), ints("pads", 1, 1, 1, 1), i("ceil_mode", 1)), tensor.F32, []int{1, 2, 2, 2}, nil, ""},
		{"MaxPool", 12, image(5, 5), nil, list(ints("kernel_shape", 3, 3), ints("strides", 2, 2), s("auto_pad", "SAME_LOWER")), tensor.F32, []int{1, 2, 3, 3}, nil, ""},
		{"MaxPool", 12, image(5, 5), nil, list(ints("kernel_shape", 2, 2), ints("dilations", 2, 2)), tensor.F32, []int{1, 2, 3, 3}, ErrUnsupportedShape, "dilations"},
		{"AveragePool", 11, image(5, 6), nil, list(ints("kernel_shape", 3, 2), ints("strides", 2, 2), ints("pads", 1, 0, 1, 1)), tensor.F32, []int{1, 2, 3, 3}, nil, ""},
		{"AveragePool", 11, image(5, 6), nil, list(ints("kernel_shape", 3, 2), ints("pads", 1, 0, 1, 1), i("count_include_pad", 1)), tensor.F32, []int{1, 2, 5, 6}, nil, ""},
		{"AveragePool", 19, image(6, 7), nil, list(ints("kernel_shape", 3, 2), ints("strides", 2, 3), i("ceil_mode", 1)), tensor.F32, []int{1, 2, 3, 3}, nil, ""},
		{"AveragePool", 22, image(6, 7), nil, list(ints("kernel_shape", 3, 3), ints("strides", 2, 3), ints("pads", 1, 1, 0, 0), i("ceil_mode", 1), i("count_include_pad", 1)), tensor.F32, []int{1, 2, 3, 3}, nil, ""},
		{"AveragePool", 22, image(6, 6), nil, list(ints("kernel_shape", 3, 3), ints("strides", 2, 2), ints("pads", 1, 0, 1, 0), i("ceil_mode", 1), i("count_include_pad", 1)), tensor.F32, []int{1, 2, 4, 3}, nil, ""},
		{"AveragePool", 22, image(5, 5), nil, list(ints("kernel_shape", 2, 2), s("auto_pad", "SAME_UPPER"), i("count_include_pad", 1)), tensor.F32, []int{1, 2, 5, 5}, nil, ""},

		{"Relu", 14, filled(tensor.I32, steps, 7), nil, nil, tensor.I32, []int{7}, nil, ""},
		{"Abs", 13, filled(tensor.I64, steps, 7), nil, nil, tensor.I64, []int{7}, nil, ""},
		{"Neg", 13, filled(tensor.I32, steps, 7), nil, nil, tensor.I32, []int{7}, nil, ""},
		{"Sign", 13, filled(tensor.I64, steps, 7), nil, nil, tensor.I64, []int{7}, nil, ""},
		{"Clip", 13, filled(tensor.I32, steps, 7), []*tensor.Tensor{filled(tensor.I32, []float64{-1})}, nil, tensor.I32, []int{7}, nil, ""},
		{"Clip", 13, filled(tensor.F32, steps, 7), []*tensor.Tensor{filled(tensor.F32, []float64{2}), filled(tensor.F32, []float64{-2})}, nil, tensor.F32, []int{7}, nil, ""},
		{"Clip", 13, filled(tensor.F32, steps, 7), []*tensor.Tensor{filled(tensor.F32, []float64{-infinite})}, nil, tensor.F32, []int{7}, ErrWeightConversion, "-Inf"},
		{"Div", 14, filled(tensor.I32, steps, 7), []*tensor.Tensor{filled(tensor.I32, []float64{-2}, 1)}, nil, tensor.I32, []int{7}, nil, ""},
		{"Div", 14, filled(tensor.F32, steps, 7), []*tensor.Tensor{filled(tensor.F32, []float64{math.Copysign(0, -1)}, 1)}, nil, tensor.F32, []int{7}, nil, ""},
		{"Mul", 14, filled(tensor.F64, steps, 7), []*tensor.Tensor{filled(tensor.F64, []float64{0.1}, 2, 1)}, nil, tensor.F64, []int{2, 7}, nil, ""},
		{"Pow", 15, filled(tensor.F32, []float64{1, 4, 9}, 3), []*tensor.Tensor{filled(tensor.I64, []float64{-3}, 1, 1)}, nil, tensor.F32, []int{1, 3}, nil, ""},
		{"Pow", 15, filled(tensor.F32, []float64{1, 4, 9}, 3), []*tensor.Tensor{filled(tensor.F32, []float64{1.7})}, nil, tensor.F32, []int{3}, ErrUnsupportedShape, "1.7"},
		{"Pow", 15, filled(tensor.I32, []float64{1, 4, 9}, 3), []*tensor.Tensor{filled(tensor.I32, []float64{2})}, nil, tensor.I32, []int{3}, ErrUnsupportedShape, "base of floats"},
		{"LeakyRelu", 16, filled(tensor.F32, steps, 7), nil, list(f("alpha", float32(infinite))), tensor.F32, []int{7}, ErrWeightConversion, "+Inf"},
		{"Elu", 11, filled(tensor.F32, steps, 7), nil, list(f("alpha", float32(math.NaN()))), tensor.F32, []int{7}, ErrWeightConversion, "NaN"},
		{"HardSigmoid", 11, filled(tensor.F32, steps, 7), nil, list(f("alpha", -0.5)), tensor.F32, []int{7}, nil, ""},
		{"Mish", 18, filled(tensor.F32, []float64{-1000, 1000, 0}, 3), nil, nil, tensor.F32, []int{3}, nil, ""},
		{"Gelu", 20, filled(tensor.F32, []float64{-9, -0.7, -1e-9, 0, 0.3, 8}, 6), nil, nil, tensor.F32, []int{6}, nil, ""},
		{"Gelu", 20, filled(tensor.F64, steps, 6), nil, nil, tensor.F64, []int{6}, ErrUnsupportedDtype, "f32 only"},

		{"ReduceSum", 13, filled(tensor.I32, steps, 2, 3), []*tensor.Tensor{axes(1)}, list(i("keepdims", 0)), tensor.I32, []int{2}, nil, ""},
		{"ReduceSum", 11, filled(tensor.F32, steps, 2, 3), nil, list(ints("axes", -1, 0)), tensor.F32, []int{1, 1}, nil, ""},
		{"ReduceSum", 13, filled(tensor.F32, steps, 2, 3), nil, list(i("noop_with_empty_axes", 1)), tensor.F32, []int{2, 3}, nil, ""},
		{"ReduceL1", 18, filled(tensor.F32, steps, 2, 3), []*tensor.Tensor{axes()}, list(i("noop_with_empty_axes", 1)), tensor.F32, []int{2, 3}, nil, ""},
		{"ReduceL2", 18, filled(tensor.F32, steps, 2, 3), []*tensor.Tensor{axes()}, list(i("noop_with_empty_axes", 1)), tensor.F32, []int{2, 3}, nil, ""},
		{"ReduceL1", 18, filled(tensor.I32, steps, 2, 3), []*tensor.Tensor{axes(0)}, nil, tensor.I32, []int{1, 3}, nil, ""},
		{"ReduceMean", 13, filled(tensor.I32, steps, 2, 3), nil, list(ints("axes", 1)), tensor.I32, []int{2, 1}, ErrUnsupportedDtype, "ReduceMean of int32"},
		{"ReduceL2", 13, filled(tensor.I32, steps, 2, 3), nil, list(ints("axes", 1)), tensor.I32, []int{2, 1}, ErrUnsupportedDtype, "ReduceL2 of int32"},
		{"ReduceMax", 20, filled(tensor.Bool, []float64{0, 1}, 2, 3), []*tensor.Tensor{axes(0)}, nil, tensor.Bool, []int{1, 3}, ErrUnsupportedDtype, "ReduceMax of bool"},
		{"ReduceMax", 13, filled(tensor.I32, steps, 2, 3), nil, list(ints("axes", 1)), tensor.I32, []int{2, 1}, nil, ""},
		{"ReduceSum", 13, tensor.New(tensor.F32, 2, 0), []*tensor.Tensor{axes(1)}, nil, tensor.F32, []int{2, 1}, ErrUnsupportedShape, "no elements"},
		{"ArgMax", 13, filled(tensor.F32, []float64{1, 5, 5, 2}, 2, 4), nil, list(i("axis", -1), i("keepdims", 0)), tensor.I64, []int{2}, nil, ""},
		{"ArgMin", 13, filled(tensor.F32, []float64{1, 5, 5, 1}, 2, 4), nil, list(i("axis", 1), i("select_last_index", 1)), tensor.I64, []int{2, 1}, ErrUnsupportedShape, "select_last_index"},

		{"MatMul", 13, tensor.New(tensor.F32, 2, 0), []*tensor.Tensor{tensor.New(tensor.F32, 0, 3)}, nil, tensor.F32, []int{2, 3}, ErrUnsupportedShape, "no elements"},
		{"MatMul", 13, filled(tensor.F32, steps, 3), []*tensor.Tensor{f32(2, 3, 4)}, nil, tensor.F32, []int{2, 4}, nil, ""},
		{"MatMul", 13, filled(tensor.F32, steps, 2, 1, 2, 3), []*tensor.Tensor{f32(5, 3, 4)}, nil, tensor.F32, []int{2, 5, 2, 4}, nil, ""},
		{"MatMul", 13, filled(tensor.F32, steps, 3), []*tensor.Tensor{f32(3)}, nil, tensor.F32, []int{}, nil, ""},
		{"MatMul", 13, filled(tensor.I32, steps, 2, 3), []*tensor.Tensor{filled(tensor.I32, steps, 3, 2)}, nil, tensor.I32, []int{2, 2}, ErrUnsupportedDtype, "product of integers"},
		{"Gemm", 13, filled(tensor.F32, steps, 3, 2), []*tensor.Tensor{f32(4, 3), f32(2, 1)}, list(i("transA", 1), i("transB", 1), f("alpha", 0.5), f("beta", -2)), tensor.F32, []int{2, 4}, nil, ""},
		{"Gemm", 13, filled(tensor.F32, steps, 2, 3), []*tensor.Tensor{f32(3, 4)}, list(f("alpha", float32(infinite))), tensor.F32, []int{2, 4}, ErrWeightConversion, "+Inf"},
		{"Concat", 13, filled(tensor.F32, steps, 2, 3), []*tensor.Tensor{tensor.New(tensor.F32, 2, 0)}, list(i("axis", 1)), tensor.F32, []int{2, 3}, ErrWeightConversion, "no elements"},
		{"Concat", 13, filled(tensor.F32, steps, 2, 3), []*tensor.Tensor{f32(2, 2)}, list(i("axis", -1)), tensor.F32, []int{2, 5}, nil, ""},
		{"Gather", 13, filled(tensor.F32, steps, 4, 2), []*tensor.Tensor{filled(tensor.I32, []float64{-1, 0, -4, 3}, 2, 2)}, nil, tensor.F32, []int{2, 2, 2}, nil, ""},
		{"Gather", 13, filled(tensor.F32, steps, 4, 2), []*tensor.Tensor{filled(tensor.I64, []float64{-1})}, list(i("axis", -1)), tensor.F32, []int{4}, nil, ""},
		{"Slice", 13, filled(tensor.F32, steps, 4, 5), []*tensor.Tensor{axes(-1, 1), axes(-9, 9), axes(1, 0), axes(-2, 2)}, nil, tensor.F32, []int{2, 3}, nil, ""},
		{"Slice", 13, filled(tensor.F32, steps, 4), []*tensor.Tensor{axes(3), axes(1)}, nil, tensor.F32, []int{0}, ErrUnsupportedShape, "no elements"},
		{"Expand", 13, filled(tensor.F32, steps, 2, 1, 3), []*tensor.Tensor{axes(4, 1)}, nil, tensor.F32, []int{2, 4, 3}, nil, ""},
		{"Cast", 13, filled(tensor.F32, []float64{1.9, -1.9, 0, math.Copysign(0, -1)}, 4), nil, list(i("to", 6)), tensor.I32, []int{4}, nil, ""},
		{"Cast", 13, filled(tensor.F32, []float64{0.5, math.NaN(), 0, math.Copysign(0, -1)}, 4), nil, list(i("to", 9)), tensor.Bool, []int{4}, nil, ""},
		{"Cast", 13, filled(tensor.Bool, []float64{0, 1}, 4), nil, list(i("to", 11)), tensor.F64, []int{4}, nil, ""},
		{"Cast", 13, filled(tensor.F32, steps, 4), nil, list(i("to", 10)), tensor.F16, []int{4}, ErrUnsupportedDtype, "float16"},
		{"LayerNormalization", 17, filled(tensor.F32, steps, 2, 3, 4), []*tensor.Tensor{f32(3, 4), f32(3, 4)}, list(i("axis", 1)), tensor.F32, []int{2, 3, 4}, nil, ""},
		{"GroupNormalization", 18, filled(tensor.F32, steps, 2, 4, 3), []*tensor.Tensor{f32(2), f32(2)}, list(i("num_groups", 2)), tensor.F32, []int{2, 4, 3}, nil, ""},
		{"GroupNormalization", 21, filled(tensor.F32, steps, 2, 4, 3), []*tensor.Tensor{f32(4), f32(4)}, list(i("num_groups", 2)), tensor.F32, []int{2, 4, 3}, nil, ""},
		{"BatchNormalization", 15, filled(tensor.F32, steps, 2, 3, 2), []*tensor.Tensor{f32(3), f32(3), f32(3), filled(tensor.F32, []float64{1, 2, 3}, 3)}, nil, tensor.F32, []int{2, 3, 2}, nil, ""},
		{"BatchNormalization", 15, filled(tensor.F32, steps, 2, 3, 2), []*tensor.Tensor{f32(3), f32(3), filled(tensor.F64, steps, 3), filled(tensor.F64, []float64{1}, 3)}, nil, tensor.F32, []int{2, 3, 2}, ErrUnsupportedDtype, "of one type"},
		{"BatchNormalization", 15, filled(tensor.F32, steps, 2, 3, 2), []*tensor.Tensor{f32(3), f32(3), f32(3), filled(tensor.F32, []float64{1}, 3)}, list(i("training_mode", 1)), tensor.F32, []int{2, 3, 2}, ErrUnsupportedOperator, "training_mode"},
	} {
		m := single(c.op, c.opset, c.x, c.weights, c.attrs, graph.TensorOf(c.out, known(c.shape...)))
		text, err := emitted(m, Options{})
		switch {
		case c.want != nil:
			if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.text) {
				t.Errorf("%s-%d %v: %v, want %v with %q", c.op, c.opset, c.x, err, c.want, c.text)
			}
			continue
		case err == nil:
			err = runModule(m, text, map[string]*tensor.Tensor{"x": c.x}, nil)
		}
		if err != nil {
			t.Errorf("%s-%d %v: %v\n%.1500s", c.op, c.opset, c.x, err, text)
		}
	}
}

// single returns a model of one node over an input x and weights.
func single(op string, opset int, x *tensor.Tensor, weights []*tensor.Tensor, attrs []*graph.Attr, out graph.Type) *graph.Model {
	b := graph.NewBuilder("single")
	inputs := []string{b.Input("x", graph.TensorOf(x.DType(), graph.DimsOf(x.Shape())))}
	for k, w := range weights {
		inputs = append(inputs, b.Weight(&graph.Initializer{Name: fmt.Sprint("w", k), Tensor: w}))
	}
	b.Output(b.Op(op, inputs, attrs...), "y", out)
	m := model(b)
	m.Opsets[0].Version = opset
	m.Graph.Nodes[0].Version = opset
	return m
}

// TestEmpty checks that used weights without elements are refused, with or without placeholders.
func TestEmpty(t *testing.T) {
	used := single("Concat", 13, f32(2, 3), []*tensor.Tensor{tensor.New(tensor.F32, 2, 0)}, []*graph.Attr{graph.IntAttr("axis", 1)}, floats(known(2, 3)...))
	shape := single("Reshape", 13, f32(1), []*tensor.Tensor{tensor.New(tensor.I64, 0)}, nil, floats())
	for _, placeholder := range []bool{false, true} {
		if _, err := emitted(used, Options{Placeholder: placeholder}); !errors.Is(err, ErrWeightConversion) || !strings.Contains(fmt.Sprint(err), `weight "w0"`) {
			t.Errorf("placeholder %t: %v", placeholder, err)
		}
		if text, err := emitted(shape, Options{Placeholder: placeholder}); err != nil || strings.Contains(text, "w0") {
			t.Errorf("placeholder %t: %v\n%s", placeholder, err, text)
		}
	}
}

// TestBits checks that literals of weights parse to the same bits.
func TestBits(t *testing.T) {
	w32, w64 := tensor.New(tensor.F32, 8), tensor.New(tensor.F64, 8)
	copy(tensor.View[float32](w32), []float32{float32(math.Copysign(0, -1)), 1e-45, -1e-45, 1.1754942e-38, 1.1754944e-38, math.MaxFloat32, 16777217, 1e-5})
	copy(tensor.View[float64](w64), []float64{math.Copysign(0, -1), 5e-324, -5e-324, 2.225073858507201e-308, 2.2250738585072014e-308, math.MaxFloat64, 1 << 53, 0.1})
	for _, w := range []*tensor.Tensor{w32, w64} {
		b := graph.NewBuilder("bits")
		b.Output(b.Weight(&graph.Initializer{Name: "w", Tensor: w}), "y", graph.TensorOf(w.DType(), known(8)))
		text, err := emitted(model(b), Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := evaluate(text, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		at := tensor.Numbers(w)
		for i, v := range got[0].data {
			if w.DType() == tensor.F32 {
				v = float64(float32(v))
			}
			if math.Float64bits(v) != math.Float64bits(at(i)) {
				t.Errorf("%v: element %d is %v, want %v", w.DType(), i, v, at(i))
			}
		}
	}
}

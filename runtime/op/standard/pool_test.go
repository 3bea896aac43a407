package standard_test

import (
	"math"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func TestPool(t *testing.T) {
	k := func(v ...int64) *graph.Attr { return intsAttr("kernel_shape", v...) }
	x := counted(1, 1, 4, 4)
	runEvalCases(t, []evalCase{
		{"largest", "MaxPool", 12, []*graph.Attr{k(2, 2), intsAttr("strides", 2, 2)}, in(x), tensor.Shape{1, 1, 2, 2}, []float64{5, 7, 13, 15}},
		{"largest of int8", "MaxPool", 12, []*graph.Attr{k(2)}, in(from([]int8{-5, -3, -4}, 1, 1, 3)), tensor.Shape{1, 1, 2}, []float64{-3, -3}},
		{"largest of float16", "MaxPool", 12, []*graph.Attr{k(2)}, in(from([]packed.F16{packed.ToF16(1), packed.ToF16(-2)}, 1, 1, 2)), tensor.Shape{1, 1, 1}, []float64{1}},
		{"mean without padding", "AveragePool", 7, []*graph.Attr{k(3), intsAttr("pads", 1, 1)}, in(from([]float32{1, 2, 6}, 1, 1, 3)), tensor.Shape{1, 1, 3}, []float64{1.5, 3, 4}},
		{"mean with padding", "AveragePool", 7, append(attrs("count_include_pad", 1), k(3), intsAttr("pads", 1, 1)), in(from([]float32{1, 2, 6}, 1, 1, 3)),
			tensor.Shape{1, 1, 3}, []float64{1, 3, 8.0 / 3}},
		{"last window", "AveragePool", 19, append(attrs("count_include_pad", 1, "ceil_mode", 1), k(3), intsAttr("strides", 2), intsAttr("pads", 1, 1)),
			in(counted(1, 1, 4)), tensor.Shape{1, 1, 3}, []float64{1.0 / 3, 2, 1.5}},
		{"mean of gaps", "AveragePool", 19, []*graph.Attr{k(2), intsAttr("dilations", 2)}, in(counted(1, 1, 4)), tensor.Shape{1, 1, 2}, []float64{1, 2}},
		{"mean of float64", "AveragePool", 7, []*graph.Attr{k(2), strAttr("auto_pad", "SAME_UPPER")}, in(from([]float64{1, 2, 6}, 1, 1, 3)), tensor.Shape{1, 1, 3}, []float64{1.5, 4, 6}},
		{"norm", "LpPool", 1, []*graph.Attr{k(2), floatAttr("p", 1)}, in(from([]float32{1, -2, 6}, 1, 1, 3)), tensor.Shape{1, 1, 2}, []float64{3, 8}},
		{"norm of order 3", "LpPool", 18, append(attrs("p", 3), k(2)), in(from([]float32{3, -4}, 1, 1, 2)), tensor.Shape{1, 1, 1}, []float64{math.Cbrt(91)}},
		{"many axes", "MaxPool", 12, []*graph.Attr{k(1, 1, 1, 1, 1, 1, 1, 1, 2)}, in(counted(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2)), tensor.Shape{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, []float64{1}},
		{"all of it", "GlobalAveragePool", 1, nil, in(counted(1, 2, 2, 2)), tensor.Shape{1, 2, 1, 1}, []float64{1.5, 5.5}},
		{"largest of all", "GlobalMaxPool", 1, nil, in(counted(1, 2, 2, 2)), tensor.Shape{1, 2, 1, 1}, []float64{3, 7}},
		{"norm of all", "GlobalLpPool", 2, nil, in(from([]float32{3, 4}, 1, 1, 2)), tensor.Shape{1, 1, 1}, []float64{5}},
		{"empty batch", "MaxPool", 12, []*graph.Attr{k(2)}, in(tensor.New(tensor.F32, 0, 1, 2)), tensor.Shape{0, 1, 1}, []float64{}},
	})
	refused(t, []evalCase{
		{name: "no kernel", op: "MaxPool", version: 12, in: in(x)},
		{name: "kernel of another rank", op: "MaxPool", version: 12, attrs: []*graph.Attr{k(2)}, in: in(x)},
		{name: "kernel too large", op: "AveragePool", version: 7, attrs: []*graph.Attr{k(5, 1)}, in: in(x)},
		{name: "no spatial axes", op: "MaxPool", version: 12, attrs: []*graph.Attr{k()}, in: in(counted(2, 2))},
		{name: "storage order", op: "MaxPool", version: 12, attrs: append(attrs("storage_order", 2), k(1, 1)), in: in(x)},
		{name: "output too large", op: "MaxPool", version: 12, attrs: []*graph.Attr{k(1, 1), intsAttr("pads", 1<<30, 1<<30, 1<<30, 1<<30)}, in: in(x)},
		{name: "norm order", op: "LpPool", version: 2, attrs: append(attrs("p", 0), k(1, 1)), in: in(x)},
		{name: "nothing but padding", op: "MaxPool", version: 12, attrs: []*graph.Attr{k(1), intsAttr("pads", 1, 1)}, in: in(tensor.New(tensor.F32, 1, 1, 0))},
		{name: "nothing to pool", op: "GlobalMaxPool", version: 1, in: in(tensor.New(tensor.F32, 1, 1, 0))},
	})
}

func TestMaxPoolIndices(t *testing.T) {
	testenv.Need(t, bindings.Available())
	x := from([]float32{9, 1, 2, 3, 4, 9, 0, 0, 0, 0, 8, 7}, 1, 2, 2, 3)
	for order, want := range [][]float64{{0, 5, 10, 10}, {0, 5, 9, 9}} {
		list := append(attrs("storage_order", order), intsAttr("kernel_shape", 2, 2))
		out, err := evalNode("MaxPool", 12, 2, list, x)
		if err != nil {
			t.Fatal(err)
		}
		if got := numbersOf(out[1]); !slices.Equal(got, want) {
			t.Errorf("order %d: %v, not %v", order, got, want)
		}
	}
}

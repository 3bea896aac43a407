package standard_test

import (
	"math"
	"testing"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func TestReduce(t *testing.T) {
	x := counted(2, 3, 4)
	i64 := func(v ...int64) *tensor.Tensor { return from(v, len(v)) }
	runEvalCases(t, []evalCase{
		{"last axis", "ReduceSum", 13, nil, in(x, i64(-1)), tensor.Shape{2, 3, 1}, []float64{6, 22, 38, 54, 70, 86}},
		{"axis attribute", "ReduceMean", 13, attrs("axes", []int64{1}, "keepdims", 0), in(x), tensor.Shape{2, 4}, []float64{4, 5, 6, 7, 16, 17, 18, 19}},
		{"two runs of axes", "ReduceMax", 18, attrs("keepdims", 0), in(x, i64(0, 2)), tensor.Shape{3}, []float64{15, 19, 23}},
		{"squares over two runs", "ReduceSumSquare", 18, attrs("keepdims", 0), in(x, i64(2, 0)), tensor.Shape{3}, []float64{748, 1356, 2220}},
		{"all", "ReduceMin", 13, attrs("keepdims", 0), in(x), tensor.Shape{}, []float64{0}},
		{"no axes, no operation", "ReduceL1", 18, attrs("noop_with_empty_axes", 1), in(from([]float32{-1, 2}, 2)), tensor.Shape{2}, []float64{1, 2}},
		{"empty axes", "ReduceSum", 13, attrs("keepdims", 0), in(x, i64()), tensor.Shape{}, []float64{276}},
		{"scalar", "ReduceL2", 18, nil, in(from([]float32{-3})), tensor.Shape{}, []float64{3}},
		{"sum of nothing", "ReduceSum", 13, nil, in(tensor.New(tensor.F32, 2, 0), i64(1)), tensor.Shape{2, 1}, []float64{0, 0}},
		{"product of nothing", "ReduceProd", 18, nil, in(tensor.New(tensor.I32, 0), i64(0)), tensor.Shape{1}, []float64{1}},
		{"largest of nothing", "ReduceMax", 18, nil, in(tensor.New(tensor.F32, 0), i64(0)), tensor.Shape{1}, []float64{-inf}},
		{"smallest of no integers", "ReduceMin", 18, nil, in(tensor.New(tensor.U8, 0), i64(0)), tensor.Shape{1}, []float64{255}},
		{"mean of nothing", "ReduceMean", 18, nil, in(tensor.New(tensor.F64, 0), i64(0)), tensor.Shape{1}, []float64{nan}},
		{"log of the sum of no exponentials", "ReduceLogSumExp", 18, nil, in(tensor.New(tensor.F32, 0), i64(0)), tensor.Shape{1}, []float64{-inf}},
		{"empty output", "ReduceSum", 13, nil, in(tensor.New(tensor.F32, 0, 2), i64(1)), tensor.Shape{0, 1}, []float64{}},
		{"large exponentials", "ReduceLogSumExp", 18, nil, in(from([]float32{1000, 1000, -1000}, 3), i64(0)), tensor.Shape{1}, []float64{1000.6931}},
		{"exponentials of infinities", "ReduceLogSumExp", 18, nil, in(from([]float32{float32(-inf), float32(-inf)}, 2), i64(0)), tensor.Shape{1}, []float64{-inf}},
		{"float64", "ReduceL2", 18, nil, in(from([]float64{3, 4}, 2), i64(0)), tensor.Shape{1}, []float64{5}},
		{"float16", "ReduceSum", 13, nil, in(from([]packed.F16{packed.ToF16(1), packed.ToF16(0.5)}, 2), i64(0)), tensor.Shape{1}, []float64{1.5}},
		{"mean of negative integers", "ReduceMean", 18, nil, in(from([]int32{-3, -4}, 2), i64(0)), tensor.Shape{1}, []float64{-3}},
		{"mean does not wrap", "ReduceMean", 18, nil, in(from([]int32{math.MaxInt32, math.MaxInt32}, 2), i64(0)), tensor.Shape{1}, []float64{math.MaxInt32}},
		{"bool", "ReduceMax", 20, nil, in(from([]bool{false, true, false, false}, 2, 2), i64(1)), tensor.Shape{2, 1}, []float64{1, 0}},
		{"NaN", "ReduceMax", 18, nil, in(from([]float32{1, float32(nan), 3}, 3), i64(0)), tensor.Shape{1}, []float64{nan}},
		{"arg", "ArgMax", 13, attrs("axis", 1, "keepdims", 0), in(from([]float32{1, 5, 5, 2, 0, 2}, 2, 3)), tensor.Shape{2}, []float64{1, 0}},
		{"last arg", "ArgMax", 13, attrs("axis", 1, "select_last_index", 1), in(from([]float32{1, 5, 5, 2, 0, 2}, 2, 3)), tensor.Shape{2, 1}, []float64{2, 2}},
		{"arg of NaN", "ArgMin", 13, attrs("axis", 0, "keepdims", 0), in(from([]packed.BF16{packed.ToBF16(1), packed.ToBF16(float32(nan)), packed.ToBF16(-1)}, 3)), tensor.Shape{}, []float64{1}},
		{"running sum", "CumSum", 14, attrs("exclusive", 1, "reverse", 1), in(counted(2, 3), from([]int64{1})), tensor.Shape{2, 3}, []float64{3, 2, 0, 9, 5, 0}},
	})
	refused(t, []evalCase{
		{name: "axis", op: "ReduceSum", version: 13, in: in(x, i64(3))},
		{name: "axis twice", op: "ReduceSum", version: 13, in: in(x, i64(0, -3))},
		{name: "axes as an input too early", op: "ReduceMean", version: 13, in: in(x, i64(0))},
		{name: "axes as an attribute too late", op: "ReduceMean", version: 18, attrs: attrs("axes", []int64{0}), in: in(x)},
		{name: "arg of nothing", op: "ArgMax", version: 13, in: in(tensor.New(tensor.F32, 0))},
		{name: "arg axis", op: "ArgMax", version: 13, attrs: attrs("axis", 3), in: in(x)},
		{name: "running sum along two axes", op: "CumSum", version: 14, in: in(x, i64(0, 1))},
	})
}

package standard_test

import (
	"math"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func TestNorm(t *testing.T) {
	rows := from([]float32{0, 1, 2, 3, 4, 5, 6, 7}, 2, 2, 2)
	one, zero := from([]float32{1, 1}, 2), from([]float32{0, 0}, 2)
	low, high := 1/(1+math.E), math.E/(1+math.E)
	var flat []float64
	for _, v := range []float64{0, 1, 2, 3} {
		flat = append(flat, math.Exp(v)/(1+math.E+math.Exp(2)+math.Exp(3)))
	}
	pair := []float64{low, high, low, high, low, high, low, high}
	runEvalCases(t, []evalCase{
		{"softmax", "Softmax", 13, nil, in(rows), tensor.Shape{2, 2, 2}, pair},
		{"softmax of the rest", "Softmax", 11, nil, in(rows), tensor.Shape{2, 2, 2}, slices.Concat(flat, flat)},
		{"softmax float64", "Softmax", 13, nil, in(from(kit.Doubles(rows), 2, 2, 2)), tensor.Shape{2, 2, 2}, pair},
		{"softmax of scalar", "Softmax", 13, nil, in(from([]float32{3})), tensor.Shape{}, []float64{1}},
		{"logsoftmax", "LogSoftmax", 13, attrs("axis", 0), in(from([]float32{1000, 1000}, 2)), tensor.Shape{2}, []float64{-math.Ln2, -math.Ln2}},
		{"hardmax", "Hardmax", 13, nil, in(from([]float32{1, 3, 3, 2}, 2, 2)), tensor.Shape{2, 2}, []float64{0, 1, 1, 0}},
		{"batch", "BatchNormalization", 15, nil, in(counted(1, 2, 2), from([]float32{1, 2}, 2), one, from([]float32{0, 1}, 2), one),
			tensor.Shape{1, 2, 2}, []float64{1, 2, 3, 5}},
		{"batch of vectors", "BatchNormalization", 9, nil, in(counted(2, 2), from([]float32{1, 2}, 2), one, from([]float32{0, 1}, 2), one),
			tensor.Shape{2, 2}, []float64{1, 1, 3, 5}},
		{"batch per element", "BatchNormalization", 7, attrs("spatial", 0), in(counted(1, 1, 2), from([]float32{1, 2}, 2), zero, zero, one),
			tensor.Shape{1, 1, 2}, []float64{0, 2}},
		{"batch test of the first version", "BatchNormalization", 6, attrs("is_test", 1), in(counted(1, 2, 1), one, zero, zero, one),
			tensor.Shape{1, 2, 1}, []float64{0, 1}},
		{"batch of float64", "BatchNormalization", 15, nil, in(from([]float64{3, 4}, 1, 2), one, zero, one, one), tensor.Shape{1, 2}, []float64{2, 3}},
		{"instance", "InstanceNormalization", 6, []*graph.Attr{floatAttr("epsilon", 0)}, in(counted(1, 2, 2), one, from([]float32{0, 10}, 2)),
			tensor.Shape{1, 2, 2}, []float64{-1, 1, 9, 11}},
		{"groups with parameters of their own", "GroupNormalization", 18, append(attrs("num_groups", 1), floatAttr("epsilon", 0)),
			in(from([]float32{1, 3}, 1, 2), from([]float32{2}, 1), from([]float32{1}, 1)), tensor.Shape{1, 2}, []float64{-1, 3}},
		{"groups with parameters per channel", "GroupNormalization", 21, append(attrs("num_groups", 1), floatAttr("epsilon", 0)),
			in(from([]float32{1, 3}, 1, 2), from([]float32{2, 4}, 2), zero), tensor.Shape{1, 2}, []float64{-2, 4}},
		{"groups computed in float64", "GroupNormalization", 21, append(attrs("num_groups", 1, "stash_type", 11), floatAttr("epsilon", 0)),
			in(from([]float64{1, 3}, 1, 2), from([]float64{2, 4}, 2), from([]float64{0, 0}, 2)), tensor.Shape{1, 2}, []float64{-2, 4}},
		{"layer computed in float64", "LayerNormalization", 17, append(attrs("stash_type", 11), floatAttr("epsilon", 0)), in(from([]float32{1, 3}, 1, 2), one),
			tensor.Shape{1, 2}, []float64{-1, 1}},
		{"layer with a scalar scale", "LayerNormalization", 17, []*graph.Attr{floatAttr("epsilon", 0)}, in(from([]float32{1, 3, 5, 9}, 2, 2), from([]float32{2}, 1)),
			tensor.Shape{2, 2}, []float64{-2, 2, -2, 2}},
		{"layer with a scale per row", "LayerNormalization", 17, []*graph.Attr{floatAttr("epsilon", 0)}, in(from([]float32{1, 3, 5, 9}, 2, 2), from([]float32{1, 2}, 2, 1)),
			tensor.Shape{2, 2}, []float64{-1, 1, -2, 2}},
		{"root mean square", "RMSNormalization", 23, []*graph.Attr{floatAttr("epsilon", 0)}, in(from([]float32{3, 4, 0, 0}, 1, 4), from([]float32{5, 5, 5, 5}, 4)),
			tensor.Shape{1, 4}, []float64{6, 8, 0, 0}},
		{"lrn", "LRN", 13, append(attrs("size", 3), floatAttr("alpha", 3), floatAttr("beta", 0.5), floatAttr("bias", 0)), in(from([]float32{3, 4, 0, 0}, 1, 4, 1)),
			tensor.Shape{1, 4, 1}, []float64{0.6, 0.8, 0, nan}},
		{"lrn of a huge window", "LRN", 13, append(attrs("size", math.MaxInt), floatAttr("alpha", 0), floatAttr("beta", 1), floatAttr("bias", 2)),
			in(from([]float32{3, 4}, 1, 2)), tensor.Shape{1, 2}, []float64{1.5, 2}},
		{"lp of zeros", "LpNormalization", 22, nil, in(from([]float32{0, 0, 3, 4}, 2, 2)), tensor.Shape{2, 2}, []float64{0, 0, 0.6, 0.8}},
		{"mean and variance", "MeanVarianceNormalization", 13, attrs("axes", []int64{1}), in(from([]float32{1, 3, 7, 9}, 2, 2)), tensor.Shape{2, 2}, []float64{-1, 1, -1, 1}},
	})
	refused(t, []evalCase{
		{name: "softmax axis", op: "Softmax", version: 13, attrs: attrs("axis", 3), in: in(rows)},
		{name: "batch channels", op: "BatchNormalization", version: 15, in: in(rows, one, from([]float32{1}, 1), one, one)},
		{name: "group count", op: "GroupNormalization", version: 21, attrs: attrs("num_groups", 3), in: in(rows, one, one)},
		{name: "no group count", op: "GroupNormalization", version: 21, in: in(rows, one, one)},
		{name: "instance channels", op: "InstanceNormalization", version: 6, in: in(counted(1, 3, 2), one, one)},
		{name: "instance of a vector", op: "InstanceNormalization", version: 6, in: in(counted(3), one, one)},
		{name: "layer scale", op: "LayerNormalization", version: 17, in: in(rows, from([]float32{1, 1, 1}, 3))},
		{name: "layer scale with more axes", op: "LayerNormalization", version: 17, in: in(one, counted(2, 2))},
		{name: "layer axis", op: "LayerNormalization", version: 17, attrs: attrs("axis", -4), in: in(rows, one)},
		{name: "layer integer scale", op: "LayerNormalization", version: 17, in: in(rows, from([]int32{1, 1}, 2))},
		{name: "lrn size", op: "LRN", version: 13, in: in(rows)},
		{name: "lp order", op: "LpNormalization", version: 22, attrs: attrs("p", 3), in: in(rows)},
		{name: "mean and variance axes", op: "MeanVarianceNormalization", version: 13, attrs: attrs("axes", []int64{3}), in: in(rows)},
	})
}

func TestBatchNormTraining(t *testing.T) {
	testenv.Need(t, bindings.Available())
	x, one := from([]float32{1, 10, 3, 30}, 2, 2), from([]float32{1, 1}, 2)
	list := append(attrs("training_mode", 1), floatAttr("momentum", 0.5), floatAttr("epsilon", 0))
	out, err := evalNode("BatchNormalization", 15, 3, list, x, one, one, one, one)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]float64{{-1 + 1, -1 + 1, 1 + 1, 1 + 1}, {1.5, 10.5}, {1, 50.5}} {
		if got := numbersOf(out[i]); !closeLists(got, want) {
			t.Errorf("output %d is %v, not %v", i, got, want)
		}
	}
}

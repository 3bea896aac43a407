package standard_test

import (
	"math"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func draw(t *testing.T, name string, in *tensor.Tensor, list ...*graph.Attr) []float64 {
	t.Helper()
	n := &graph.Node{Op: name, Version: 22, Attrs: list, Outputs: []string{"y"}}
	var inputs []*tensor.Tensor
	if in != nil {
		n.Inputs, inputs = []string{"x"}, []*tensor.Tensor{in}
	}
	out, err := cpu.Eval(standard.Registry(), n, 0, nil, inputs)
	if err != nil {
		t.Fatal(err)
	}
	numbers, _ := kit.Numbers(out[0])
	return numbers
}

// TestRandomMoments checks mean, variance and range of many numbers.
func TestRandomMoments(t *testing.T) {
	const n = 1 << 16
	shape := &graph.Attr{Name: "shape", Kind: graph.AttrInts, Ints: []int64{n}}
	part, logs := tensor.New(tensor.F32, n), tensor.New(tensor.F32, 1, 3)
	for i := range tensor.View[float32](part) {
		tensor.View[float32](part)[i] = 0.25
	}
	for i, p := range []float64{1, 2, 5} {
		tensor.View[float32](logs)[i] = float32(math.Log(p))
	}
	samples := &graph.Attr{Name: "sample_size", Kind: graph.AttrInt, Int: n}
	for _, tt := range []struct {
		op             string
		in             *tensor.Tensor
		attrs          []*graph.Attr
		mean, variance float64
		lo, hi         float64
	}{
		{"RandomUniform", nil, []*graph.Attr{shape, floatAttr("low", -1), floatAttr("high", 3)}, 1, 16.0 / 12, -1, 3},
		{"RandomNormal", nil, []*graph.Attr{shape, floatAttr("mean", 2), floatAttr("scale", 3)}, 2, 9, -20, 24},
		{"RandomUniformLike", part, nil, 0.5, 1.0 / 12, 0, 1},
		{"RandomNormalLike", part, nil, 0, 1, -7, 7},
		{"Bernoulli", part, nil, 0.25, 0.25 * 0.75, 0, 1},
		{"Multinomial", logs, []*graph.Attr{samples}, 1.5, 0.5, 0, 2},
	} {
		for _, list := range [][]*graph.Attr{append(tt.attrs[:len(tt.attrs):len(tt.attrs)], floatAttr("seed", 7)), tt.attrs} {
			x := draw(t, tt.op, tt.in, list...)
			if len(x) != n {
				t.Fatalf("%s: %d numbers, want %d", tt.op, len(x), n)
			}
			mean, variance := 0.0, 0.0
			for _, v := range x {
				if v < tt.lo || v > tt.hi {
					t.Fatalf("%s: %g is not in [%g,%g]", tt.op, v, tt.lo, tt.hi)
				}
				mean += v / n
			}
			for _, v := range x {
				variance += (v - mean) * (v - mean) / n
			}
			if off := math.Sqrt(tt.variance / n); math.Abs(mean-tt.mean) > 7*off ||
				math.Abs(variance-tt.variance) > 0.1*tt.variance {
				t.Errorf("%s: mean %g and variance %g, want %g and %g", tt.op, mean, variance, tt.mean, tt.variance)
			}
		}
	}
}

// TestSeeds checks that a seed repeats the numbers, and that runs without a seed give new ones.
func TestSeeds(t *testing.T) {
	shape := &graph.Attr{Name: "shape", Kind: graph.AttrInts, Ints: []int64{8}}
	same := func(a, b []float64) bool {
		for i := range a {
			if a[i] != b[i] {
				return false
			}
		}
		return true
	}
	once := draw(t, "RandomNormal", nil, shape, floatAttr("seed", 1))
	if !same(once, draw(t, "RandomNormal", nil, shape, floatAttr("seed", 1))) {
		t.Error("numbers differ under one seed")
	}
	if same(once, draw(t, "RandomNormal", nil, shape, floatAttr("seed", 2))) {
		t.Error("numbers are equal under two seeds")
	}
	if same(draw(t, "RandomNormal", nil, shape), draw(t, "RandomNormal", nil, shape)) {
		t.Error("numbers repeat without a seed")
	}
}

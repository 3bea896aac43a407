package vulkan_test

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// TestUnseeded checks that nodes without a seed draw new numbers in every run, different from
// another node's, and the same numbers in runs with the seed of a context.
func TestUnseeded(t *testing.T) {
	const n, rows = 4000, 3
	x := tensor.New(tensor.F32, rows, n)
	for i := range tensor.View[float32](x) {
		tensor.View[float32](x)[i] = 0.5
	}
	m := &graph.Model{Graph: &graph.Graph{
		Name:    "draws",
		Inputs:  []*graph.Value{{Name: "x", Type: graph.TensorOf(tensor.F32, graph.DimsOf(x.Shape()))}},
		Outputs: []*graph.Value{{Name: "u"}, {Name: "v"}, {Name: "b"}, {Name: "m"}},
		Nodes: []*graph.Node{
			node("RandomUniformLike", "x", "u"), node("RandomUniformLike", "x", "v"), node("Bernoulli", "x", "b"), node("Multinomial", "x", "m", ints("sample_size", n)),
		},
	}}
	d := open(t, vulkan.Options{Everything: true})
	s, in := session(t, m, accelerator(t, d)), map[string]tensor.Value{"x": x}
	means := map[string]float64{"u": 0.5, "v": 0.5, "b": 0.5, "m": (n - 1) / 2}
	same := func(a, b tensor.Value) bool {
		return bytes.Equal(a.(*tensor.Tensor).Bytes(), b.(*tensor.Tensor).Bytes())
	}
	var last map[string]tensor.Value
	for range 3 {
		got, prof, err := s.Profile(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range prof.Steps {
			if !step.Offloaded && !isLacking(t, d, &step) {
				t.Errorf("%s ran by %s", step.Op, step.How)
			}
		}
		if same(got["u"], got["v"]) {
			t.Error("two nodes drew the same numbers")
		}
		for name, want := range means {
			if last != nil && same(got[name], last[name]) {
				t.Errorf("two runs drew the same numbers %s", name)
			}
			list, sum := kit.Doubles(got[name].(*tensor.Tensor)), 0.0
			for _, v := range list {
				sum += v
			}
			if mean := sum / float64(len(list)); math.Abs(mean-want) > 0.05*want {
				t.Errorf("the mean of %s is %g, want about %g", name, mean, want)
			}
		}
		last = got
	}
	var seeded [3]map[string]tensor.Value
	for i, seed := range []uint64{1, 1, 2} {
		var err error
		if seeded[i], _, err = s.Profile(op.WithSeed(t.Context(), seed), in); err != nil {
			t.Fatal(err)
		}
	}
	for name := range means {
		if !same(seeded[0][name], seeded[1][name]) || same(seeded[0][name], seeded[2][name]) {
			t.Errorf("seeds do not choose the numbers of %s", name)
		}
	}
}

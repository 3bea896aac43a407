package nacre_test

import (
	"context"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestWithSeed draws random numbers from seeds, in kernels and in Go.
func TestWithSeed(t *testing.T) {
	testenv.Need(t, bindings.Available())
	n := graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("n")})
	names := []string{"normal", "uniform", "drawn", "kept"}
	g := &graph.Graph{
		Inputs: []*graph.Value{{Name: "x", Type: n}},
		Nodes: []*graph.Node{
			standardNode("RandomNormalLike", "x", "normal"), standardNode("RandomUniformLike", "x", "uniform"),
			standardNode("Bernoulli", "uniform", "drawn"), standardNode("RandomNormalLike", "x", "kept"),
		},
	}
	for _, name := range names {
		g.Outputs = append(g.Outputs, &graph.Value{Name: name, Type: n})
	}
	g.Nodes[3].Attrs = []*graph.Attr{graph.FloatAttr("seed", 3)}
	m := opened(t, g)
	x, err := nacre.NewTensor(make([]float32, 1001), 1001)
	if err != nil {
		t.Fatal(err)
	}
	run := func(s *nacre.Session, ctx context.Context) [][]float32 {
		t.Helper()
		out, err := s.Run(ctx, map[string]*nacre.Tensor{"x": x})
		if err != nil {
			t.Fatal(err)
		}
		var list [][]float32
		for _, name := range names {
			data, err := nacre.Data[float32](out[name])
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, data)
		}
		return list
	}
	one, two := ready(t, m, nacre.Options{Threads: 1}), ready(t, m, nacre.Options{Threads: 2})
	seed := func(seed uint64) context.Context { return nacre.WithSeed(t.Context(), seed) }
	shared := seed(1)
	first := run(one, shared)
	for _, c := range []struct {
		name string
		got  [][]float32
		same bool
	}{
		{"again", run(one, seed(1)), true}, {"with two threads", run(two, seed(1)), true},
		{"with another seed", run(one, seed(2)), false}, {"later with the context", run(one, shared), false},
		{"without a seed", run(one, t.Context()), false},
	} {
		for i, name := range names {
			if want := c.same || name == "kept"; slices.Equal(c.got[i], first[i]) != want {
				t.Errorf("%s: %s equals the first run's: %v, want %v", c.name, name, !want, want)
			}
		}
	}
	if slices.Equal(first[0][:9], first[3][:9]) {
		t.Error("two nodes draw the same numbers")
	}
}

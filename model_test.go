package nacre_test

import (
	"errors"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestNewModel runs a graph that the program builds, and checks what it refuses.
func TestNewModel(t *testing.T) {
	build := func() *graph.Model {
		b := graph.NewBuilder("built")
		b.Input("x", graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("n")}))
		b.Output(b.Op("Neg", []string{"x"}), "y", graph.TensorOf(tensor.F32, graph.UnknownDims(1)))
		return b.Model(&graph.Model{File: "built"})
	}
	m, err := nacre.NewModel(build())
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.NewSession(nacre.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	x, err := nacre.NewTensor([]float32{1, -2}, 2)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Run(t.Context(), map[string]*nacre.Tensor{"x": x})
	if err != nil || out["y"].Text(0) != "-1" || out["y"].Text(1) != "2" {
		t.Errorf("%v, %v", out["y"], err)
	}
	if err := errors.Join(s.Close(), m.Close()); err != nil {
		t.Error(err)
	}
	twice := build()
	twice.Graph.Nodes = append(twice.Graph.Nodes, twice.Graph.Nodes...)
	for _, c := range []struct {
		model *graph.Model
		kind  error
	}{{nil, nacre.ErrOption}, {&graph.Model{}, nacre.ErrOption}, {twice, nacre.ErrFormat}} {
		if _, err := nacre.NewModel(c.model); !errors.Is(err, c.kind) {
			t.Errorf("%v, want an error of kind %v", err, c.kind)
		}
	}
}

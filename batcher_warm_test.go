package nacre_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestBatcherWarm makes the plans of all numbers of rows. Runs with these make no more.
func TestBatcherWarm(t *testing.T) {
	for name, g := range map[string]*graph.Graph{
		"a symbol": {Inputs: []*graph.Value{rowInput("x", "n", "w")}, Outputs: []*graph.Value{{Name: "y"}},
			Nodes: []*graph.Node{standardNode("Exp", "x", "y")}},
		"no symbol": {Inputs: []*graph.Value{{Name: "x", Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Unknown(), graph.Symbol("w")})}},
			Outputs: []*graph.Value{{Name: "y"}}, Nodes: []*graph.Node{standardNode("Exp", "x", "y")}},
	} {
		m := opened(t, g)
		l, text := logged(slog.LevelDebug)
		s := ready(t, m, nacre.Options{Logger: l, Threads: 1})
		b := batcherOf(t, s, nacre.BatcherOptions{MaxRows: 4})
		plans := func() int { return strings.Count(text.String(), "plan made") }
		if err := b.Warm(t.Context()); !errors.Is(err, nacre.ErrOption) {
			t.Errorf("%s: without the width: %v", name, err)
		}
		if err := b.Warm(t.Context(), map[string]int{"w": 3}, map[string]int{"w": 5}); err != nil || plans() != 8 {
			t.Errorf("%s: %d plans, want 8; %v", name, plans(), err)
		}
		for rows := range 4 {
			if _, err := b.Run(t.Context(), map[string]*nacre.Tensor{"x": zeros(t, nacre.Float32, rows+1, 3)}); err != nil {
				t.Error(err)
			}
		}
		rows := map[string]string{"a symbol": "n", "no symbol": "x[0]"}[name]
		if err := b.Warm(t.Context(), map[string]int{rows: 9, "w": 3}); err != nil || plans() != 9 {
			t.Errorf("%s: %d plans, want 9; %v", name, plans(), err)
		}
	}
	if err := (*nacre.Batcher)(nil).Warm(t.Context()); !errors.Is(err, nacre.ErrClosed) {
		t.Error(err)
	}
}

// TestBatcherOfFixedRows names the way out.
func TestBatcherOfFixedRows(t *testing.T) {
	m := opened(t, &graph.Graph{Inputs: []*graph.Value{rowInput("x", 1, 3)}, Outputs: []*graph.Value{{Name: "y"}},
		Nodes: []*graph.Node{standardNode("Exp", "x", "y")}})
	_, err := nacre.NewBatcher(t.Context(), ready(t, m, nacre.Options{Threads: 1}), nacre.BatcherOptions{})
	if !errors.Is(err, nacre.ErrOption) || !strings.Contains(err.Error(), "\"x\" float32[1,3]. Export it with an open batch") {
		t.Error(err)
	}
}

package nacre_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// twoRows computes y = exp(x) and z = -y of a matrix [n,3], and v = -u of a vector.
func twoRows() *graph.Graph {
	x := &graph.Value{Name: "x", Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("n"), graph.Known(3)})}
	return &graph.Graph{
		Inputs:  []*graph.Value{x, vectorOf("u", "m")},
		Outputs: []*graph.Value{{Name: "y"}, {Name: "z"}, {Name: "v"}},
		Nodes:   []*graph.Node{standardNode("Exp", "x", "y"), standardNode("Neg", "y", "z"), standardNode("Neg", "u", "v")},
	}
}

func TestLastRows(t *testing.T) {
	ctx := context.Background()
	s := ready(t, opened(t, twoRows()), nacre.Options{})
	inputs, err := s.ZeroInputs(map[string]int{"n": 4, "m": 2})
	if err != nil {
		t.Fatal(err)
	}
	x, _ := nacre.Data[float32](inputs["x"])
	for i := range x {
		x[i] = float32(i) / 7
	}
	whole, err := s.Run(ctx, inputs)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.LastRows(ctx, "z")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		out, err := rows.Run(ctx, inputs)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := nacre.Data[float32](whole["z"])
		got, _ := nacre.Data[float32](out["z"])
		if !slices.Equal(got, want[9:]) || !slices.Equal(out["z"].Shape(), []int{1, 3}) ||
			!slices.Equal(out["y"].Shape(), []int{4, 3}) {
			t.Errorf("got z %v %v and y %v; want %v and 4 rows", out["z"], got, out["y"], want[9:])
		}
	}
	if again, err := s.LastRows(ctx, "z"); again != rows || err != nil {
		t.Errorf("asked again: another session, or %v", err)
	}
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
	if again, err := s.LastRows(ctx, "z"); again == rows || err != nil {
		t.Errorf("asked after its Close: the closed session, or %v", err)
	}
}

func TestLastRowsErrors(t *testing.T) {
	ctx := context.Background()
	s := ready(t, opened(t, twoRows()), nacre.Options{})
	for _, c := range []struct {
		outputs []string
		ctx     context.Context
		want    error
	}{
		{nil, ctx, nacre.ErrOption},
		{[]string{"x"}, ctx, nacre.ErrOption},
		{[]string{"y", "other"}, ctx, nacre.ErrOption},
		{[]string{"v"}, ctx, nacre.ErrShape},
		{[]string{"y"}, nil, nacre.ErrOption},
	} {
		if _, err := s.LastRows(c.ctx, c.outputs...); !errors.Is(err, c.want) {
			t.Errorf("last rows of %q: %v, want %v", c.outputs, err, c.want)
		}
	}
	rows, err := s.LastRows(ctx, "y")
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := rows.Run(ctx, nil); !errors.Is(err, nacre.ErrClosed) {
		t.Errorf("a run after Close of the session around: %v", err)
	}
	if _, err := s.LastRows(ctx, "y"); !errors.Is(err, nacre.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestLastRowsAtOnce(t *testing.T) {
	s := ready(t, opened(t, twoRows()), nacre.Options{})
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			if i == 4 {
				s.Close()
				return
			}
			rows, err := s.LastRows(context.Background(), "y", "z")
			if err == nil {
				_, err = rows.ZeroInputs(map[string]int{"n": 2, "m": 1})
			}
			if err != nil && !errors.Is(err, nacre.ErrClosed) {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

package nacre_test

import (
	"context"
	"errors"
	"math"
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

// TestLastTop checks the largest elements of last rows and their indices: of equal ones the first comes
// first, and NaN before all.
func TestLastTop(t *testing.T) {
	ctx := context.Background()
	s := ready(t, opened(t, twoRows()), nacre.Options{})
	inputs, err := s.ZeroInputs(map[string]int{"n": 2, "m": 1})
	if err != nil {
		t.Fatal(err)
	}
	x, _ := nacre.Data[float32](inputs["x"])
	for _, c := range []struct {
		row    []float32
		k      int
		places []int64
	}{
		{[]float32{1, 3, 2}, 2, []int64{1, 2}},
		{[]float32{2, 1, 2}, 3, []int64{0, 2, 1}},
		{[]float32{2, float32(math.NaN()), 2}, 2, []int64{1, 0}},
	} {
		copy(x[3:], c.row)
		top, err := s.LastTop(ctx, "y", c.k)
		if err != nil {
			t.Fatal(err)
		}
		out, err := top.Run(ctx, inputs)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := s.Run(ctx, inputs)
		if err != nil {
			t.Fatal(err)
		}
		list := top.Outputs()
		if len(list) != 4 || list[3].DType != nacre.Int64 || !slices.Equal(out["y"].Shape(), []int{1, c.k}) {
			t.Fatalf("the outputs are %v, and y is %v", list, out["y"])
		}
		y, _ := nacre.Data[float32](whole["y"])
		got, _ := nacre.Data[float32](out["y"])
		places, _ := nacre.Data[int64](out[list[3].Name])
		if !slices.Equal(places, c.places) {
			t.Errorf("the largest of %v are at %v, want %v", c.row, places, c.places)
		}
		for i, at := range places {
			if v := y[3+at]; math.Float32bits(v) != math.Float32bits(got[i]) {
				t.Errorf("element %d is %v, want %v", at, got[i], v)
			}
		}
	}
	again, err := s.LastTop(ctx, "y", 2)
	if same, _ := s.LastTop(ctx, "y", 2); err != nil || same != again {
		t.Errorf("asked again: another session, or %v", err)
	}
	for _, c := range []struct {
		output string
		k      int
		ctx    context.Context
		want   error
	}{
		{"other", 1, ctx, nacre.ErrOption}, {"v", 1, ctx, nacre.ErrShape}, {"y", 0, ctx, nacre.ErrOption},
		{"y", 4, ctx, nacre.ErrOption}, {"y", 1, nil, nacre.ErrOption},
	} {
		if _, err := s.LastTop(c.ctx, c.output, c.k); !errors.Is(err, c.want) {
			t.Errorf("the %d largest of %q: %v, want %v", c.k, c.output, err, c.want)
		}
	}
	s.Close()
	if _, err := again.Run(ctx, inputs); !errors.Is(err, nacre.ErrClosed) {
		t.Errorf("a run after Close of the session around: %v", err)
	}
}

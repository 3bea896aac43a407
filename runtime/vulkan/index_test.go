package vulkan_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/byname"
	engine "github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// indexOperators are the operators that move elements by indices or by their order. True means that
// binding needs the elements of an input.
var indexOperators = map[string]bool{
	"ArgMax": false, "ArgMin": false, "CumSum": false, "CumProd": false, "TopK": true, "ReduceLogSumExp": true, "ReduceMax": true, "GlobalLpPool": false,
	"Gather": false, "GatherElements": false, "GatherND": false,
	"Scatter": false, "ScatterElements": false, "ScatterND": false,
	"OneHot": true, "ReverseSequence": false, "Trilu": false,
}

// TestIndexOperators checks the cases of operators that move elements by indices, with all indices
// as inputs.
func TestIndexOperators(t *testing.T) {
	if testing.Short() {
		t.Skip("many models: not in short runs")
	}
	s := &single{device: open(t, vulkan.Options{Everything: true}), registry: standard.Registry(),
		offload: map[string]int{}}
	rows := optest.Rows()
	for _, c := range optest.Cases() {
		known, ok := indexOperators[c.Op]
		if !ok || c.Domain != "" {
			continue
		}
		s.constant = func(i int, x *tensor.Tensor) bool { return known && isParameter(i, x) }
		for _, v := range c.Versions(rows[c.Key()]) {
			if err := c.Check(s.eval, v); err != nil {
				t.Errorf("%s in version %d: %v", c.Name(), v, err)
			}
		}
	}
	for name := range indexOperators {
		if s.offload[name] == 0 {
			t.Errorf("no case of %s ran on the device", name)
		}
	}
}

// tensorOf returns a tensor of the elements.
func tensorOf[T tensor.Element](t testing.TB, list []T, shape ...int) *tensor.Tensor {
	t.Helper()
	x, err := tensor.From(list, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestFaults makes runs fail at elements of indices, and checks that later runs work.
func TestFaults(t *testing.T) {
	x := tensorOf(t, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	zero, one := tensorOf(t, []int64{0, 0}, 2), tensorOf(t, []int64{1, -1}, 2)
	s := &single{constant: func(i int, _ *tensor.Tensor) bool { return i == 0 }}
	first := &graph.Node{Name: "first", Op: "Gather", Version: 13, Inputs: []string{"x", "i"}, Outputs: []string{"y"}}
	m, _ := s.model(first, []*tensor.Tensor{x, zero})
	m.Graph.Nodes = append(m.Graph.Nodes,
		&graph.Node{Name: "second", Op: "Gather", Version: 13, Inputs: []string{"y", "j"}, Outputs: []string{"z"}})
	m.Graph.Inputs = append(m.Graph.Inputs,
		&graph.Value{Name: "j", Type: graph.TensorOf(tensor.I64, graph.DimsOf(one.Shape()))})
	m.Graph.Outputs = []*graph.Value{{Name: "z"}}
	e, err := byname.New(m, engine.Options{NoOptimize: true,
		Accelerator: accelerator(t, open(t, vulkan.Options{Everything: true})), Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, c := range []struct {
		i, j []int64
		want []float32 // nil for a fault
		says []string
	}{
		{i: []int64{1, 0}, j: []int64{0, -1}, want: []float32{4, 5, 6, 1, 2, 3}},
		{i: []int64{0, 2}, j: []int64{0, 0}, says: []string{"first", "element 1 of the indices is not in -2..1"}},
		{i: []int64{-3, 2}, j: []int64{0, 1 << 32}, says: []string{"first", "element 0 of the indices"}},
		{i: []int64{0, 1}, j: []int64{1, 1 << 32}, says: []string{"second", "element 1 of the indices"}},
		{i: []int64{0, 1}, j: []int64{1, -1 << 40}, says: []string{"second", "element 1 of the indices"}},
		{i: []int64{-1, -2}, j: []int64{0, 1}, want: []float32{4, 5, 6, 1, 2, 3}},
	} {
		out, err := e.Run(context.Background(), map[string]*tensor.Tensor{"i": tensorOf(t, c.i, 2), "j": tensorOf(t, c.j, 2)})
		if c.want == nil {
			if !errors.Is(err, graph.ErrShape) ||
				slices.ContainsFunc(c.says, func(part string) bool { return !strings.Contains(err.Error(), part) }) {
				t.Errorf("indices %v and %v: error %v, want a shape error with %q", c.i, c.j, err, c.says)
			}
			continue
		}
		if err != nil {
			t.Errorf("indices %v and %v: %v", c.i, c.j, err)
		} else if got := tensor.View[float32](out["z"]); !slices.Equal(got, c.want) {
			t.Errorf("indices %v and %v: %v, want %v", c.i, c.j, got, c.want)
		}
	}
}

// TestTables checks that few rows of a large table are read on the CPU. Copying the table takes
// longer than the device saves.
func TestTables(t *testing.T) {
	s := &single{constant: func(i int, _ *tensor.Tensor) bool { return i == 0 }}
	m, in := s.model(node("Gather", "ab", "y"),
		[]*tensor.Tensor{tensor.New(tensor.F32, 100000, 64), tensorOf(t, []int64{3, 5}, 2)})
	m.Graph.Nodes = append(m.Graph.Nodes, node("Cast", "y", "z", ints("to", 11))) // float64, without shaders
	m.Graph.Outputs = []*graph.Value{{Name: "z"}}
	_, prof, err := session(t, m, accelerator(t, open(t, vulkan.Options{}))).Profile(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range prof.Steps {
		if strings.HasPrefix(step.How, "vul") {
			t.Errorf("%s runs as %s", step.Op, step.How)
		}
	}
}

// TestFaultMessages checks the errors of runs that fail at elements of an input, by operator.
func TestFaultMessages(t *testing.T) {
	x := tensorOf(t, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	s := &single{device: open(t, vulkan.Options{Everything: true}),
		constant: func(int, *tensor.Tensor) bool { return false }, offload: map[string]int{}}
	for _, c := range []struct {
		op   string
		in   []*tensor.Tensor
		says string
	}{
		{"CumSum", []*tensor.Tensor{x, tensorOf(t, []int64{2}, 1)}, "axis 2 is not one of a value with 2 axes"},
		{"CumSum", []*tensor.Tensor{x, tensorOf(t, []int32{-3}, 1)}, "axis -3 is not one of a value with 2 axes"},
		{"ReverseSequence", []*tensor.Tensor{x, tensorOf(t, []int64{1, 2, 3}, 3)}, "the length of sequence 2 is not in 0..2"},
		{"ReverseSequence", []*tensor.Tensor{x, tensorOf(t, []int64{1, -1, 3}, 3)}, "the length of sequence 1 is not in 0..2"},
		{"GatherElements", []*tensor.Tensor{x, tensorOf(t, []int64{0, -2, 2}, 1, 3)}, "element 2 of the indices is not in -2..1"},
		{"GatherND", []*tensor.Tensor{x, tensorOf(t, []int64{0, 2, 1, 3}, 2, 2)}, "element 3 of the indices names no place of the axes [2,3]"},
		{"ScatterElements", []*tensor.Tensor{x, tensorOf(t, []int64{0, -3, 0}, 1, 3), tensorOf(t, []float32{1, 2, 3}, 1, 3)}, "element 1 of the indices"},
		{"ScatterND", []*tensor.Tensor{x, tensorOf(t, []int64{0, 2}, 2, 1), tensorOf(t, []float32{1, 2, 3, 4, 5, 6}, 2, 3)}, "element 1 of the indices"},
	} {
		n := &graph.Node{Name: c.op, Op: c.op, Version: 17, Inputs: []string{"a", "b", "c"}[:len(c.in)],
			Outputs: []string{"y"}}
		if _, err := onCPU(s, n, c.in); !errors.Is(err, graph.ErrShape) {
			t.Errorf("%s on the CPU: error %v", c.op, err)
		}
		if _, err := s.eval(n, c.in); !errors.Is(err, graph.ErrShape) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want %q", c.op, err, c.says)
		}
	}
}

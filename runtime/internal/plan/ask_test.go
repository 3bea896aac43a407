package plan_test

import (
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/internal/stages"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/optest"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestPostponed plans a running sum along an axis that another node computes. The sum and its
// reader go to the next stage, the other nodes stay, and no stage is planned twice.
func TestPostponed(t *testing.T) {
	axis := graph.TensorOf(tensor.I64, graph.Dims{})
	x := graph.TensorOf(tensor.F32, graph.DimsOf(tensor.Shape{4, 8}))
	node := func(op, out string, in ...string) *graph.Node {
		return &graph.Node{Name: out, Op: op, Version: 14, Inputs: in, Outputs: []string{out}}
	}
	g := &graph.Graph{
		Inputs:  []*graph.Value{{Name: "x", Type: x}, {Name: "a", Type: axis}},
		Outputs: []*graph.Value{{Name: "y"}, {Name: "z"}},
		Nodes: []*graph.Node{
			node("Neg", "axis", "a"), node("CumSum", "sum", "x", "axis"), node("Exp", "w", "x"),
			node("Exp", "y", "sum"), node("Abs", "z", "w"),
		},
	}
	p, err := plan.Compile(&graph.Model{File: "m", Graph: g}, standard.Registry(), optest.Device(t))
	if err != nil {
		t.Fatal(err)
	}
	times := &stages.Times{}
	ctx := stages.With(t.Context(), times)
	pl, err := p.ForTypes(ctx, []graph.Type{x, axis})
	if err != nil {
		t.Fatal(err)
	}
	steps(t, pl, "axis", "w", "z")
	values := make([]tensor.Value, len(p.Names))
	for id, name := range p.Names {
		switch name {
		case "axis":
			values[id] = kit.Scalar(int64(-1))
		case "x", "z":
			values[id] = tensor.New(tensor.F32, 4, 8)
		}
	}
	next, err := pl.Next(ctx, values)
	if err != nil {
		t.Fatal(err)
	}
	steps(t, next, "sum", "y")
	for _, s := range times.List() {
		if s.Name == "plan: infer" && s.Calls != 2 {
			t.Errorf("two stages were inferred %d times", s.Calls)
		}
	}
}

// steps checks the names of the nodes of a plan.
func steps(t *testing.T, pl *plan.Plan, want ...string) {
	t.Helper()
	var got []string
	for i := range pl.Steps {
		got = append(got, pl.Steps[i].Name)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("steps %v, want %v", got, want)
	}
}

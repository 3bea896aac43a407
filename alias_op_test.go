package nacre_test

import (
	"context"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// alias is an operator with a result that shares the memory of its input.
type alias struct{}

func (alias) Infer(c *op.Infer) error {
	c.Set(0, tensor.F32, c.In[0].Dims)
	return nil
}

func (alias) Run(c *op.Run) error {
	t, err := tensor.From(tensor.View[float32](c.In[0]), c.In[0].Shape()...)
	c.Set(0, t)
	return err
}

func withAlias(t *testing.T) *op.Registry {
	t.Helper()
	r := standard.Registry()
	err := r.Register(op.Row{
		Domain: "org.example", Name: "Alias", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, DynamicOutputs: true,
		New: func(*op.Node) (op.Op, error) { return alias{}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func aliasNode(in, out string) *graph.Node {
	return &graph.Node{Domain: "org.example", Op: "Alias", Version: 1, Inputs: []string{in}, Outputs: []string{out}}
}

// TestOperatorPassesMemoryOn runs an operator that returns the memory of its input in a new tensor,
// where this memory is later reused for other values.
func TestOperatorPassesMemoryOn(t *testing.T) {
	r := withAlias(t)
	// loop computes y from x in three iterations of nodes that compute w from v.
	loop := func(nodes ...*graph.Node) *graph.Node {
		return standardNode("Loop", "n c x", "y", &graph.Attr{Name: "body", Kind: graph.AttrGraph, Graph: &graph.Graph{
			Name: "body",
			Inputs: []*graph.Value{
				{Name: "i", Type: graph.TensorOf(tensor.I64, graph.Dims{})},
				{Name: "before", Type: graph.TensorOf(tensor.Bool, graph.Dims{})}, vectorOf("v", "n"),
			},
			Outputs: []*graph.Value{{Name: "after"}, {Name: "w"}},
			Nodes:   append([]*graph.Node{standardNode("Identity", "before", "after")}, nodes...),
		}})
	}
	count, err := tensor.From([]int64{3})
	if err != nil {
		t.Fatal(err)
	}
	always, err := tensor.From([]bool{true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		nodes []*graph.Node
		want  []float32
	}{
		{"between nodes", []*graph.Node{
			standardNode("Neg", "x", "a"), aliasNode("a", "b"), standardNode("Exp", "x", "e"), standardNode("Sqrt", "e", "f"),
			standardNode("Floor", "f", "g"), standardNode("Sub", "g g", "h"), standardNode("Add", "b h", "y"),
		}, []float32{-1, -2}},
		{"out of a loop", []*graph.Node{loop(standardNode("Add", "v v", "s"), aliasNode("s", "w"))}, []float32{8, 16}},
		{"of what a loop reads", []*graph.Node{loop(aliasNode("v", "w"))}, []float32{1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &graph.Graph{
				Inputs: []*graph.Value{vectorOf("x", "n")}, Outputs: []*graph.Value{{Name: "y"}},
				Initializers: []*graph.Initializer{{Name: "n", Tensor: count}, {Name: "c", Tensor: always}}, Nodes: c.nodes,
			}
			s := ready(t, opened(t, g), nacre.Options{Operators: r, Threads: 1})
			x, err := nacre.NewTensor([]float32{1, 2}, 2)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				out, err := s.Run(context.Background(), map[string]*nacre.Tensor{"x": x})
				if err != nil {
					t.Fatal(err)
				}
				got, err := nacre.Data[float32](out["y"])
				if err != nil || !slices.Equal(got, c.want) {
					t.Fatalf("%v, %v; want %v", got, err, c.want)
				}
			}
		})
	}
}

// TestOperatorPassesStateOn runs an operator that returns the memory of a state in a new tensor,
// where the run updates the state.
func TestOperatorPassesStateOn(t *testing.T) {
	s := ready(t, opened(t, &graph.Graph{
		Inputs:  []*graph.Value{vectorOf("h", "n"), vectorOf("x", "n")},
		Outputs: []*graph.Value{vectorOf("next", "n"), vectorOf("y", "n")},
		Nodes: []*graph.Node{
			aliasNode("h", "before"), standardNode("Add", "h x", "next"), standardNode("Neg", "before", "y"),
		},
	}), nacre.Options{Operators: withAlias(t), Threads: 1})
	st, err := s.NewStream(context.Background(),
		nacre.StreamOptions{States: []nacre.State{{Input: "h", Output: "next", Axis: -1}}})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	x, err := nacre.NewTensor([]float32{1, 2}, 2)
	if err != nil {
		t.Fatal(err)
	}
	check := func(y *nacre.Tensor, run int) {
		t.Helper()
		want := []float32{float32(-run), float32(-2 * run)}
		if got, err := nacre.Data[float32](y); err != nil || !slices.Equal(got, want) {
			t.Fatalf("run %d gives %v, %v; want %v", run, got, err, want)
		}
	}
	in := map[string]*nacre.Tensor{"x": x}
	for run := range 3 {
		out, err := st.Run(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		check(out["y"], run)
	}
	b, err := st.Bind(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for run := 3; run < 6; run++ {
		if err := b.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		check(b.Output("y"), run)
	}
}

package nacre_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func snakeOf(x []float32, times int) []float32 {
	y := slices.Clone(x)
	for range times {
		for i, v := range y {
			s := math.Sin(2 * float64(v))
			y[i] = v + float32(s*s/2)
		}
	}
	return y
}

func withSnake(t *testing.T) *op.Registry {
	t.Helper()
	r := standard.Registry()
	if err := r.Register(snakeRow); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCustomOperator runs a registered operator in every place that a node can have.
func TestCustomOperator(t *testing.T) {
	vector := graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("n")})
	x, y := &graph.Value{Name: "x", Type: vector}, &graph.Value{Name: "y", Type: vector}
	standard := func(name, in, out string, attrs ...*graph.Attr) *graph.Node {
		return &graph.Node{Op: name, Version: 21, Inputs: strings.Fields(in), Outputs: strings.Fields(out), Attrs: attrs}
	}
	branch := func(name, out string, nodes ...*graph.Node) *graph.Attr {
		return &graph.Attr{Name: name, Kind: graph.AttrGraph,
			Graph: &graph.Graph{Name: name, Outputs: []*graph.Value{{Name: out}}, Nodes: nodes}}
	}
	count, err := tensor.From([]int64{3})
	if err != nil {
		t.Fatal(err)
	}
	given, err := tensor.From([]float32{-1, 0.5, 3}, 3)
	if err != nil {
		t.Fatal(err)
	}
	loop := &graph.Graph{
		Name: "body",
		Inputs: []*graph.Value{
			{Name: "i", Type: graph.TensorOf(tensor.I64, graph.Dims{})}, {Name: "c", Type: graph.TensorOf(tensor.Bool, graph.Dims{})}, {Name: "v", Type: vector},
		},
		Outputs: []*graph.Value{{Name: "d"}, {Name: "w"}},
		Nodes:   []*graph.Node{standard("Identity", "c", "d"), snakeNode("v", "w")},
	}
	for _, c := range []struct {
		name      string
		nodes     []*graph.Node
		constants []*graph.Initializer
		functions []*graph.Function
		times     int
		constant  bool // the input is not used
	}{
		{name: "chain", times: 2, nodes: []*graph.Node{snakeNode("x", "a"), snakeNode("a", "y")}},
		{
			name: "graph of a branch", times: 1,
			nodes: []*graph.Node{
				standard("ReduceMax", "x", "m", &graph.Attr{Name: "keepdims", Kind: graph.AttrInt}),
				standard("Cast", "m", "c", &graph.Attr{Name: "to", Kind: graph.AttrInt, Int: 9}),
				standard("If", "c", "y", branch("then_branch", "a", snakeNode("x", "a")), branch("else_branch", "b", standard("Neg", "x", "b"))),
			},
		},
		{
			name: "graph of a loop", times: 3, constants: []*graph.Initializer{{Name: "count", Tensor: count}},
			nodes: []*graph.Node{{
				Op: "Loop", Version: 21, Inputs: []string{"count", "", "x"}, Outputs: []string{"y"},
				Attrs: []*graph.Attr{{Name: "body", Kind: graph.AttrGraph, Graph: loop}},
			}},
		},
		{
			name: "function of the model", times: 2,
			nodes: []*graph.Node{{Domain: "org.example", Op: "Twice", Version: 1, Inputs: []string{"x"}, Outputs: []string{"y"}}},
			functions: []*graph.Function{{
				Domain: "org.example", Name: "Twice", Inputs: []string{"a"}, Outputs: []string{"c"},
				Opsets: []graph.Opset{{Domain: "org.example", Version: 1}},
				Nodes:  []*graph.Node{snakeNode("a", "b"), snakeNode("b", "c")},
			}},
		},
		{
			name: "constant", times: 1, constant: true, constants: []*graph.Initializer{{Name: "k", Tensor: given}},
			nodes: []*graph.Node{snakeNode("k", "y")},
		},
	} {
		file := encoded(&graph.Graph{
			Inputs: []*graph.Value{x}, Outputs: []*graph.Value{y}, Nodes: c.nodes, Initializers: c.constants,
		}, c.functions...)
		for _, as := range []nacre.Options{{Operators: withSnake(t)},
			{Operators: withSnake(t), NoOptimize: true, Threads: 1}} {
			t.Run(c.name, func(t *testing.T) {
				values := []float32{-2, 0, 0.25, 1, 5}
				if c.constant {
					values = tensor.View[float32](given)
				}
				if got, want := custom(t, file, as, values), snakeOf(values, c.times); !slices.Equal(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
			})
		}
	}
}

// custom runs a file on a vector.
func custom(t *testing.T, file []byte, o nacre.Options, x []float32) []float32 {
	t.Helper()
	m, err := nacre.Decode("custom.onnx", file)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := m.NewSession(o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in, err := nacre.NewTensor(slices.Clone(x), len(x))
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Run(context.Background(), map[string]*nacre.Tensor{"x": in})
	if err != nil {
		t.Fatal(err)
	}
	if given, err := nacre.Data[float32](in); err != nil || !slices.Equal(given, x) {
		t.Error("the run wrote to its input")
	}
	y, err := nacre.Data[float32](out["y"])
	if err != nil {
		t.Fatal(err)
	}
	return y
}

// faulty is an operator that panics.
type faulty struct{ snake }

func (*faulty) Run(*op.Run) error { panic("no such place") }

// TestCustomOperatorErrors checks the messages about custom operators.
func TestCustomOperatorErrors(t *testing.T) {
	row := func(change func(*op.Row)) op.Row { r := snakeRow; change(&r); return r }
	for _, c := range []struct {
		name string
		rows []op.Row
		want []string
	}{
		{"nobody registers it", nil, []string{"snake.onnx", "org.example.Snake-1", "is not implemented", "op.Registry.Register"}},
		{"a near name", []op.Row{row(func(r *op.Row) { r.Name = "Snakes" })}, []string{"near it: ", "org.example.Snakes"}},
		{"registered twice", []op.Row{snakeRow, snakeRow}, []string{"org.example.Snake is registered already"}},
		{"no constructor", []op.Row{row(func(r *op.Row) { r.New = nil })}, []string{"no constructor"}},
		{"a later version", []op.Row{row(func(r *op.Row) { r.Since = []int{2} })}, []string{"org.example.Snake-1", "came with version 2"}},
		{"another type", []op.Row{row(func(r *op.Row) { r.Types = op.Types{tensor.I8} })}, []string{"float32", "takes int8"}},
		{"too many inputs", []op.Row{row(func(r *op.Row) { r.In = [2]int{2, 2} })}, []string{"has 1 inputs", "takes 2"}},
		{"an attribute that it does not ask for", []op.Row{row(func(r *op.Row) {
			r.New = func(*op.Node) (op.Op, error) { return &snake{1}, nil }
		})}, []string{"alpha"}},
		{"a panic", []op.Row{row(func(r *op.Row) {
			r.New = func(n *op.Node) (op.Op, error) { n.Ignore("alpha"); return &faulty{}, nil }
		})}, []string{"internal error", "no such place", "org.example.Snake-1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := brought(c.rows)
			if err == nil {
				t.Fatal("there is no error")
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q: %v", part, err)
				}
			}
		})
	}
	if err := brought(nil); !errors.Is(err, nacre.ErrUnsupported) {
		t.Errorf("an operator that nobody has is %v, not unsupported", err)
	}
}

// brought registers the rows, runs Snake, and returns the error.
func brought(rows []op.Row) error {
	r := standard.Registry()
	for _, row := range rows {
		if err := r.Register(row); err != nil {
			return err
		}
	}
	m, err := nacre.Decode("snake.onnx", snakeModel())
	if err != nil {
		return err
	}
	defer m.Close()
	s, err := m.NewSession(nacre.Options{Operators: r})
	if err != nil {
		return err
	}
	defer s.Close()
	x, err := nacre.Zeros(nacre.Float32, 3)
	if err != nil {
		return err
	}
	_, err = s.Run(context.Background(), map[string]*nacre.Tensor{"x": x})
	return err
}

// TestOperatorMadeOnce counts how often a session makes the operator of a node: once, also if
// passes change the graph around it and runs have several shapes.
func TestOperatorMadeOnce(t *testing.T) {
	made := 0
	row := snakeRow
	row.New = func(n *op.Node) (op.Op, error) {
		made++
		return snakeRow.New(n)
	}
	r := standard.Registry()
	if err := r.Register(row); err != nil {
		t.Fatal(err)
	}
	g := &graph.Graph{
		Inputs: []*graph.Value{vectorOf("x", "n")}, Outputs: []*graph.Value{{Name: "y"}},
		Nodes: []*graph.Node{
			standardNode("Sigmoid", "x", "s"), standardNode("Mul", "x s", "swish"),
			{Domain: snakeRow.Domain, Op: snakeRow.Name, Version: 1, Inputs: []string{"swish"}, Outputs: []string{"z"}},
			standardNode("Neg", "z", "y"),
		},
	}
	s := ready(t, opened(t, g), nacre.Options{Operators: r, Threads: 1})
	for n := range 3 {
		if _, err := s.Run(context.Background(), map[string]*nacre.Tensor{"x": zeros(t, nacre.Float32, n+1)}); err != nil {
			t.Fatal(err)
		}
	}
	if made != 1 {
		t.Errorf("the operator of one node was made %d times", made)
	}
}

// TestCustomOperatorSaved saves a model that a program builds with an operator of its own, and runs the file.
func TestCustomOperatorSaved(t *testing.T) {
	vector := graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("n")})
	b := graph.NewBuilder("built")
	x := b.Input("x", vector)
	y := b.Node("org.example", "Snake", []string{x}, 1, &graph.Attr{Name: "alpha", Kind: graph.AttrFloat, Float: 2})
	b.Output(y[0], "y", vector)
	file := filepath.Join(t.TempDir(), "built.onnx")
	if err := formats.Save(file, b.Model(&graph.Model{}), formats.Options{}); err != nil {
		t.Fatal(err)
	}
	m, err := nacre.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	s := ready(t, m, nacre.Options{Operators: withSnake(t)})
	in := []float32{-1, 0.5, 3}
	out, err := s.Run(t.Context(), map[string]*nacre.Tensor{"x": tensorOf(t, in, 3)})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := nacre.Data[float32](out["y"]); err != nil || !slices.Equal(got, snakeOf(in, 1)) {
		t.Errorf("%v, %v, want %v", got, err, snakeOf(in, 1))
	}
}

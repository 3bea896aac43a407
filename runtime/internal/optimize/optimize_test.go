package optimize_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/internal/optimize"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// double multiplies float32 by a factor, 2 unless the node's attribute says otherwise.
type double struct{ factor float32 }

func (double) Infer(c *op.Infer) error {
	c.Set(0, tensor.F32, c.In[0].Dims)
	return nil
}

func (d double) Run(c *op.Run) error {
	for i, v := range tensor.View[float32](c.In[0]) {
		tensor.View[float32](c.Out[0])[i] = d.factor * v
	}
	return nil
}

func context(t *testing.T) optimize.Context {
	r := &op.Registry{}
	err := r.Register(op.Row{Domain: "test", Name: "Double", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1},
		New: func(n *op.Node) (op.Op, error) { return double{n.Float("factor", 2)}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return contextOf(r)
}

// contextOf returns a context that computes nodes with the scalar kernels.
func contextOf(r *op.Registry) optimize.Context {
	return optimize.Context{Registry: r, Eval: func(n *graph.Node, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
		return cpu.Eval(r, n, 0, nil, in)
	}}
}

func node(op, in, out string, attrs ...*graph.Attr) *graph.Node {
	return &graph.Node{Name: "n_" + out, Domain: "test", Op: op, Version: 1, Inputs: []string{in},
		Outputs: []string{out}, Attrs: attrs}
}

func value(name string) *graph.Value {
	return &graph.Value{Name: name, Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Known(2)})}
}

func model(nodes ...*graph.Node) *graph.Model {
	c, err := tensor.From([]float32{1, 3}, 2)
	if err != nil {
		panic(err)
	}
	return &graph.Model{Format: "test", Graph: &graph.Graph{
		Name: "g", Nodes: nodes, Inputs: []*graph.Value{value("x")}, Outputs: []*graph.Value{value("y")},
		Initializers: []*graph.Initializer{{Name: "c", Tensor: c}},
	}}
}

func ref(name, of string) *graph.Attr { return &graph.Attr{Name: name, Kind: graph.AttrFloat, Ref: of} }

func factor(f float32) *graph.Attr {
	return &graph.Attr{Name: "factor", Kind: graph.AttrFloat, Float: f}
}

// TestGolden compares the dump after all passes with the expected one.
func TestGolden(t *testing.T) {
	scale := &graph.Function{Domain: "test", Name: "Scale", Inputs: []string{"a"}, Outputs: []string{"b"},
		Attrs: []string{"by"}, Defaults: []*graph.Attr{{Name: "twice", Kind: graph.AttrFloat, Float: 5}},
		Nodes: []*graph.Node{node("Double", "a", "t", ref("factor", "by")), node("Double", "t", "b", ref("factor", "twice"))}}
	nested := &graph.Function{Domain: "test", Name: "Nested", Inputs: []string{"a"}, Outputs: []string{"b"},
		Nodes: []*graph.Node{node("Scale", "a", "t", &graph.Attr{Name: "by", Kind: graph.AttrFloat, Float: 7}), node("Double", "t", "b")}}
	withFunctions := func(m *graph.Model) *graph.Model {
		m.Functions = []*graph.Function{scale, nested}
		return m
	}
	for _, tt := range []struct {
		name  string
		model *graph.Model
	}{
		{"fold_const", model(node("Double", "c", "d"), node("Double", "d", "e"), node("Double", "e", "y"))},
		{"drop_dead", model(node("Double", "x", "unused"), node("Double", "x", "y"))},
		{"inline_functions", withFunctions(model(node("Nested", "x", "m"), node("Scale", "m", "y", &graph.Attr{Name: "by", Kind: graph.AttrFloat, Float: 9})))},
		{"unknown_operator", model(node("Mystery", "c", "d"), node("Double", "d", "y", factor(3)))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := dump(t, tt.model)
			m, err := optimize.Run(tt.model, optimize.Passes(), context(t))
			if err != nil {
				t.Fatal(err)
			}
			if dump(t, tt.model) != before {
				t.Error("the model passed in was changed")
			}
			m.Functions = nil
			got := dump(t, m)
			file := filepath.Join("testdata", tt.name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// TestInlineLimit expands functions that double their size at every level.
func TestInlineLimit(t *testing.T) {
	m := model(node("F40", "x", "y"))
	for i := range 41 {
		f := &graph.Function{Domain: "test", Name: name(i), Inputs: []string{"a"}, Outputs: []string{"b"}}
		callee := "Double"
		if i > 0 {
			callee = name(i - 1)
		}
		f.Nodes = []*graph.Node{node(callee, "a", "t"), node(callee, "t", "b")}
		m.Functions = append(m.Functions, f)
	}
	if _, err := optimize.Run(m, optimize.Required(), context(t)); err == nil {
		t.Error("2^41 nodes were made")
	}
}

func name(i int) string { return "F" + string(rune('0'+i/10)) + string(rune('0'+i%10)) }

func dump(t *testing.T, m *graph.Model) string {
	t.Helper()
	var b bytes.Buffer
	if err := graph.Dump(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

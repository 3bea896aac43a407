package plan_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// unary copies its input, with unknown extents if unknown is set.
type unary struct{ unknown bool }

func (u unary) Infer(c *op.Infer) error {
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	if u.unknown {
		c.Set(0, c.In[0].DType, nil)
	}
	return nil
}

func (unary) Run(*op.Run) error { return nil }

func registry(t *testing.T) *op.Registry {
	r := &op.Registry{}
	newUnary := func(u unary) func(*op.Node) (op.Op, error) {
		return func(*op.Node) (op.Op, error) { return u, nil }
	}
	for _, row := range []op.Row{
		{Name: "Copy", In: [2]int{1, 2}, Out: [2]int{1, 1}, New: newUnary(unary{})},
		{Name: "Over", In: [2]int{1, 2}, Out: [2]int{1, 1}, InPlace: []int{0}, New: newUnary(unary{})},
		{Name: "View", In: [2]int{1, 1}, Out: [2]int{1, 1}, View: true, New: newUnary(unary{})},
		{Name: "Hide", In: [2]int{1, 1}, Out: [2]int{1, 1}, New: newUnary(unary{unknown: true})},
		{Name: "Floats", In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Types{tensor.F32}, New: newUnary(unary{})},
	} {
		row.Domain, row.Since = "test", []int{1}
		if err := r.Register(row); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// parse reads a graph: "in a b", "out y", "const c", or "y = Op x".
func parse(t *testing.T, text string) *graph.Model {
	g := &graph.Graph{}
	value := func(name string) *graph.Value {
		return &graph.Value{Name: name, Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("n"), graph.Known(8)})}
	}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || strings.HasPrefix(f[0], "#"):
		case f[0] == "in":
			for _, name := range f[1:] {
				g.Inputs = append(g.Inputs, value(name))
			}
		case f[0] == "out":
			for _, name := range f[1:] {
				g.Outputs = append(g.Outputs, value(name))
			}
		case f[0] == "const":
			for _, name := range f[1:] {
				g.Initializers = append(g.Initializers, &graph.Initializer{Name: name, Tensor: tensor.New(tensor.I8, 4)})
			}
		case len(f) > 2 && f[1] == "=":
			g.Nodes = append(g.Nodes, &graph.Node{Name: "n_" + f[0], Domain: "test", Op: f[2], Version: 1, Inputs: f[3:],
				Outputs: f[:1]})
		default:
			t.Fatalf("cannot read %q", line)
		}
	}
	return &graph.Model{File: "m", Graph: g}
}

// TestGolden plans every graph of testdata/*.txt for inputs of shape [4,8] and compares the dump
// with the text after the line "---".
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			input, want, _ := strings.Cut(string(text), "---\n")
			got := dump(t, input)
			if *update {
				if err := os.WriteFile(file, []byte(input+"---\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

func dump(t *testing.T, text string) string {
	m := parse(t, text)
	p, err := plan.Compile(m, registry(t), optest.Device(t))
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	types := make([]graph.Type, len(p.Inputs))
	for i := range types {
		types[i] = graph.TensorOf(tensor.F32, graph.DimsOf(tensor.Shape{4, 8}))
	}
	pl, err := p.Plan(types)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	return pl.String()
}

func TestCompileErrors(t *testing.T) {
	for _, tt := range []struct {
		name, graph string
		kind        error
		say         []string
	}{
		{"unknown operator", "in a\nout y\ny = Copyy a", graph.ErrUnsupported, []string{"n_y", "test.Copyy-1", "test.Copy"}},
		{"cycle", "in a\nout y\ny = Copy a z\nz = Copy y", graph.ErrFormat, []string{"computed by no node"}},
		{"dangling", "in a\nout y\ny = Copy a z", graph.ErrFormat, []string{"computed by no node"}},
		{"missing output", "in a\nout y\nz = Copy a", graph.ErrFormat, []string{`"y"`}},
		{"too many inputs", "in a\nout y\ny = Copy a a a", graph.ErrFormat, []string{"3 inputs", "1 to 2"}},
		{"element type", "const c\nout y\ny = Floats c", graph.ErrUnsupported, []string{"int8", "float32"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := plan.Compile(parse(t, tt.graph), registry(t), optest.Device(t))
			if !errors.Is(err, tt.kind) {
				t.Fatalf("got %v", err)
			}
			for _, s := range tt.say {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
		})
	}
}

// TestTooLarge plans values that no machine can hold. None may be allocated.
func TestTooLarge(t *testing.T) {
	p, err := plan.Compile(parse(t, "in a\nout y\nb = Copy a\ny = Copy b"), registry(t), optest.Device(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1 << 47, 1 << 57} {
		_, err := p.Plan([]graph.Type{graph.TensorOf(tensor.F32, graph.DimsOf(tensor.Shape{n, 8}))})
		if !errors.Is(err, graph.ErrShape) {
			t.Errorf("%d rows: %v", n, err)
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestOperator runs y = Snake(x + 1) at x = 0, where it is 1 + sin(2)²/2 = 1.4134.
func TestOperator(t *testing.T) {
	testenv.Need(t, bindings.Available())
	for _, c := range []struct {
		alpha float32
		want  string // in the output or the error
	}{{2, "1.4134"}, {0, "alpha is 0"}} {
		b := graph.NewBuilder("snake")
		vector := graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("n")})
		one, err := tensor.From([]float32{1})
		if err != nil {
			t.Fatal(err)
		}
		x := b.Op("Add", []string{b.Input("x", vector), b.Weight(&graph.Initializer{Name: "one", Tensor: one})})
		b.Output(x, "sum", vector)
		m := b.Model(&graph.Model{IR: 8, Opsets: []graph.Opset{{Version: 17}, {Domain: "org.example", Version: 1}}})
		m.Graph.Nodes = append(m.Graph.Nodes, &graph.Node{Domain: "org.example", Op: "Snake", Version: 1, Inputs: []string{"sum"}, Outputs: []string{"y"},
			Attrs: []*graph.Attr{{Name: "alpha", Kind: graph.AttrFloat, Float: c.alpha}}})
		m.Graph.Outputs = []*graph.Value{{Name: "y", Type: vector}}
		file := filepath.Join(t.TempDir(), "snake.onnx")
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := onnx.Write(f, m); err != nil {
			t.Fatal(err)
		}
		f.Close()
		var out strings.Builder
		err = run(&out, file)
		if got := out.String(); !strings.Contains(got, c.want) && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("alpha %v: %q, %v; want %q", c.alpha, got, err, c.want)
		}
	}
}

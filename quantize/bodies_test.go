package quantize_test

import (
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/quantize"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestBodies quantises weights in the bodies of If: the branches have a weight of the same name each,
// and read one of the graph around them.
func TestBodies(t *testing.T) {
	const version = 21
	wide := graph.TensorOf(tensor.F32, graph.Dims{graph.Known(4), graph.Known(64)})
	branch := func(seed int) *graph.Graph {
		own := random(t, tensor.F32, 64, 64)
		for i, v := range tensor.View[float32](own) {
			tensor.View[float32](own)[i] = v * float32(seed+i%3) / 4
		}
		name := string(rune('a' + seed))
		return &graph.Graph{Name: name, Outputs: []*graph.Value{{Name: name + "_y", Type: wide}},
			Initializers: []*graph.Initializer{{Name: "W", Tensor: own}},
			Nodes: []*graph.Node{
				{Name: name + "1", Op: "MatMul", Version: version, Inputs: []string{"x", "W"}, Outputs: []string{name + "_own"}},
				{Name: name + "2", Op: "MatMul", Version: version, Inputs: []string{name + "_own", "shared"}, Outputs: []string{name + "_y"}},
			}}
	}
	attr := func(name string, g *graph.Graph) *graph.Attr {
		return &graph.Attr{Name: name, Kind: graph.AttrGraph, Graph: g}
	}
	m := &graph.Model{Format: onnx.Name, IR: 10, Opsets: []graph.Opset{{Version: version}}, Graph: &graph.Graph{
		Name:         "g",
		Inputs:       []*graph.Value{{Name: "x", Type: wide}, {Name: "first", Type: graph.TensorOf(tensor.Bool, graph.Dims{})}},
		Outputs:      []*graph.Value{{Name: "y", Type: wide}},
		Initializers: []*graph.Initializer{{Name: "shared", Tensor: random(t, tensor.F32, 64, 64)}},
		Nodes: []*graph.Node{{Name: "if", Op: "If", Version: version, Inputs: []string{"first"}, Outputs: []string{"y"},
			Attrs: []*graph.Attr{attr("then_branch", branch(1)), attr("else_branch", branch(2))}}},
	}}
	runs := func(yield func(map[string]*nacre.Tensor, error) bool) {
		for i := range 2 {
			first := tensor.New(tensor.Bool)
			first.Bytes()[0] = byte(i)
			if !yield(map[string]*nacre.Tensor{"x": given(t, random(t, tensor.F32, 4, 64)), "first": given(t, first)}, nil) {
				return
			}
		}
	}
	for name, most := range map[string]float64{"q8": 0.01, "q4": 0.15, "int8": 0.015, "int4": 0.15} {
		made, report, err := quantize.Model(t.Context(), m, quantize.Options{Type: typeOf(t, name)})
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Layers) != 3 {
			t.Errorf("%s: %d weights, want 3", name, len(report.Layers))
		}
		for _, a := range made.Graph.Nodes[len(made.Graph.Nodes)-1].Attrs {
			if n := len(a.Graph.Initializers); n != 0 {
				t.Errorf("%s: %s still has %d constants", name, a.Name, n)
			}
		}
		path := t.TempDir() + "/bodies.onnx"
		if err := formats.SaveAs(path, onnx.Name, made, formats.Options{}); err != nil {
			t.Fatal(err)
		}
		again, err := nacre.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		network, err := again.Network()
		if err != nil {
			t.Fatal(err)
		}
		d, err := quantize.Compare(t.Context(), m, network, runs, nacre.Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		if !(d.Error > 0) || d.Error > most {
			t.Errorf("%s: error %g", name, d.Error)
		}
		again.Close()
	}
}

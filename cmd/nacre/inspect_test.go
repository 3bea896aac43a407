package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestInspectRequired tells required inputs from inputs with a value in the model.
func TestInspectRequired(t *testing.T) {
	vector := graph.TensorOf(tensor.F32, graph.Dims{graph.Known(2)})
	path := filepath.Join(t.TempDir(), "listed.onnx")
	err := formats.Save(path, &graph.Model{IR: 3, Opsets: []graph.Opset{{Version: 7}}, Graph: &graph.Graph{
		Name: "listed", Inputs: []*graph.Value{{Name: "x", Type: vector}, {Name: "w", Type: vector}}, Outputs: []*graph.Value{{Name: "y", Type: vector}},
		Initializers: []*graph.Initializer{{Name: "w", Tensor: tensor.New(tensor.F32, 2)}},
		Nodes:        []*graph.Node{{Op: "Add", Version: 7, Inputs: []string{"x", "w"}, Outputs: []string{"y"}}},
	}}, formats.Options{})
	if err != nil {
		t.Fatal(err)
	}
	code, text, stderr := call("inspect", path, "--json")
	if code != 0 {
		t.Fatal(stderr)
	}
	var r struct{ Inputs, Outputs []map[string]any }
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Inputs) != 2 || r.Inputs[0]["required"] != true || r.Inputs[1]["required"] != false {
		t.Errorf("inputs are %v", r.Inputs)
	}
	if _, ok := r.Outputs[0]["required"]; ok {
		t.Errorf("outputs are %v", r.Outputs)
	}
	if _, text, _ = call("inspect", path); strings.Count(text, "has a value in the model") != 1 {
		t.Errorf("the text is\n%s", text)
	}
}

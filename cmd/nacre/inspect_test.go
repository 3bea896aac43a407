package main

import (
	"encoding/json"
	"fmt"
	"os"
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
	if _, text, _ = call("inspect", path); strings.Count(text, "  has a value in the model") != 1 {
		t.Errorf("the text is\n%s", text)
	}
}

// TestInspectWeightsThatAreInputs counts the inputs with values that would hide the others.
func TestInspectWeightsThatAreInputs(t *testing.T) {
	f := graph.TensorOf(tensor.F32, graph.Dims{graph.Known(1)})
	g := &graph.Graph{Name: "old", Inputs: []*graph.Value{{Name: "x", Type: f}}, Outputs: []*graph.Value{{Name: "y", Type: f}}}
	last := "x"
	for i := range mostGiven + 3 {
		w, out := fmt.Sprint("w", i), fmt.Sprint("v", i)
		if i == mostGiven+2 {
			out = "y"
		}
		g.Inputs = append(g.Inputs, &graph.Value{Name: w, Type: f})
		g.Initializers = append(g.Initializers, &graph.Initializer{Name: w, Tensor: tensor.New(tensor.F32, 1)})
		g.Nodes = append(g.Nodes, &graph.Node{Op: "Add", Version: 14, Inputs: []string{last, w}, Outputs: []string{out}})
		last = out
	}
	path := filepath.Join(t.TempDir(), "old.onnx")
	if err := formats.Save(path, &graph.Model{Graph: g, IR: 8, Opsets: []graph.Opset{{Version: 14}}}, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	code, text, stderr := call("inspect", path)
	if code != 0 || strings.Count(text, "\ninput ") != 1+mostGiven+1 || !strings.Contains(text, "3 more have a value in the model") {
		t.Errorf("%d\n%s\n%s", code, text, stderr)
	}
}

// layered saves a model of three equal layers with scopes, a constant within a node, and a weight that
// no node takes. Axis rows is open.
func layered(t *testing.T) string {
	t.Helper()
	f := graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("rows"), graph.Known(4)})
	g := &graph.Graph{Name: "layered", Inputs: []*graph.Value{{Name: "x", Type: f}}}
	add := func(name, op, out string, in ...string) string {
		g.Nodes = append(g.Nodes, &graph.Node{Name: name, Op: op, Version: 17, Inputs: in, Outputs: []string{out}})
		return out
	}
	weight := func(name string, shape ...int) string {
		g.Initializers = append(g.Initializers, &graph.Initializer{Name: name, Tensor: tensor.New(tensor.F32, shape...)})
		return name
	}
	x := "x"
	for k := range 3 {
		scope := fmt.Sprintf("/net/layer.%d/", k)
		a := add(scope+"MatMul", "MatMul", fmt.Sprintf("a%d", k), x, weight(fmt.Sprintf("w%d", k), 4, 4))
		x = add(scope+"Relu", "Relu", fmt.Sprintf("b%d", k), a)
	}
	g.Nodes = append(g.Nodes, &graph.Node{Op: "Constant", Version: 17, Outputs: []string{"half"},
		Attrs: []*graph.Attr{graph.TensorAttr("value", tensor.New(tensor.F32, 4))}})
	add("/Head", "Mul", "y", x, "half")
	weight("unused", 256)
	g.Outputs = []*graph.Value{{Name: "y", Type: f}}
	path := filepath.Join(t.TempDir(), "layered.onnx")
	if err := formats.Save(path, &graph.Model{IR: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: g}, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestInspectLayers prints layers as text and as JSON.
func TestInspectLayers(t *testing.T) {
	path := layered(t)
	code, text, stderr := call("inspect", path, "--layers", "--dim", "rows=2")
	if code != 0 {
		t.Fatal(stderr)
	}
	const want = `layer                  nodes  parameters  weights  operations  shapes
net/layer.0..2 x3          6          48    192 B         192  float32[2,4] -> float32[2,4]
  layer.0                  2          16     64 B          64  float32[2,4] -> float32[2,4]
    MatMul  MatMul-17      1          16     64 B          64  float32[2,4] -> float32[2,4]
/Head  Mul-17              1           4     16 B              float32[2,4] -> float32[2,4]
all                        7          52    208 B         192
not used by a node                        1.0 KiB
`
	if text != want {
		t.Errorf("the layers are\n%s", text)
	}
	if _, text, _ = call("inspect", path, "--layers"); !strings.HasPrefix(text, "rows = 1 (assumed; --dim rows=N sets it)\n") {
		t.Errorf("the text is\n%s", text)
	}
	var r printedLayers
	_, text, _ = call("inspect", path, "--layers", "--json")
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	if r.Total.Parameters != 52 || r.Total.Bytes != 208 || r.Total.Nodes != 7 || r.Total.Work != 96 || r.Unused != 1024 || r.Assumed["rows"] != 1 {
		t.Errorf("the sums are %+v, unused %d, assumed %v", r.Total, r.Unused, r.Assumed)
	}
	if _, text, _ = call("inspect", path); !strings.Contains(text, "4 tensors of 1216 bytes, and 1 of 16 bytes within nodes\n") {
		t.Errorf("the report is\n%s", text)
	}
}

// TestInspectNodes prints nodes, also of graphs within nodes, and finds some of them.
func TestInspectNodes(t *testing.T) {
	path := layered(t)
	code, text, stderr := call("inspect", path, "--nodes", "--filter", "LAYER.1")
	const want = "/net/layer.1/MatMul  MatMul-17  (b0 float32[rows,4], w1 float32[4,4]) -> (a1 float32[rows,4])\n" +
		"/net/layer.1/Relu  Relu-17  (a1 float32[rows,4]) -> (b1 float32[rows,4])\n"
	if code != 0 || text != want {
		t.Errorf("%d, %s\n%s", code, stderr, text)
	}
	var r printedNodes
	if _, text, _ = call("inspect", path, "--nodes", "--json"); json.Unmarshal([]byte(text), &r) != nil || len(r.Nodes) != 8 {
		t.Errorf("%d nodes in\n%s", len(r.Nodes), text)
	}
	for _, args := range [][]string{{"--filter", "x"}, {"--nodes", "--layers"}, {"--dim", "rows=2"}, {"--plan"}, {"--profile", "x"}} {
		if code, _, stderr := call(append([]string{"inspect", path}, args...)...); code != exitUsage {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
}

// TestInspectSteps draws the kernels of a plan, and the times of a run.
func TestInspectSteps(t *testing.T) {
	path, dir := layered(t), t.TempDir()
	trace, html, input := filepath.Join(dir, "trace.json"), filepath.Join(dir, "a.html"), filepath.Join(dir, "x.npy")
	if err := os.WriteFile(input, npyBytes(t, tensor.New(tensor.F32, 2, 4)), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := call("run", path, "--input", "x="+input, "--profile", trace); code != 0 {
		t.Fatal(stderr)
	}
	for _, c := range []struct {
		args []string
		has  string
	}{{[]string{"--profile", trace}, `"ms":`}, {[]string{"--plan", "--dim", "rows=3"}, `"how":"cpu `}} {
		if code, _, stderr := call(append([]string{"inspect", path, "--html", html}, c.args...)...); code != 0 {
			t.Fatal(stderr)
		}
		page, err := os.ReadFile(html)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(page); !strings.Contains(text, c.has) || !strings.Contains(text, `"node":"/net/layer.1/MatMul"`) {
			t.Errorf("%v: the page has no steps", c.args)
		}
	}
	if err := os.WriteFile(trace, []byte(`[{"name":"elsewhere","args":{}}]`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{trace, input} {
		if code, _, stderr := call("inspect", path, "--html", html, "--profile", file); code != exitFailed || !strings.Contains(stderr, "--profile") {
			t.Errorf("exit code %d, %s", code, stderr)
		}
	}
}

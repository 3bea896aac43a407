package main

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// iris saves a network like the example of Hydronnx's documentation, and returns the path.
func iris(t *testing.T) string {
	b := graph.NewBuilder("")
	floats := func(dims ...int) graph.Type { return graph.TensorOf(tensor.F32, graph.DimsOf(dims)) }
	x := b.Input("features", floats(1, 4))
	weight := func(name string, shape ...int) string {
		return b.Weight(&graph.Initializer{Name: name, Tensor: tensor.New(tensor.F32, shape...)})
	}
	x = b.Op("Gemm", []string{x, weight("W1", 4, 6), weight("B1", 6)})
	x = b.Op("Gemm", []string{b.Op("Relu", []string{x}), weight("W2", 6, 3), weight("B2", 3)})
	b.Output(b.Op("Softmax", []string{x}, graph.IntAttr("axis", 1)), "probabilities", floats(1, 3))
	m := b.Model(&graph.Model{Format: "onnx", IR: 8, Producer: "nacre"})
	for i, name := range []string{"gemm1", "", "gemm2", "softmax"} {
		m.Graph.Nodes[i].Name = name
	}
	file := filepath.Join(t.TempDir(), "iris.onnx")
	if err := onnx.Save(file, m, onnx.SaveOptions{}); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestInspectHydronnx compares the report with one in Hydronnx's form.
func TestInspectHydronnx(t *testing.T) {
	file := iris(t)
	m, err := formats.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	n := m.Graph.Nodes
	want := fmt.Sprintf(`model: (unnamed)
producer: nacre
ir_version: %d
opset_version: 23
file_size: %d bytes
inputs (1):
  features : f32 [1, 4]
outputs (1):
  probabilities : f32 [1, 3]
nodes (4):
  [gemm1] Gemm (features, W1, B1)
  [(unnamed)] Relu (%s)
  [gemm2] Gemm (%s, W2, B2)
  [softmax] Softmax (%s)
weights (4):
  W1 : f32 [4, 6] (96 bytes)
  B1 : f32 [6] (24 bytes)
  W2 : f32 [6, 3] (72 bytes)
  B2 : f32 [3] (12 bytes)
non-differentiable operators (0):
`, m.IR, len(m.Raw), n[0].Outputs[0], n[1].Outputs[0], n[2].Outputs[0])
	if code, out, stderr := call("inspect", "--style", "hydronnx", file); code != exitDone || out != want {
		t.Errorf("%d %s\n%s\nwant\n%s", code, stderr, out, want)
	}
	if code, _, stderr := call("inspect", "--style", "x", file); code != exitUsage ||
		!strings.Contains(stderr, "hydronnx") {
		t.Errorf("%d %s", code, stderr)
	}
}

// TestEmit writes modules. Wrong flags and networks are refused, and the file there stays
// unchanged.
func TestEmit(t *testing.T) {
	file := iris(t)
	out := filepath.Join(t.TempDir(), "iris.ch")
	if code, stdout, stderr := call("emit", file, "-o", out); code != exitDone || stdout != "" || stderr != "" {
		t.Fatalf("%d %s %s", code, stdout, stderr)
	}
	if text := string(read(t,
		out)); !strings.HasPrefix(text,
		"module Hydronnx.Iris\nexport (forward)\ndef w1() -> tensor[4, 6, f32] = to_tensor([[0.0f32, ") {
		t.Errorf("%.300s", text)
	}
	archive := filepath.Join(t.TempDir(), "iris.hnw")
	if code, _, stderr := call("emit", file, "-o", out, "--archive", archive); code != exitDone {
		t.Fatalf("%d %s", code, stderr)
	}
	text := read(t, out)
	_, report, _ := call("inspect", archive)
	if !strings.Contains(report, "module.name = Hydronnx.Iris\n") ||
		!strings.Contains(report, "module.generated_source_sha256 = "+digest(text)+"\n") {
		t.Errorf("the archive is not of the module: %s", report)
	}
	m, err := formats.Load(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, init := range m.Graph.Initializers {
		for _, p := range init.Meta {
			if p.Key == "id" && !strings.Contains(string(text), "\ndef "+p.Value+"() -> ") {
				t.Errorf("the module has no definition %s of %s", p.Value, init.Name)
			}
		}
	}
	if code, _, stderr := call("emit", file, "-o", out, "--archive", archive, "--weights", "archive"); code != exitDone {
		t.Fatalf("%d %s", code, stderr)
	}
	text = read(t, out)
	_, report, _ = call("inspect", archive)
	if !strings.Contains(string(text), `read_f32(archive, "w1", [4i64, 6i64])`) || !strings.Contains(report, "module.generated_source_sha256 = "+digest(text)+"\n") {
		t.Errorf("the module does not read the archive: %s\n%s", text, report)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{file}, exitUsage, "-o"}, {[]string{file, "-o", out, "--to", "c"}, exitUsage, "chelis"}, {[]string{file, "-o", out, "--weights", "none"}, exitUsage, "placeholder"},
		{[]string{file, "-o", out, "--weights", "archive"}, exitUsage, "--archive"},
		{[]string{file, "-o", out, "--max-elements", "23"}, exitFailed, "WeightConversionFailure"}, {[]string{out, "-o", out}, exitFailed, out},
		{[]string{file, "-o", out, "--module", "not a module"}, exitUsage, "--module"},
	} {
		before := sha256.Sum256(read(t, out))
		if code, _, stderr := call(append([]string{"emit"}, c.args...)...); code != c.code ||
			!strings.Contains(stderr, c.want) {
			t.Errorf("%v: %d %s, want %d with %s", c.args, code, stderr, c.code, c.want)
		}
		if sha256.Sum256(read(t, out)) != before {
			t.Errorf("%v: the file changed", c.args)
		}
	}
}

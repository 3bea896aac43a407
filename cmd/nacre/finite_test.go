package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestCheckFinite runs models with results that are not finite.
func TestCheckFinite(t *testing.T) {
	testenv.Need(t, bindings.Available())
	dir := t.TempDir()
	vector := graph.TensorOf(tensor.F32, graph.Dims{graph.Unknown()})
	node := func(name, op, out string, in ...string) *graph.Node {
		return &graph.Node{Name: name, Op: op, Version: 17, Inputs: in, Outputs: []string{out}}
	}
	model := filepath.Join(dir, "model.onnx")
	// y = sqrt(log(x)) + 1: log(0) is -infinity, and its root is NaN.
	err := formats.Save(model, &graph.Model{IR: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: &graph.Graph{
		Name: "roots", Inputs: []*graph.Value{{Name: "x", Type: vector}}, Outputs: []*graph.Value{{Name: "y", Type: vector}},
		Nodes: []*graph.Node{node("first", "Log", "a", "x"), node("second", "Sqrt", "b", "a"), node("third", "Neg", "y", "b")},
	}}, formats.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for x, want := range map[string]string{
		"1,2":   "",
		"1,0.5": `output "y" has 1 NaN; node second (Sqrt-17) is the first, with 1 NaN in "b"`,
		"0,0":   `output "y" has 2 NaNs; node second (Sqrt-17) is the first, with 2 NaNs in "b"`,
		// The root of infinity is infinity.
		`"Infinity"`:       `output "y" has 1 infinity; node first (Log-17) is the first, with 1 infinity in "a"`,
		`"Infinity","NaN"`: `output "y" has 1 NaN and 1 infinity; node first (Log-17) is the first, with 1 NaN and 1 infinity in "a"`,
	} {
		code, stdout, stderr := call("run", model, "--input", "x="+x, "--check-finite")
		if (code == exitFailed) != (want != "") || !strings.Contains(stderr, want) || !strings.HasPrefix(stdout, "y ") {
			t.Errorf("%s: exit code %d, %q, want %q; %q", x, code, stderr, want, stdout)
		}
	}
	var o oddities
	c, err := tensor.From([]complex64{complex(1, float32(math.Inf(1))), 2}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.count(t.Context(), &nacre.Sequence{Items: []nacre.Value{wrapped(t, c), &nacre.Optional{Item: mapOf(t, integers(t, 1), float32(math.Inf(1)))}}}); err != nil ||
		o != (oddities{0, 2}) {
		t.Errorf("got %+v (%v)", o, err)
	}
}

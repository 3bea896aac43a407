package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// model is the environment variable with the model that a child of the test runs.
const model = "NACRE_HELLO"

func TestMain(m *testing.M) {
	if file := os.Getenv(model); file != "" {
		os.Args = []string{"hello", file}
		main()
		return
	}
	os.Exit(m.Run())
}

// unnamed writes a model of an input whose first axis is open without a symbol. The output has the indices
// of elements that are not 0.
func unnamed(t *testing.T) string {
	b := graph.NewBuilder("unnamed")
	x := b.Input("x", graph.TensorOf(tensor.F32, graph.Dims{graph.Unknown(), graph.Known(4)}))
	y := b.Op("NonZero", []string{x})
	b.Output(y, "y", graph.TensorOf(tensor.I64, graph.Dims{graph.Known(2), graph.Unknown()}))
	file := filepath.Join(t.TempDir(), "unnamed.onnx")
	if err := formats.Save(file, b.Model(&graph.Model{IR: 10}), formats.Options{}); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestHello(t *testing.T) {
	testenv.Need(t, bindings.Available())
	digits := filepath.Join(testenv.Root(t), "cmd", "nacre", "demo", "digits.onnx")
	silero := filepath.Join(testenv.Samples(t, "models", "silero_vad_op18_ifless"), "model.onnx")
	none := unnamed(t)
	for _, c := range []struct{ file, want string }{
		{digits, "output probabilities float32[1,10]\nbegins with 0."},
		{silero, "zeros with extents map[batch:1 sequence:1]\n"},
		{none, "zeros with extents map[x[0]:1]\n"},
		{none, "output y int64[2,0]\n"},
		{"missing", "missing: load: no such file"},
	} {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), model+"="+c.file)
		if out, err := child.CombinedOutput(); !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %q, %v; want %q", c.file, out, err, c.want)
		}
	}
}

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
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

func TestHello(t *testing.T) {
	testenv.Need(t, bindings.Available())
	digits := filepath.Join(testenv.Root(t), "cmd", "nacre", "demo", "digits.onnx")
	silero := filepath.Join(testenv.Samples(t, "models", "silero_vad_op18_ifless"), "model.onnx")
	for file, want := range map[string]string{
		digits:    "output probabilities float32[1,10] begins with 0.",
		silero:    "zeros with extents map[batch:1 sequence:1]\n",
		"missing": "missing: load: no such file",
	} {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), model+"="+file)
		if out, err := child.CombinedOutput(); !strings.Contains(string(out), want) {
			t.Errorf("%s: %q, %v; want %q", file, out, err, want)
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestRunNetwork runs networks of Loom: an attention with an empty cache and weights drawn from a
// seed, and a way to combine branches that needs quirks.
func TestRunNetwork(t *testing.T) {
	testenv.Need(t, bindings.Available())
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	spec := func(name, layer string) string {
		return write(name, []byte(`{"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[`+layer+`]}`))
	}
	x, err := tensor.From([]float32{1, 2, 3, 4}, 1, 1, 4)
	if err != nil {
		t.Fatal(err)
	}
	input := "input=" + write("x.npy", npyBytes(t, x))
	attention := spec("attention.json", `{"type":"mha","d_model":4,"num_heads":2}`)
	var said []string
	for _, seed := range []string{"1", "1", "2"} {
		code, stdout, stderr := call("run", attention, "--input", input, "--seed", seed)
		if code != 0 || !strings.HasPrefix(stdout, "output float32[1,1,4]") || strings.Contains(stdout, "present") {
			t.Fatalf("%d: %s%s", code, stdout, stderr)
		}
		said = append(said, stdout)
	}
	if said[0] != said[1] || said[0] == said[2] {
		t.Errorf("seeds 1, 1 and 2 give %q", said)
	}
	filter := spec("filter.json", `{"type":"parallel","combine_mode":"filter","parallel_branches":[{"type":"softmax"}]}`)
	if code, _, stderr := call("run", filter, "--input", input); code != 1 || !strings.Contains(stderr, "quirks") {
		t.Errorf("%d: %s", code, stderr)
	}
	if code, stdout, stderr := call("run", filter, "--input", input, "--quirks"); code != 0 ||
		!strings.Contains(stdout, "max 0") {
		t.Errorf("%d: %s%s", code, stdout, stderr)
	}
}

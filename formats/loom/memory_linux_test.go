package loom_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/formats/loom"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// filled returns a tensor of numbers that repeat.
func filled(shape ...int) *tensor.Tensor {
	r := rand.New(rand.NewPCG(7, 8))
	few := numbersOf(r, 4093)
	t := tensor.New(tensor.F32, shape...)
	v := tensor.View[float32](t)
	for at := 0; at < len(v); at += len(few) {
		for i, x := range few[:min(len(few), len(v)-at)] {
			v[at+i] = x / 32
		}
	}
	return t
}

// largeBundle returns a decoder of 66 MB.
func largeBundle(t *testing.T) *loom.Network {
	t.Helper()
	const hidden, inner, vocab = 1024, 2560, 4096
	m := &graph.Model{Graph: &graph.Graph{}}
	add := func(name string, shape ...int) {
		m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: name, Tensor: filled(shape...)})
	}
	add("model.embed_tokens.weight", vocab, hidden)
	add("model.norm.weight", hidden)
	const block = "model.layers.0."
	add(block+"input_layernorm.weight", hidden)
	add(block+"post_attention_layernorm.weight", hidden)
	for _, p := range []string{"q", "k", "v", "o"} {
		add(block+"self_attn."+p+"_proj.weight", hidden, hidden)
	}
	add(block+"mlp.gate_proj.weight", inner, hidden)
	add(block+"mlp.up_proj.weight", inner, hidden)
	add(block+"mlp.down_proj.weight", hidden, inner)
	config := fmt.Sprintf(`{"model_type":"llama","hidden_size":%d,"intermediate_size":%d,"num_attention_heads":8,"num_hidden_layers":1,"vocab_size":%d}`, hidden, inner, vocab)
	n, unknown, err := loom.Import([]byte(config), m, loom.Float32)
	if err != nil || len(unknown) > 0 {
		t.Fatal(err, unknown)
	}
	return n
}

// largeGrid returns four Dense layers of 16 MB each, and one of 64 KiB.
func largeGrid() *loom.Network {
	const n = 2048
	var layers []*loom.Layer
	for _, rows := range []int{n, n, n, n, 8} {
		l := stored(loom.Layer{Type: loom.Dense, InputHeight: n, OutputHeight: rows, DType: loom.Float32}, tensor.View[float32](filled(rows, n))...)
		l.Activation = loom.Tanh
		layers = append(layers, l)
	}
	return gridOf(layers...)
}

// childNetwork is the environment variable that names the file for TestMemoryChild.
const childNetwork = "NACRE_TEST_LOOM"

// TestMemoryChild runs a network in a process of its own, and prints the growth of its peak memory
// and a sum of the output.
func TestMemoryChild(t *testing.T) {
	path := os.Getenv(childNetwork)
	if path == "" {
		return // TestMemory starts this test in a child process
	}
	before := fixtures.MostMemory(t)
	m, err := nacre.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	name, result, x := "input", "output", must(nacre.NewTensor(numbersOf(rand.New(rand.NewPCG(1, 2)), 2048), 1, 2048))
	if len(m.States()) > 0 {
		name, result, x = "input_ids", "logits", must(nacre.NewTensor([]int64{3, 1, 4, 1, 5}, 1, 5))
	}
	out, err := ran(m, nacre.Options{Threads: 1}, map[string]*nacre.Tensor{name: x})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, y := range must(nacre.Data[float32](out[result])) {
		sum += float64(y)
	}
	fmt.Printf("grown %d sum %g\n", fixtures.MostMemory(t)-before, sum)
}

// TestMemory runs networks of 65 MB from files of both formats, each in its own process. A process
// holds the weights once, and little more.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("short runs are those of sanitizers and the race detector, which hold memory of their own")
	}
	const spare = 24 << 20
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for _, c := range []struct {
		name string
		n    *loom.Network
	}{{"bundle.entity", largeBundle(t)}, {"grid.entity", largeGrid()}, {"grid.json", largeGrid()}} {
		m, err := c.n.Model()
		if err != nil {
			t.Fatal(err)
		}
		weights := 0
		for _, init := range m.Graph.Initializers {
			weights += len(init.Tensor.Bytes())
		}
		path := filepath.Join(t.TempDir(), c.name)
		if err := formats.Save(path, m, formats.Options{}); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "-test.run=^TestMemoryChild$")
		cmd.Env = append(os.Environ(), childNetwork+"="+path)
		out, err := cmd.CombinedOutput()
		grown, sum := 0, ""
		if err == nil {
			_, err = fmt.Sscanf(string(out), "grown %d sum %s", &grown, &sum)
		}
		if err != nil {
			t.Fatalf("%s: %v: %s", c.name, err, out)
		}
		t.Logf("%s: %d bytes for weights of %d", c.name, grown, weights)
		if grown > weights+spare {
			t.Errorf("%s: %d bytes are taken for weights of %d", c.name, grown, weights)
		}
		sums[c.name] = sum
	}
	if sums["grid.json"] != sums["grid.entity"] {
		t.Errorf("the formats differ: %v", sums)
	}
}

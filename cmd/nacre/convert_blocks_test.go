package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestConvertBlocks converts a decoder in blocks of several types to ONNX. Matrices that stay exact
// become codes, and the command names the others.
func TestConvertBlocks(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.onnx")
	code, _, stderr := call("convert", filepath.Join(testenv.Samples(t, "fixtures", "gguf"), "llama.OLDMIX.gguf"), out, "--drop-metadata")
	if code != 0 || !strings.Contains(stderr, "6 tensors became float32") || !strings.Contains(stderr, "token_embd.weight (q4_1)") ||
		strings.Contains(stderr, "q5_0") {
		t.Fatalf("%d, %q", code, stderr)
	}
	m, err := formats.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	products := 0
	for _, n := range m.Graph.Nodes {
		if n.Op == "MatMulNBits" {
			products++
		}
	}
	if products < 8 {
		t.Errorf("%d products of codes", products)
	}
	names := map[string]bool{}
	for _, init := range m.Graph.Initializers {
		names[init.Name] = true
	}
	if !names["token_embd.weight"] || names["blk.0.attn_q.weight"] {
		t.Errorf("initializers %v", names)
	}
}

package gguf_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats/gguf"
	"github.com/nacre-ml/nacre/formats/internal/converted"
)

// TestConverted compares decoders in blocks with their conversions to ONNX.
func TestConverted(t *testing.T) {
	dir, list := answers(t)
	for name, a := range list {
		if !slices.Contains(gguf.Architectures(), a.Arch) || strings.Contains(name, ".F") || strings.Contains(name, ".BF") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if strings.Contains(name, "moe") || strings.Contains(name, "mixtral") || strings.Contains(name, "oss") {
				t.Setenv(converted.Variable, "") // ONNX Runtime's experts have no third matrix on the CPU
			}
			path := filepath.Join(dir, name)
			converted.Check(t, "gguf."+strings.TrimSuffix(name, ".gguf"), path, first(t, path, a.Tokens))
		})
	}
}

// first returns the inputs of the first run of a decoder.
func first(t *testing.T, path string, tokens []int64) map[string]*nacre.Tensor {
	t.Helper()
	in, err := session(t, path, nacre.Options{Threads: 1, NoOptimize: true}).ZeroInputs(map[string]int{"batch": 1, "sequence": len(tokens), "past_sequence": 0})
	if err != nil {
		t.Fatal(err)
	}
	if in["input_ids"], err = nacre.NewTensor(tokens, 1, len(tokens)); err != nil {
		t.Fatal(err)
	}
	return in
}

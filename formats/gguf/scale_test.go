package gguf_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestScales divides matrices by powers of 2, and gives each its scale in a tensor. The logits
// stay.
func TestScales(t *testing.T) {
	dir, list := answers(t)
	for _, name := range []string{"qwen2.F32.gguf", "llama.F32.gguf", "mixtral.F32.gguf", "starcoder2.F32.gguf"} {
		a, m := sample(t, dir, list, name)
		var scales []*graph.Initializer
		for i, x := range m.Graph.Initializers {
			name, weight := strings.CutSuffix(x.Name, ".weight")
			shape := x.Tensor.Shape()
			if !weight || len(shape) < 2 || strings.Contains(name, "embd") || strings.Contains(name, "gate_inp") {
				continue
			}
			n := 1
			if len(shape) == 3 {
				n = shape[0]
			}
			halved, scale := tensor.New(tensor.F32, shape...), tensor.New(tensor.F32, n)
			factors := tensor.View[float32](scale)
			for k := range factors {
				factors[k] = float32(int(2) << ((i + k) % 5))
			}
			from, to := tensor.View[float32](x.Tensor), tensor.View[float32](halved)
			for k := range to {
				to[k] = from[k] / factors[k*n/len(to)]
			}
			x.Tensor = halved
			scales = append(scales, &graph.Initializer{Name: name + ".scale", Tensor: scale},
				&graph.Initializer{Name: name + ".input_scale", Tensor: tensor.New(tensor.F32, 1)})
		}
		m.Graph.Initializers = append(m.Graph.Initializers, scales...)
		path := filepath.Join(t.TempDir(), name)
		if err := formats.Save(path, m, formats.Options{}); err != nil {
			t.Fatal(err)
		}
		a.check(t, path, floats(t, filepath.Join(dir, a.Logits)), tolerance(a.Arch), nacre.Options{Threads: 1})
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data = bytes.Replace(data, []byte("blk.0.attn_output.scale"), []byte("blk.0.attn_output.scalf"), 1)
		if m, err := nacre.Decode(path, data); err != nil {
			t.Error(err)
		} else if _, err := m.NewSession(nacre.Options{}); err == nil || !strings.Contains(err.Error(), "no part in a network") {
			t.Errorf("%s: an unknown tensor: %v", name, err)
		}
	}
}

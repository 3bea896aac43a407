package gguf_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestOldExperts writes each expert as a tensor of its own, and a block that predicts further
// tokens.
func TestOldExperts(t *testing.T) {
	dir, list := answers(t)
	for _, name := range []string{"mixtral.F16.gguf", "mixtral.Q4_0.gguf"} {
		a, m := sample(t, dir, list, name)
		var all []*graph.Initializer
		for _, x := range m.Graph.Initializers {
			stem, stacked := strings.CutSuffix(x.Name, "_exps.weight")
			if !stacked {
				all = append(all, x)
				continue
			}
			shape := x.Tensor.Shape()
			for i := range shape[0] {
				size := x.Tensor.Size() / shape[0]
				one, err := tensor.FromBytes(x.Tensor.DType(), shape[1:], x.Tensor.Bytes()[i*size:][:size])
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, &graph.Initializer{Name: fmt.Sprintf("%s.%d.weight", stem, i), Tensor: one})
			}
		}
		for i, p := range m.Meta {
			if p.Key == "llama.block_count" {
				draft := int(tensor.Numbers(p.Data)(0))
				more := tensor.New(tensor.U32)
				tensor.View[uint32](more)[0] = uint32(draft + 1)
				m.Meta[i].Data = more
				all = append(all, &graph.Initializer{Name: fmt.Sprintf("blk.%d.nextn.eh_proj.weight", draft), Tensor: tensor.New(tensor.F32, 4)})
			}
		}
		one := tensor.New(tensor.U32)
		tensor.View[uint32](one)[0] = 1
		m.Meta = append(m.Meta, graph.Pair{Key: "llama.nextn_predict_layers", Kind: "u32", Data: one})
		m.Graph.Initializers = all
		path := filepath.Join(t.TempDir(), name)
		if err := formats.Save(path, m, formats.Options{}); err != nil {
			t.Fatal(err)
		}
		a.check(t, path, floats(t, filepath.Join(dir, a.Logits)), 1e-4, nacre.Options{Threads: 1})
	}
}

// TestExpertsStayNarrow checks that runs read the weights of experts as they are stored, so that no
// float32 copies of them are made.
func TestExpertsStayNarrow(t *testing.T) {
	dir, list := answers(t)
	met := 0
	for name, a := range list {
		if !strings.Contains(name, "moe") && !strings.Contains(name, "mixtral") && !strings.Contains(name, "oss") || strings.Contains(name, "F32") {
			continue
		}
		met++
		t.Run(name, func(t *testing.T) {
			s := session(t, filepath.Join(dir, name), nacre.Options{Threads: 1})
			in, err := s.ZeroInputs(map[string]int{"batch": 1, "sequence": len(a.Tokens), "past_sequence": 0})
			if err != nil {
				t.Fatal(err)
			}
			p, err := s.Plan(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			mixtures := 0
			for _, step := range p.Steps() {
				if !strings.Contains(step.Op, "MoE") {
					continue
				}
				mixtures++
				for _, in := range step.Inputs {
					if len(in.Shape) == 3 && in.DType == nacre.Float32 {
						t.Errorf("%s reads %v", step.Node, in)
					}
				}
			}
			if mixtures == 0 {
				t.Error("no experts")
			}
		})
	}
	if met < 4 {
		t.Errorf("%d models with experts", met)
	}
}

package gguf_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
)

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
			m, err := nacre.Open(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			s, err := m.NewSession(nacre.Options{Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			in, err := s.ZeroInputs(map[string]int{"batch": 1, "sequence": len(a.Tokens), "past_sequence": 0})
			if err != nil {
				t.Fatal(err)
			}
			p, err := s.Plan(context.Background(), in)
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

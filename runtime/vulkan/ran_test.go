package vulkan_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// TestRan checks that a profile has the kernels that ran, and names the steps that do the work of
// others.
func TestRan(t *testing.T) {
	defer vulkan.JoinedUnits()()
	r := rand.New(rand.NewPCG(9, 1))
	const k = 96
	m := normedModel(t, r, k, false, false, false)
	_, prof, err := session(t, m, accelerator(t, open(t, vulkan.Options{Everything: true}))).Profile(t.Context(),
		map[string]tensor.Value{"x": random(r, 1, k)})
	if err != nil {
		t.Fatal(err)
	}
	products := 0
	for _, s := range prof.Steps {
		normalises := strings.Contains(s.How, "_normed")
		op, _, _ := strings.Cut(s.Op, "-")
		switch op {
		case "com.microsoft.MatMulNBits", "nacre.WidenedGemm":
			products++
			if !normalises || strings.Contains(s.How, " with ") {
				t.Errorf("%s: %s", s.Op, s.How)
			}
		case "RMSNormalization":
			if _, with, ok := strings.Cut(s.How, " with "); !ok || strings.Contains(s.How, "/") || strings.Count(with, ",") != 1 {
				t.Errorf("%s: %s", s.Op, s.How)
			}
		default:
			if normalises {
				t.Errorf("%s: %s", s.Op, s.How)
			}
		}
	}
	if products != 2 {
		t.Errorf("%d products in %+v", products, prof.Steps)
	}
}

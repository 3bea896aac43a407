package vulkan_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// TestFused compares activations of sums, and products with activations, with the CPU.
func TestFused(t *testing.T) {
	const rows, columns = 7, 131
	for _, o := range []vulkan.Options{{}, {Level: vulkan.L0}, {Profile: vulkan.Mali}} {
		r := rand.New(rand.NewPCG(17, 6))
		var list []nodeCase
		for _, d := range narrowFloats {
			x, bias := typed(t, d, odd(r, rows*columns), rows, columns), typed(t, d, some(r, columns), columns)
			list = append(list,
				nodeCase{op: "SwiGLU", version: 28, attrs: []*graph.Attr{number("alpha", 0.7)}, outs: 1, near: nears[d],
					in: []*tensor.Tensor{x, typed(t, d, odd(r, rows*columns), rows, columns)}},
				nodeCase{domain: kit.Microsoft, op: "BiasGelu", in: []*tensor.Tensor{x, bias}, outs: 1, near: nears[d]},
				nodeCase{domain: kit.Microsoft, op: "FastGelu", in: []*tensor.Tensor{x, bias}, outs: 1, near: nears[d]},
				nodeCase{domain: kit.Microsoft, op: "FastGelu", in: []*tensor.Tensor{x}, outs: 1, near: nears[d]})
		}
		if s := compareWith(t, o, list); !strings.Contains(s.how, "eltwise/fused") {
			t.Error("no node ran by eltwise/fused")
		}
	}
}

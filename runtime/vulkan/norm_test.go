package vulkan_test

import (
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// normedNodes are normalisations of rows of one and of several elements per invocation, and of rows
// that are too long to be kept.
func normedNodes(t *testing.T, r *rand.Rand) (list []nodeCase) {
	const rows = 4
	for _, n := range []int{1, 15, 300, 770, 2051, 9001} {
		types := narrowFloats
		if n != 300 {
			types = narrowFloats[:1]
		}
		for _, d := range types {
			near := 4 * nears[d]
			of := func(shape ...int) *tensor.Tensor { return typed(t, d, some(r, tensor.Shape(shape).Len()), shape...) }
			x, skip, scale, shift, bias := of(rows, n), of(rows/2, n), of(n), of(n), of(n)
			add := func(domain, op string, outs int, attrs []*graph.Attr, in ...*tensor.Tensor) {
				list = append(list, nodeCase{domain: domain, op: op, attrs: attrs, in: in, outs: outs, near: near})
			}
			add("", "LayerNormalization", 3, nil, x, scale, shift)
			add("", "LayerNormalization", 1, nil, x, scale)
			add("", "RMSNormalization", 1, nil, x, scale)
			add(kit.Microsoft, "SkipLayerNormalization", 4, nil, x, of(rows, n), scale, shift, bias)
			add(kit.Microsoft, "SkipSimplifiedLayerNormalization", 4, nil, x, of(rows, n), scale, bias)
			add(kit.Microsoft, "SkipLayerNormalization", 1, nil, of(2, rows/2, n), skip, scale)
			add("", "InstanceNormalization", 1, nil, of(2, 3, n), of(3), of(3))
			add("", "GroupNormalization", 1, []*graph.Attr{ints("num_groups", 2)}, of(2, 4, n), of(4), of(4))
			add("", "BatchNormalization", 3, []*graph.Attr{ints("training_mode", 1)}, of(2, 3, n), of(3), of(3), of(3), of(3))
			for p := range int64(2) {
				add("", "LpNormalization", 1, []*graph.Attr{ints("axis", 1), ints("p", p+1)}, of(2, n, 3))
			}
			ties := some(r, rows*n)
			for i := range ties {
				ties[i] = float32(int(4 * ties[i]))
			}
			for _, name := range []string{"Softmax", "LogSoftmax", "Hardmax"} {
				add("", name, 1, nil, x)
				add("", name, 1, []*graph.Attr{ints("axis", 1)}, typed(t, d, odd(r, 2*n*3), 2, n, 3))
				add("", name, 1, nil, typed(t, d, ties, rows, n))
			}
		}
	}
	return list
}

package vulkan_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// tiledNodes are attentions of more queries than one, in whole tiles and others, with words and
// without, and with keys that workgroups share.
func tiledNodes(t *testing.T, r *rand.Rand) (list []nodeCase) {
	for _, s := range []struct{ rows, keys, heads, kvHeads, size, width int }{
		{7, 7, 4, 4, 13, 9}, {37, 150, 4, 2, 64, 64}, {20, 1301, 1, 1, 16, 80}, {16, 64, 2, 1, 130, 200},
		{33, 70, 2, 2, 256, 256}, {2, 70, 4, 2, 8, 132},
	} {
		types := narrowFloats
		if s.keys != 150 {
			types = narrowFloats[:1]
		}
		for _, d := range types {
			of := func(shape ...int) *tensor.Tensor { return typed(t, d, some(r, tensor.Shape(shape).Len()), shape...) }
			q, k, v := of(2, s.heads, s.rows, s.size), of(2, s.kvHeads, s.keys, s.size), of(2, s.kvHeads, s.keys, s.width)
			near := 4 * nears[d]
			add := func(attrs []*graph.Attr, in ...*tensor.Tensor) {
				list = append(list, nodeCase{op: "Attention", attrs: attrs, in: in, outs: 1, near: near})
			}
			causal := []*graph.Attr{ints("is_causal", 1)}
			add(nil, q, k, v)
			add(causal, q, k, v)
			add([]*graph.Attr{number("softcap", 2), number("scale", 0.5)}, q, k, v)
			mask, hidden := some(r, s.rows*s.keys), make([]bool, s.rows*s.keys)
			for i := range mask {
				if hidden[i] = r.IntN(3) > 0; i%7 == 0 {
					mask[i] = float32(math.Inf(-1))
				}
			}
			add(nil, q, k, v, typed(t, d, mask, s.rows, s.keys))
			add(causal, q, k, v, tensorOf(t, hidden, s.rows, s.keys))
			add([]*graph.Attr{ints("q_num_heads", int64(s.heads)), ints("kv_num_heads", int64(s.kvHeads))},
				of(2, s.rows, s.heads*s.size), of(2, s.keys, s.kvHeads*s.size), of(2, s.keys, s.kvHeads*s.width))
		}
	}
	const batch, rows, keys, heads, size = 2, 21, 40, 3, 12
	for _, there := range []*tensor.Tensor{tensorOf(t, []int32{33, 7}, batch), tensorOf(t, []int32{33, 7, 2, 0}, 2*batch),
		tensorOf(t, kit.Convert(picks(r, batch*keys, 2), func(v int64) int32 { return int32(v) }), batch, keys)} {
		list = append(list, nodeCase{domain: kit.Microsoft, op: "MultiHeadAttention", attrs: []*graph.Attr{ints("num_heads", heads)},
			in: []*tensor.Tensor{random(r, batch, rows, heads*size), random(r, batch, keys, heads*size),
				random(r, batch, keys, heads*size), nil, there}, outs: 1, near: 1e-5})
	}
	for _, window := range []int64{-1, 9} {
		last, total := tensorOf(t, []int32{keys - 1, 30}, batch), tensorOf(t, []int32{keys})
		in := []*tensor.Tensor{random(r, batch, rows, 4*size), random(r, batch, rows, 2*size), random(r, batch, rows, 2*size),
			random(r, batch, 2, keys, size), random(r, batch, 2, keys, size), last, total, nil, nil, nil, nil, random(r, 4)}
		attrs := []*graph.Attr{ints("num_heads", 4), ints("kv_num_heads", 2), ints("local_window_size", window)}
		list = append(list, nodeCase{domain: kit.Microsoft, op: "GroupQueryAttention", attrs: attrs, in: in, outs: 3, near: 1e-5})
	}
	return list
}

// TestTiledAttention compares attention by tiles with the CPU.
func TestTiledAttention(t *testing.T) {
	defer vulkan.AlwaysTiled()()
	for _, tt := range []struct {
		name    string
		options vulkan.Options
	}{
		{"all", vulkan.Options{}},
		{"level 0", vulkan.Options{Level: vulkan.L0}},
		{"level 1", vulkan.Options{Level: vulkan.L1}},
		{"mali", vulkan.Options{Profile: vulkan.Mali}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := compareWith(t, tt.options, tiledNodes(t, rand.New(rand.NewPCG(17, 4))))
			if !strings.Contains(s.how, "attention/tile") {
				t.Error("no node ran by tiles")
			}
		})
	}
}

// TestUnseenValues checks that values that a query does not see have no part in its result.
func TestUnseenValues(t *testing.T) {
	defer vulkan.AlwaysTiled()()
	s := &single{device: open(t, vulkan.Options{Everything: true}), registry: standard.Registry(), offload: map[string]int{},
		constant: func(int, *tensor.Tensor) bool { return false }}
	n := &graph.Node{Name: "y", Op: "Attention", Version: 24, Attrs: []*graph.Attr{ints("is_causal", 1)},
		Inputs: []string{"q", "k", "v"}, Outputs: []string{"y"}}
	for _, rows := range []int{2, 37} {
		const size = 20
		r := rand.New(rand.NewPCG(17, 5))
		q, k, v := random(r, 1, 1, rows, size), random(r, 1, 1, rows, size), random(r, 1, 1, rows, size)
		var results [2][]float32
		for i, last := range []float64{0, math.NaN()} {
			tensor.View[float32](v)[rows*size-1] = float32(last)
			out, err := s.eval(n, []*tensor.Tensor{q, k, v})
			if err != nil {
				t.Fatal(err)
			}
			results[i] = tensor.View[float32](out[0])
		}
		if before := (rows - 1) * size; !slices.Equal(results[0][:before], results[1][:before]) {
			t.Errorf("the last of %d values changes results of other queries", rows)
		}
	}
}

package vulkan_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// nodeCase is a node whose outputs on the device must be those on the CPU, within near.
type nodeCase struct {
	domain, op string
	attrs      []*graph.Attr
	in         []*tensor.Tensor // nil where an input is left out
	outs       int
	near       float64
}

// number is an attribute.
func number(name string, v float64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrFloat, Float: float32(v)}
}

// extents is an attribute.
func extents(name string, list ...int64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrInts, Ints: list}
}

// odd are n numbers from -2 to 2 with some that are none, or have no digits left.
func odd(r *rand.Rand, n int) []float32 {
	list := some(r, n)
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e-41, -0.0, 3e38} {
		list[r.IntN(n)] = float32(v)
	}
	return list
}

// drawnNodes are nodes that draw numbers.
func drawnNodes(t *testing.T, r *rand.Rand) (list []nodeCase) {
	const n = 20011
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
		like := tensor.New(d, n)
		for _, seed := range []float64{0, 1, 1e9} {
			list = append(list,
				nodeCase{op: "RandomUniformLike", attrs: []*graph.Attr{number("seed", seed), number("low", -3.7), number("high", 12.3)}, in: []*tensor.Tensor{like}, outs: 1},
				nodeCase{op: "RandomNormalLike", attrs: []*graph.Attr{number("seed", seed), number("mean", 0.1), number("scale", 2.5)}, in: []*tensor.Tensor{like}, outs: 1})
		}
	}
	list = append(list,
		nodeCase{op: "RandomUniform", attrs: []*graph.Attr{number("seed", 7), extents("shape", 3, 0, 2)}, outs: 1},
		nodeCase{op: "RandomNormal", attrs: []*graph.Attr{number("seed", 7), extents("shape", 3, 67)}, outs: 1})
	chances := some(r, n)
	for i := range chances {
		chances[i] = float32(math.Ldexp(1, -r.IntN(60))) * r.Float32()
	}
	copy(chances, []float32{0, 1, -1, 2, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1e-41, 0x1p-53, 0x1.fffffep-1})
	for _, p := range []*tensor.Tensor{tensorOf(t, chances, n), tensorOf(t, op.Convert(chances, packed.ToF16), n), tensorOf(t, op.Convert(chances, packed.ToBF16), n)} {
		for _, code := range []int64{1, 6, 9, 12} { // float32, int32, bool, uint32
			list = append(list, nodeCase{op: "Bernoulli", attrs: []*graph.Attr{number("seed", 3), ints("dtype", code)}, in: []*tensor.Tensor{p}, outs: 1})
		}
	}
	return list
}

// groupedNodes are attentions whose queries and keys are normalised, apart and packed.
func groupedNodes(t *testing.T, r *rand.Rand) (list []nodeCase) {
	const batch, tokens, heads, kvHeads, size, room, positions = 2, 3, 4, 2, 10, 9, 16
	attrs := []*graph.Attr{ints("num_heads", heads), ints("kv_num_heads", kvHeads), number("qk_norm_epsilon", 1e-3)}
	last, total := tensorOf(t, []int32{5, 3}, batch), tensorOf(t, []int32{6})
	pastK, pastV := random(r, batch, kvHeads, room, size), random(r, batch, kvHeads, room, size)
	cos, sin := random(r, positions, size/2), random(r, positions, size/2)
	q, k, v := random(r, batch, tokens, heads*size), random(r, batch, tokens, kvHeads*size), random(r, batch, tokens, kvHeads*size)
	all := random(r, batch, tokens, (heads+2*kvHeads)*size)
	for _, rotary := range []int64{0, 1} {
		own := append(slices.Clone(attrs), ints("do_rotary", rotary), ints("rotary_interleaved", 1-rotary))
		for _, in := range [][]*tensor.Tensor{{q, k, v}, {all, nil, nil}} {
			in = append(in, pastK, pastV, last, total, cos, sin, nil, nil, nil, nil, nil, random(r, size), random(r, size))
			list = append(list, nodeCase{domain: op.Microsoft, op: "GroupQueryAttention", attrs: own, in: in, outs: 3, near: 1e-5})
		}
	}
	return list
}

// roundedNodes are products of rows that are rounded to 8 bits.
func roundedNodes(t *testing.T, r *rand.Rand) (list []nodeCase) {
	const n, k, block = 37, 100, 32
	const blocks = (k + block - 1) / block
	for _, bits := range []int64{2, 4, 8} {
		codes := make([]uint8, n*blocks*block*int(bits)/8)
		for i := range codes {
			codes[i] = uint8(r.Uint32())
		}
		attrs := []*graph.Attr{ints("N", n), ints("K", k), ints("bits", bits), ints("block_size", block), ints("accuracy_level", 4)}
		for _, m := range []int{1, 7} {
			for _, d := range []tensor.DType{tensor.F32, tensor.F16} {
				rows, scales := tensorOf(t, odd(r, m*k), m, k), tensorOf(t, some(r, n*blocks), n*blocks)
				near := 1e-4
				if d == tensor.F16 {
					rows, scales = tensorOf(t, op.Convert(odd(r, m*k), packed.ToF16), m, k), tensorOf(t, op.Convert(some(r, n*blocks), packed.ToF16), n*blocks)
					near = 2e-3
				}
				list = append(list, nodeCase{domain: op.Microsoft, op: "MatMulNBits", attrs: attrs, in: []*tensor.Tensor{rows, tensorOf(t, codes, n, blocks, block*int(bits)/8), scales}, outs: 1, near: near})
			}
		}
	}
	return list
}

// TestNodes compares nodes on the device with those on the CPU.
func TestNodes(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 3))
	s := &single{device: open(t, vulkan.Options{Everything: true}), registry: standard.Registry(), offload: map[string]int{}}
	s.constant = func(i int, x *tensor.Tensor) bool { return isParameter(i, x) || i > 0 && x.DType() == tensor.U8 }
	ran := map[string]int{}
	for _, c := range slices.Concat(drawnNodes(t, r), groupedNodes(t, r), roundedNodes(t, r)) {
		n := &graph.Node{Name: c.op, Domain: c.domain, Op: c.op, Version: 22, Attrs: c.attrs}
		if c.domain != "" {
			n.Version = 1
		}
		for i, x := range c.in {
			n.Inputs = append(n.Inputs, "")
			if x != nil {
				n.Inputs[i] = "in" + string(rune('a'+i))
			}
		}
		n.Outputs = []string{"x", "y", "z"}[:c.outs]
		want, err := onCPU(s, n, c.in)
		if err != nil {
			t.Fatalf("%s %v: %v", c.op, c.in, err)
		}
		got, err := s.eval(n, c.in)
		if err != nil {
			t.Fatalf("%s %v: %v", c.op, c.in, err)
		}
		if want[0].Len() > 0 {
			ran[c.op]++
		}
		for i := range want {
			if at := differ(got[i], want[i], c.near); at >= 0 {
				a, b := op.Doubles(got[i]), op.Doubles(want[i])
				t.Errorf("output %d of %s %v differs at %d: %v, want %v", i, c.op, c.in, at, a[at], b[at])
			}
		}
	}
	for name, n := range ran {
		if s.offload[name] != n {
			t.Errorf("%d of %d nodes %s ran on the device", s.offload[name], n, name)
		}
	}
}

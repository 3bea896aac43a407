package vulkan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// tileNodes are products and convolutions with functions of every kind, along edges of tiles, and
// with many terms, of the given types of floats.
func tileNodes(t *testing.T, r *rand.Rand, types ...tensor.DType) (list []nodeCase) {
	list = append(manyRows(t, r), wideProducts(t, r)...)
	for _, d := range types {
		near := max(4*nears[d], 2e-4)
		if d != tensor.F32 {
			list = append(list, fewBits(t, r, d, near)...)
		}
		list = append(list, convolutions(t, r, d, near)...)
		for turned := range int64(4) {
			for _, s := range [][3]int{{37, 70, 45}, {68, 132, 136}} {
				m, n, k := s[0], s[1], s[2]
				in := turnedOperands(t, r, d, turned, m, n, k)
				attrs := []*graph.Attr{ints("transA", turned&1), ints("transB", turned>>1), number("alpha", 0.5), number("beta", 2)}
				list = append(list, nodeCase{op: "Gemm", attrs: attrs, in: in, outs: 1, near: near})
			}
		}
		const m, n, k = 9, 68, 36
		for _, function := range []*graph.Attr{text("activation", "Relu"), text("activation", "Tanh")} {
			in := []*tensor.Tensor{typed(t, d, odd(r, m*k), m, k), typed(t, d, some(r, k*n), k, n), typed(t, d, odd(r, m), m, 1)}
			list = append(list, nodeCase{domain: kit.Microsoft, op: "FusedGemm", attrs: []*graph.Attr{function}, in: in, outs: 1, near: near})
		}
		for _, c := range [][]*graph.Attr{
			{text("activation", "Relu")},
			{text("activation", "Clip"), reals("activation_params", -0.5, 0.75)},
			{text("activation", "HardSigmoid"), reals("activation_params", 0.2, 0.5)},
		} {
			for _, side := range []int{1, 5, 6} {
				in := []*tensor.Tensor{typed(t, d, odd(r, 2*20*side*side), 2, 20, side, side), typed(t, d, some(r, 24*20), 24, 20, 1, 1),
					typed(t, d, some(r, 24), 24), typed(t, d, odd(r, 2*24*side*side), 2, 24, side, side)}
				list = append(list, nodeCase{domain: kit.Microsoft, op: "FusedConv", attrs: c, in: in, outs: 1, near: near})
			}
		}
	}
	for _, d := range []tensor.DType{tensor.I32, tensor.U32, tensor.I64, tensor.U64} {
		const m, n, k = 34, 33, 70
		list = append(list, nodeCase{op: "MatMul", in: []*tensor.Tensor{integers(t, r, d, m, k), integers(t, r, d, k, n)}, outs: 1})
	}
	return list
}

// TestTiles compares products and convolutions with the CPU by every tile, with and without parts.
func TestTiles(t *testing.T) {
	shared, how := open(t, vulkan.Options{}).Info().Caps.MaxShared, ""
	for i := range max(vulkan.Tiles[0], vulkan.Tiles[1]) {
		for _, units := range []int{1, 132} {
			t.Run(fmt.Sprintf("%d of %d units", i, units), func(t *testing.T) {
				if testing.Short() && (i+units)%3 != 0 {
					t.Skip("a third of the tiles in short runs")
				}
				product, conv := min(i, vulkan.Tiles[0]-1), min(i, vulkan.Tiles[1]-1)
				if need := vulkan.TileShared(product, conv); need > shared {
					t.Logf("a workgroup takes %d bytes of shared memory, and the device has %d", need, shared)
					return
				}
				defer vulkan.OnlyTile(product, conv, units)()
				types := []tensor.DType{tensor.F32}
				if i == 1 {
					types = narrowFloats
				}
				s := compareWith(t, vulkan.Options{}, tileNodes(t, rand.New(rand.NewPCG(uint64(i), 35)), types...))
				for _, name := range []string{"matmul/gemm", "conv/gemm"} {
					if !strings.Contains(s.how, name) {
						t.Errorf("no node ran by %s", name)
					}
				}
				how += s.how
			})
		}
	}
	for _, name := range []string{"quant/blocks_tile", "quant/nbits_tile"} {
		if !strings.Contains(how, name) {
			t.Errorf("no node ran by %s", name)
		}
	}
}

// TestTileFits checks the extents of tiles.
func TestTileFits(t *testing.T) {
	for _, name := range vulkan.TileFits() {
		t.Errorf("invocations do not divide the operands of %s", name)
	}
}

// TestChosenTiles checks which tiles devices of several limits take.
func TestChosenTiles(t *testing.T) {
	large := vk.Caps{MaxInvocations: 1024, MaxGroupSize: [3]int{1024, 1024, 64}, MaxShared: 48 << 10, MaxRange: 1 << 30,
		MaxGroups: [3]int{65535, 65535, 65535}}
	phone := large
	phone.MaxInvocations, phone.MaxShared = 128, 16<<10
	tiny, h200, core := phone, large, phone
	tiny.MaxInvocations, h200.Units, core.Units = 32, 132, 1
	for _, tt := range []struct {
		name, device string
		caps         vk.Caps
		m, n, k      int
		want         vulkan.Tile
	}{
		{"square", "discrete", large, 4096, 4096, 4096, vulkan.Tile{M: 128, N: 128, Slices: 1, Parts: 1}},
		{"few rows", "discrete", large, 128, 768, 768, vulkan.Tile{M: 64, N: 64, Slices: 2, Parts: 8}},
		{"many terms", "discrete", large, 128, 768, 30720, vulkan.Tile{M: 64, N: 64, Slices: 2, Parts: 8}},
		{"few rows and 132 units", "discrete", h200, 128, 768, 768, vulkan.Tile{M: 32, N: 32, Slices: 4, Parts: 1}},
		{"many terms and a unit", "integrated", core, 128, 768, 30720, vulkan.Tile{M: 32, N: 32, Slices: 1, Parts: 1}},
		{"phone", "integrated", phone, 1024, 1024, 1024, vulkan.Tile{M: 32, N: 32, Slices: 1, Parts: 1}},
		{"software", "cpu", large, 64, 64, 65536, vulkan.Tile{M: 64, N: 64, Slices: 2, Parts: 1}},
		{"few invocations", "integrated", tiny, 64, 64, 64, vulkan.Tile{}},
	} {
		if got := vulkan.ProductTile(tt.caps, tt.device, tt.m, tt.n, tt.k); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestFewRows compares products of few rows with the CPU: matrices with neighbours along every axis,
// of whole words and not, with functions, and batches.
func TestFewRows(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 35))
	var list []nodeCase
	for _, d := range narrowFloats {
		for i, s := range [][3]int{{1, 3, 5}, {1, 132, 516}, {2, 37, 301}, {3, 68, 1100}, {4, 40, 64}} {
			if d != tensor.F32 && i != 1 {
				continue
			}
			m, n, k := s[0], s[1], s[2]
			for turned := range int64(4) {
				a, b := []int{m, k}, []int{k, n}
				if turned&1 != 0 {
					slices.Reverse(a)
				}
				if turned&2 != 0 {
					slices.Reverse(b)
				}
				attrs := []*graph.Attr{ints("transA", turned&1), ints("transB", turned>>1), number("alpha", 0.5), number("beta", 2),
					text("activation", []string{"Relu", "Tanh"}[i%2])}
				in := []*tensor.Tensor{typed(t, d, some(r, m*k), a...), typed(t, d, some(r, k*n), b...), typed(t, d, odd(r, n), n)}
				list = append(list, nodeCase{domain: kit.Microsoft, op: "FusedGemm", attrs: attrs, in: in, outs: 1, near: max(4*nears[d], 2e-4)})
			}
		}
		in := []*tensor.Tensor{typed(t, d, some(r, 3*2*36), 3, 2, 36), typed(t, d, some(r, 3*36*20), 3, 36, 20)}
		list = append(list, nodeCase{op: "MatMul", in: in, outs: 1, near: 4 * nears[d]})
	}
	for _, images := range []int{1, 6} { // of one pixel
		in := []*tensor.Tensor{random(r, images, 20, 1, 1), random(r, 24, 20, 1, 1), random(r, 24)}
		list = append(list, nodeCase{op: "Conv", in: in, outs: 1, near: 4 * nears[tensor.F32]})
	}
	for _, d := range []tensor.DType{tensor.I32, tensor.I64} {
		list = append(list, nodeCase{op: "MatMul", in: []*tensor.Tensor{integers(t, r, d, 2, 70), integers(t, r, d, 70, 12)}, outs: 1})
	}
	if s := compareWith(t, vulkan.Options{}, list); !strings.Contains(s.how, "matmul/gemv") {
		t.Error("no node ran by matmul/gemv")
	}
}

// TestDepthwise compares convolutions of planes by filters of their own with the CPU.
func TestDepthwise(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 35))
	var list []nodeCase
	for i, c := range []struct {
		h, w, kh, kw int
		attrs        []*graph.Attr
	}{
		{9, 11, 3, 3, []*graph.Attr{extents("pads", 1, 1, 1, 1)}},
		{12, 7, 5, 5, []*graph.Attr{extents("pads", 2, 1, 2, 3), extents("strides", 2, 2)}},
		{6, 13, 2, 7, []*graph.Attr{extents("strides", 3, 1)}},
		{5, 9, 1, 3, []*graph.Attr{extents("pads", 0, 2, 1, 0)}},
	} {
		d := narrowFloats[i%3]
		attrs := append(slices.Clone(c.attrs), ints("group", 10), text("activation", []string{"Relu", "Tanh"}[i%2]))
		in := []*tensor.Tensor{typed(t, d, odd(r, 2*10*c.h*c.w), 2, 10, c.h, c.w), typed(t, d, some(r, 10*c.kh*c.kw), 10, 1, c.kh, c.kw),
			typed(t, d, some(r, 10), 10)}
		list = append(list, nodeCase{domain: kit.Microsoft, op: "FusedConv", attrs: attrs, in: in, outs: 1, near: 4 * nears[d]})
	}
	line := []*tensor.Tensor{random(r, 3, 6, 21), random(r, 6, 1, 4)}
	list = append(list, nodeCase{op: "Conv", attrs: []*graph.Attr{ints("group", 6)}, in: line, outs: 1, near: nears[tensor.F32]})
	s := compareWith(t, vulkan.Options{}, list)
	if !strings.Contains(s.how, "conv/depth") || strings.Contains(s.how, "conv/direct") {
		t.Errorf("nodes ran by %s", s.how)
	}
}

// integers returns a matrix of integers of type d.
func integers(t *testing.T, r *rand.Rand, d tensor.DType, shape ...int) *tensor.Tensor {
	x := tensor.New(d, shape...)
	for i := range x.Bytes() {
		x.Bytes()[i] = byte(r.Uint32())
	}
	return x
}

// reals returns an attribute of a list of floats.
func reals(name string, list ...float32) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrFloats, Floats: slices.Clone(list)}
}

package vulkan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// matrixNodes are products and convolutions with and without extents that matrices divide, and with
// neighbours along every axis.
func matrixNodes(t *testing.T, r *rand.Rand) (list []nodeCase) {
	for _, d := range []tensor.DType{tensor.F16, tensor.BF16} {
		near := 4 * nears[d]
		list = append(list, floatProducts(t, r, d, near)...)
		list = append(list, convolutions(t, r, d, near)...)
		list = append(list, fewBits(t, r, d, near)...)
	}
	return slices.Concat(list, manyRows(t, r), wideProducts(t, r), codeProducts(t, r))
}

// wideProducts are products of rows of float32 by weights of 16 bits.
func wideProducts(t *testing.T, r *rand.Rand) (list []nodeCase) {
	for _, d := range []tensor.DType{tensor.F16, tensor.BF16} {
		for _, s := range [][4]int{
			{1, 132, 516, 2}, {1, 68, 100, 0}, {3, 37, 301, 1}, {4, 65, 64, 3}, {9, 70, 72, 2}, {40, 33, 45, 2}, {70, 52, 136, 0},
			{36, 44, 40, 1}, {128, 128, 256, 2},
		} {
			m, n, k, turned := s[0], s[1], s[2], s[3]
			a, b := []int{m, k}, []int{k, n}
			if turned&1 != 0 {
				slices.Reverse(a)
			}
			if turned&2 != 0 {
				slices.Reverse(b)
			}
			in := []*tensor.Tensor{typed(t, tensor.F32, some(r, m*k), a...), typed(t, d, some(r, k*n), b...), random(r, m, n)}
			attrs := []*graph.Attr{ints("transA", int64(turned&1)), ints("transB", int64(turned>>1)), number("alpha", 0.5),
				number("beta", 2)}
			list = append(list, nodeCase{domain: kit.Internal, op: "WidenedGemm", attrs: attrs, in: in, outs: 1, near: 3e-4})
		}
	}
	return list
}

// manyRows are products of many rows of float32 by weights of few bits, with every type of blocks. Rows
// rounded to one bfloat16 would be further off.
func manyRows(t *testing.T, r *rand.Rand) []nodeCase {
	rounded := fourBits(t, r, tensor.F32, 40, 64, 512, 32, true, true)
	rounded.near = 0.05 // of weights as bfloat16
	list := append(fewBits(t, r, tensor.F32, 1e-4), inBlocks(t, r, packed.Q8_0, 128, 128, 256), rounded)
	for i, of := range vulkan.ShaderBlocks {
		s := [][2]int{{9, 70}, {40, 33}, {70, 36}, {37, 64}}[i%4]
		c := inBlocks(t, r, of, s[0], s[1], max(192, of.Elements))
		c.near = 5e-3 // of sums whose terms are in the hundreds
		list = append(list, c)
	}
	return list
}

// turnedOperands are the operands of a product [m,n] of k terms, with a bias. Bits of turned say which
// of the first two are transposed.
func turnedOperands(t *testing.T, r *rand.Rand, d tensor.DType, turned int64, m, n, k int) []*tensor.Tensor {
	a, b := []int{m, k}, []int{k, n}
	if turned&1 != 0 {
		slices.Reverse(a)
	}
	if turned&2 != 0 {
		slices.Reverse(b)
	}
	return []*tensor.Tensor{typed(t, d, odd(r, m*k), a...), typed(t, d, some(r, k*n), b...), typed(t, d, odd(r, n), n)}
}

func floatProducts(t *testing.T, r *rand.Rand, d tensor.DType, near float64) (list []nodeCase) {
	for _, s := range [][3]int{{5, 7, 3}, {37, 70, 45}, {64, 48, 40}, {130, 264, 72}, {24, 136, 2104}} {
		m, n, k := s[0], s[1], s[2]
		for turned := range int64(4) {
			attrs := []*graph.Attr{ints("transA", turned&1), ints("transB", turned>>1), number("alpha", 0.5),
				number("beta", 2), text("activation", "LeakyRelu"), number("activation_alpha", 0.25)}
			in := turnedOperands(t, r, d, turned, m, n, k)
			list = append(list, nodeCase{domain: kit.Microsoft, op: "FusedGemm", attrs: attrs, in: in, outs: 1, near: near})
		}
		for _, shape := range [][]int{{k, n}, {3, k, n}, {2, 1, k, n}} {
			b := typed(t, d, odd(r, tensor.Shape(shape).Len()), shape...)
			list = append(list, nodeCase{op: "MatMul", in: []*tensor.Tensor{typed(t, d, some(r, 3*m*k), 3, m, k), b}, outs: 1,
				near: near})
		}
	}
	return append(list, wholeProducts(t, r, d, near)...)
}

// wholeProducts are products of whole tiles, with and without an addend.
func wholeProducts(t *testing.T, r *rand.Rand, d tensor.DType, near float64) (list []nodeCase) {
	const m, n, k = 128, 256, 256
	for turned := range int64(4) {
		in := turnedOperands(t, r, d, turned, m, n, k)
		attrs := []*graph.Attr{ints("transA", turned&1), ints("transB", turned>>1), number("alpha", 0.25)}
		list = append(list, nodeCase{op: "Gemm", attrs: attrs, in: in, outs: 1, near: near},
			nodeCase{op: "Gemm", attrs: attrs, in: in[:2], outs: 1, near: near})
	}
	return list
}

func convolutions(t *testing.T, r *rand.Rand, d tensor.DType, near float64) (list []nodeCase) {
	for _, c := range []struct {
		x, w  []int
		attrs []*graph.Attr
	}{
		{[]int{2, 16, 9, 11}, []int{24, 16, 1, 1}, nil},
		{[]int{1, 16, 8, 8}, []int{40, 16, 1, 1}, nil},
		{[]int{2, 5, 11, 9}, []int{17, 5, 3, 3}, []*graph.Attr{extents("pads", 1, 0, 1, 2), extents("strides", 2, 1)}},
		{[]int{1, 32, 12, 17}, []int{40, 16, 3, 2}, []*graph.Attr{ints("group", 2), extents("dilations", 2, 3), extents("pads", 2, 3, 2, 3)}},
		{[]int{1, 24, 50}, []int{16, 24, 5}, []*graph.Attr{extents("pads", 2, 2)}},
		{[]int{2, 3, 5, 6, 7}, []int{9, 3, 2, 3, 2}, []*graph.Attr{extents("pads", 1, 1, 1, 0, 1, 1)}},
	} {
		filters := c.w[0]
		in := []*tensor.Tensor{typed(t, d, odd(r, tensor.Shape(c.x).Len()), c.x...),
			typed(t, d, some(r, tensor.Shape(c.w).Len()), c.w...), typed(t, d, some(r, filters), filters)}
		list = append(list, nodeCase{op: "Conv", attrs: c.attrs, in: in, outs: 1, near: near})
	}
	return list
}

// fewBits are products by weights of few bits, rounded to elements of type d. The products are so
// small that this rounding is within near.
func fewBits(t *testing.T, r *rand.Rand, d tensor.DType, near float64) (list []nodeCase) {
	for _, s := range [][3]int{{7, 37, 100}, {40, 64, 128}, {64, 128, 1024}} {
		m, n, k := s[0], s[1], s[2]
		for _, bits := range []int{2, 4, 8} {
			const block = 32
			blocks := (k + block - 1) / block
			bytes := func(n int) []uint8 { return kit.Convert(picks(r, n, 256), func(x int64) uint8 { return uint8(x) }) }
			attrs := []*graph.Attr{ints("N", int64(n)), ints("K", int64(k)), ints("bits", int64(bits)),
				ints("block_size", block)}
			scales := kit.Convert(some(r, n*blocks), func(v float32) float32 { return v / float32(max(128, k)) })
			rows := odd(r, m*k)
			if bits == 4 || d == tensor.F32 { // differences of two sums of infinities
				rows = some(r, m*k)
			}
			in := []*tensor.Tensor{typed(t, d, rows, m, k),
				tensorOf(t, bytes(n*blocks*block*bits/8), n, blocks, block*bits/8), typed(t, d, scales, n*blocks)}
			list = append(list, nodeCase{domain: kit.Microsoft, op: "MatMulNBits", attrs: attrs, in: in, outs: 1,
				near: 2 * near})
			zeros := tensorOf(t, bytes(n*((blocks*bits+7)/8)), n*((blocks*bits+7)/8))
			in = append(slices.Clone(in), zeros, nil, typed(t, d, some(r, n), n))
			list = append(list, nodeCase{domain: kit.Microsoft, op: "MatMulNBits", attrs: attrs, in: in, outs: 1,
				near: 2 * near})
		}
	}
	return list
}

// codeProducts are products of codes with zero points of every kind.
func codeProducts(t *testing.T, r *rand.Rand) (list []nodeCase) {
	codes := func(d tensor.DType, shape ...int) *tensor.Tensor {
		x := tensor.New(d, shape...)
		for i := range x.Bytes() {
			x.Bytes()[i] = byte(r.Uint32())
		}
		return x
	}
	scale := func(n int) *tensor.Tensor {
		list := make([]float32, n)
		for i := range list {
			list[i] = 1e-3 * (1 + r.Float32())
		}
		return tensorOf(t, list, n)
	}
	middle := func(d tensor.DType) *tensor.Tensor { // a zero point that signed codes need not know
		x := tensor.New(d, 1)
		x.Bytes()[0] = map[tensor.DType]byte{tensor.U8: 128}[d]
		return x
	}
	types := []tensor.DType{tensor.U8, tensor.I8}
	for _, s := range [][3]int{{5, 7, 3}, {37, 70, 45}, {64, 48, 48}, {129, 208, 328}, {128, 128, 256}} {
		m, n, k := s[0], s[1], s[2]
		for _, a := range types {
			for _, b := range types {
				list = append(list,
					nodeCase{op: "MatMulInteger", in: []*tensor.Tensor{codes(a, 2, m, k), codes(b, k, n), codes(a, 1), codes(b, n)}, outs: 1},
					nodeCase{op: "MatMulInteger", in: []*tensor.Tensor{codes(a, m, k), codes(b, k, n)}, outs: 1},
					nodeCase{op: "MatMulInteger", in: []*tensor.Tensor{codes(a, m, k), codes(b, k, n), middle(a), middle(b)}, outs: 1},
					nodeCase{op: "QLinearMatMul", in: []*tensor.Tensor{codes(a, m, k), scale(1), codes(a, 1), codes(b, k, n), scale(n), codes(b, n), scale(1), codes(a, 1)}, outs: 1},
					nodeCase{domain: kit.Microsoft, op: "QGemm", attrs: []*graph.Attr{ints("transA", 1), ints("transB", 1)}, outs: 1, near: 1e-6,
						in: []*tensor.Tensor{codes(a, k, m), scale(1), codes(a, 1), codes(b, n, k), scale(1), codes(b, 1), tensorOf(t, kit.Convert(picks(r, n, 1000), func(x int64) int32 { return int32(x) }), n)}})
			}
		}
	}
	return list
}

// TestMatrices compares products by cooperative matrices with the CPU, and with the level below.
func TestMatrices(t *testing.T) {
	if d := open(t, vulkan.Options{}); !d.Info().Caps.CoopMatrix {
		t.Skip("the device has no cooperative matrices")
	}
	for _, setting := range []struct {
		name    string
		options vulkan.Options
		has     bool
	}{
		{"level 3", vulkan.Options{Level: vulkan.L3}, true},
		{"level 2", vulkan.Options{Level: vulkan.L2}, false},
		{"low limits", vulkan.Options{MaxRange: 1 << 16, MaxGroups: 8}, true},
	} {
		t.Run(setting.name, func(t *testing.T) {
			t.Parallel()
			s := compareWith(t, setting.options, matrixNodes(t, rand.New(rand.NewPCG(7, 3))))
			for _, name := range vulkan.MatrixKernels() {
				has := setting.has && hasVariant(t, s.device, name)
				if strings.Contains(s.how, name) != has {
					t.Errorf("a node ran by %s: %v", name, !has)
				}
			}
		})
	}
}

// emulated are products of matrices of NVIDIA's devices.
var emulated = [][]vk.Matrix{
	{{M: 16, N: 16, K: 16, Operands: "f16", Sums: "f32"}, {M: 16, N: 16, K: 16, Operands: "f16", Sums: "f16"},
		{M: 16, N: 16, K: 16, Operands: "bf16", Sums: "f32"}, {M: 16, N: 16, K: 32, Operands: "i8", Sums: "i32"}},
	{{M: 16, N: 8, K: 16, Operands: "f16", Sums: "f32"}, {M: 16, N: 8, K: 16, Operands: "f16", Sums: "f16"},
		{M: 16, N: 8, K: 16, Operands: "bf16", Sums: "f32"}, {M: 16, N: 8, K: 32, Operands: "i8", Sums: "i32"}},
}

// TestEmulatedMatrices compares the shaders of cooperative matrices with the CPU on devices without
// such matrices, by every tile that fits the device. Tiles take turns at most nodes.
func TestEmulatedMatrices(t *testing.T) {
	if hasNoHalves(t, open(t, vulkan.Options{})) {
		return
	}
	how := ""
	for i := range vulkan.MatrixTiles {
		t.Run(fmt.Sprint("tile ", i), func(t *testing.T) {
			if testing.Short() && i%3 != 1 {
				t.Skip("a third of the tiles in short runs")
			}
			defer vulkan.OnlyMatrixTile(i, []int{1, 132}[i%2])()
			d := open(t, vulkan.Options{Everything: true})
			d.Emulate(emulated[i%len(emulated)]...)
			if !d.HoldsMatrixTile() {
				t.Log("the device has too little memory for the tile")
				return
			}
			r := rand.New(rand.NewPCG(uint64(i), 3))
			list := append(wholeProducts(t, r, tensor.F16, 4*nears[tensor.F16]), nodeCase{op: "MatMulInteger",
				in: []*tensor.Tensor{integers(t, r, tensor.I8, 128, 256), integers(t, r, tensor.I8, 256, 128)}, outs: 1})
			for _, c := range convolutions(t, r, tensor.F16, 4*nears[tensor.F16]) {
				if c.in[0].Shape()[1]%8 != 0 { // others have channels last
					list = append(list, c)
				}
			}
			for k, c := range matrixNodes(t, r) {
				if k%vulkan.MatrixTiles == i {
					list = append(list, c)
				}
			}
			how += compareOn(t, d, list).how
		})
	}
	for _, name := range append(vulkan.MatrixKernels(), "matmul/matrix/f16_straight", "quant/matrix/integers_straight") {
		if !strings.Contains(how, name) {
			t.Errorf("no node ran by %s", name)
		}
	}
}

// TestMatrixTiles checks the tiles of products on devices of different limits.
func TestMatrixTiles(t *testing.T) {
	nvidia := vk.Caps{SubgroupSize: 32, Subgroups: 64, MaxInvocations: 1024, MaxGroupSize: [3]int{1024, 1024, 64},
		MaxShared: 48 << 10, MaxRange: 1 << 30, MaxGroups: [3]int{65535, 65535, 65535}}
	for _, x := range []struct {
		m, n, k        int
		operands, sums string
	}{{16, 8, 8, "f16", "f32"}, {16, 16, 32, "f16", "f16"}, {16, 16, 16, "f16", "f32"}, {16, 8, 16, "f16", "f32"},
		{16, 16, 32, "i8", "i32"}} {
		nvidia.Matrices = append(nvidia.Matrices, vk.Matrix{M: x.m, N: x.n, K: x.k, Operands: x.operands, Sums: x.sums})
	}
	amd, scalar := nvidia, nvidia
	amd.SubgroupSize, scalar.SubgroupSize = 64, 1
	small := nvidia
	small.MaxShared, small.MaxInvocations = 16<<10, 128
	for _, tt := range []struct {
		name       string
		caps       vk.Caps
		elements   string
		m, n, k, z int
		rows, cols int // 0: no tile
		parts      int
	}{
		{"large", nvidia, "f16", 4096, 4096, 4096, 1, 128, 128, 1},
		{"few groups", nvidia, "f16", 128, 768, 768, 1, 32, 32, 1},
		{"more groups", nvidia, "f16", 128, 3072, 768, 1, 64, 64, 1},
		{"many terms", nvidia, "f16", 128, 768, 30720, 1, 64, 64, 8},
		{"batch", nvidia, "f16", 512, 512, 512, 128, 128, 128, 1},
		{"vector", nvidia, "f16", 4096, 1, 4096, 1, 0, 0, 0},
		{"few rows", nvidia, "f16", 5, 4096, 4096, 1, 32, 32, 1},
		{"codes", nvidia, "i8", 4096, 4096, 4096, 1, 128, 128, 1},
		{"no such elements", nvidia, "bf16", 4096, 4096, 4096, 1, 0, 0, 0},
		{"little memory", small, "f16", 4096, 4096, 4096, 1, 64, 64, 1},
		{"subgroups of 64", amd, "f16", 4096, 4096, 4096, 1, 128, 128, 1},
		{"subgroups of 1", scalar, "f16", 4096, 4096, 4096, 1, 128, 128, 1},
	} {
		rows, cols, parts := vulkan.MatrixTile(tt.caps, tt.elements, tt.m, tt.n, tt.k, tt.z)
		if rows != tt.rows || cols != tt.cols || parts != tt.parts {
			t.Errorf("%s: the tile is %dx%d in %d parts, want %dx%d in %d", tt.name, rows, cols, parts, tt.rows, tt.cols, tt.parts)
		}
	}
}

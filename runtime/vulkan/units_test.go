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

// fourBits is rows [m,k] by weights [n,k] of 4 bits, with zero points and a bias or without, and with
// rounded rows or without.
func fourBits(t *testing.T, r *rand.Rand, d tensor.DType, m, n, k, block int, zeros, rounded bool) nodeCase {
	blocks := (k + block - 1) / block
	bytes := func(n int) []uint8 { return kit.Convert(picks(r, n, 256), func(x int64) uint8 { return uint8(x) }) }
	scales := kit.Convert(some(r, n*blocks), func(v float32) float32 { return v / 64 })
	attrs := []*graph.Attr{ints("N", int64(n)), ints("K", int64(k)), ints("bits", 4), ints("block_size", int64(block))}
	rows := some(r, m*k)
	if rounded {
		attrs, rows = append(attrs, ints("accuracy_level", 4)), byteRows(r, m, k)
	}
	in := []*tensor.Tensor{typed(t, d, rows, m, k), tensorOf(t, bytes(n*blocks*block/2), n, blocks, block/2),
		typed(t, d, scales, n*blocks)}
	if zeros {
		row := (blocks + 1) / 2
		in = append(in, tensorOf(t, bytes(n*row), n*row), nil, typed(t, d, some(r, n), n))
	}
	return nodeCase{domain: kit.Microsoft, op: "MatMulNBits", attrs: attrs, in: in, outs: 1, near: max(8*nears[d], 2e-4)}
}

// inBlocks is rows [m,k] by weights [n,k] in blocks, with an addend. Types that take given blocks have
// random ones with scales that are small numbers.
func inBlocks(t *testing.T, r *rand.Rand, of *packed.Blocks, m, n, k int) nodeCase {
	w := tensor.New(tensor.OfBlocks(of), n, k)
	data := w.Bytes()
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	for at := 0; at < len(data); at += of.Bytes {
		for _, i := range of.Scales {
			bits := packed.ToF16((1 + r.Float32()) / 256)
			data[at+i], data[at+i+1] = byte(bits), byte(bits>>8)
		}
		switch of {
		case packed.MXFP4:
			data[at] = byte(118 + r.IntN(4))
		case packed.NVFP4:
			for i := range 4 {
				data[at+i] = byte(8 + r.IntN(24))
			}
		}
	}
	in := []*tensor.Tensor{typed(t, tensor.F32, some(r, m*k), m, k), w, random(r, m, n)}
	return nodeCase{domain: kit.Internal, op: "WidenedGemm", in: in, outs: 1, near: 1e-3,
		attrs: []*graph.Attr{ints("transB", 1), number("alpha", 0.5), number("beta", 2)}}
}

// TestUnits compares products by weights of few bits with the CPU: by every number of rows, of
// invocations that share a column, and under the limits of phones.
func TestUnits(t *testing.T) {
	for _, lanes := range []int{1, 4, 32} {
		for _, p := range []vulkan.Profile{"", vulkan.Mali} {
			t.Run(fmt.Sprint(lanes, " lanes ", p), func(t *testing.T) {
				if testing.Short() && lanes == 1 {
					t.Skip("not in short runs: 1 invocation for a column")
				}
				defer vulkan.OnlyLanes(lanes)()
				r := rand.New(rand.NewPCG(uint64(lanes), 36))
				var list []nodeCase
				for i, s := range [][4]int{
					{1, 300, 100, 32}, {2, 37, 33, 64}, {3, 70, 2048, 128}, {8, 5, 4224, 32}, {9, 20, 70, 32}, {17, 33, 520, 256},
				} {
					for _, d := range narrowFloats {
						list = append(list, fourBits(t, r, d, s[0], s[1], s[2], s[3], i%2 == 0, i%3 == 0))
					}
					list = append(list, fourBits(t, r, tensor.F32, s[0], s[1], s[2], s[3], i%2 != 0, i%3 != 0))
				}
				for i, of := range vulkan.ShaderBlocks {
					s := [][2]int{{1, 300}, {8, 33}, {2, 70}, {5, 1}}[i%4]
					c := inBlocks(t, r, of, s[0], s[1], 5*of.Elements)
					list = append(list, c)
					c.in, c.fast = slices.Clone(c.in), true
					c.in[0] = typed(t, tensor.F32, byteRows(r, s[0], 5*of.Elements), s[0], 5*of.Elements)
					list = append(list, c)
				}
				list = append(list, inBlocks(t, r, packed.Q4_0, 3, 40, 4224), inBlocks(t, r, packed.Q6_K, 9, 40, 4608))
				random := inBlocks(t, r, packed.Q4_0, 3, 40, 4224)
				random.fast, random.near = true, 0.05 // the CPU does not round
				list = append(list, random)
				s := compareWith(t, vulkan.Options{Profile: p}, list)
				for _, x := range [][2]string{{"quant/nbits4", "f32"}, {"quant/nbits4", "f32_dot"}, {"quant/nbits4", "f16_dot"},
					{"quant/blocks", "f32"}, {"quant/blocks", "f32_dot"}} {
					if name := x[0] + "/" + x[1]; !strings.Contains(s.how, name) && !lacks(t, s.device, x[0], x[1]) {
						t.Errorf("no node ran by %s", name)
					}
				}
			})
		}
	}
}

// TestUnitGroups checks the workgroups of devices of several limits.
func TestUnitGroups(t *testing.T) {
	large := vk.Caps{MaxInvocations: 1024, MaxGroupSize: [3]int{1024, 1024, 64}, MaxShared: 48 << 10}
	phone := large
	phone.MaxInvocations, phone.MaxShared = 128, 16<<10
	for _, tt := range []struct {
		name, device string
		caps         vk.Caps
		m, k         int
		want         vulkan.UnitGroup
	}{
		{"a row", "discrete", large, 1, 2048, vulkan.UnitGroup{Size: 256, Rows: 1, Lanes: 32, Chunk: 64}},
		{"a long row", "discrete", large, 1, 5632, vulkan.UnitGroup{Size: 512, Rows: 1, Lanes: 32, Chunk: 128}},
		{"rows", "discrete", large, 3, 2048, vulkan.UnitGroup{Size: 256, Rows: 4, Lanes: 32, Chunk: 32}},
		{"many rows", "discrete", large, 100, 2048, vulkan.UnitGroup{Size: 256, Rows: 8, Lanes: 32, Chunk: 32}},
		{"a short row", "discrete", large, 1, 33, vulkan.UnitGroup{Size: 256, Rows: 1, Lanes: 2, Chunk: 2}},
		{"a phone", "integrated", phone, 1, 5632, vulkan.UnitGroup{Size: 128, Rows: 1, Lanes: 32, Chunk: 64}},
		{"rows on a phone", "integrated", phone, 8, 2048, vulkan.UnitGroup{Size: 128, Rows: 8, Lanes: 8, Chunk: 8}},
	} {
		got, shared := vulkan.UnitGroupOf(tt.caps, tt.device, tt.m, tt.k)
		if got != tt.want || shared > tt.caps.MaxShared {
			t.Errorf("%s: %+v with %d bytes of shared memory, want %+v", tt.name, got, shared, tt.want)
		}
	}
}

package vulkan_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// nodeCase is a node to compute on the device and on the CPU. Outputs may differ by near.
type nodeCase struct {
	domain, op string
	version    int // 0 for 24, or 1 in a domain
	attrs      []*graph.Attr
	in         []*tensor.Tensor // nil for an input that is left out
	outs       int
	near       float64
	fast       bool // the device may round rows
}

// narrowFloats are the types that shaders compute on as floats. Nears are the tolerances of sums.
var (
	narrowFloats = []tensor.DType{tensor.F32, tensor.F16, tensor.BF16}
	nears        = map[tensor.DType]float64{tensor.F32: 1e-5, tensor.F16: 2e-3, tensor.BF16: 2e-2}
)

// number returns an attribute of a float.
func number(name string, v float64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrFloat, Float: float32(v)}
}

// extents returns an attribute of a list of integers.
func extents(name string, list ...int64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrInts, Ints: list}
}

// odd returns n numbers from -2 to 2, with NaN, infinities, a subnormal and -0 among them.
func odd(r *rand.Rand, n int) []float32 {
	list := some(r, n)
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e-41, math.Copysign(0, -1)} {
		list[r.IntN(n)] = float32(v)
	}
	return list
}

// drawnNodes are nodes that draw random numbers.
func drawnNodes(t *testing.T, r *rand.Rand) (list []nodeCase) {
	const n = 20011
	for _, d := range narrowFloats {
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
	const rows, outcomes = 5, 1301
	for _, d := range narrowFloats {
		x := kit.Convert(some(r, rows*outcomes), func(v float32) float32 { return 8 * v })
		copy(x, []float32{float32(math.Inf(-1)), -200, 3, float32(math.Inf(-1))})
		for _, code := range []int64{6, 7} {
			list = append(list, nodeCase{op: "Multinomial", attrs: []*graph.Attr{number("seed", 11), ints("sample_size", 700),
				ints("dtype", code)}, in: []*tensor.Tensor{typed(t, d, x, rows, outcomes)}, outs: 1})
		}
	}
	chances := some(r, n)
	for i := range chances {
		chances[i] = float32(math.Ldexp(1, -r.IntN(60))) * r.Float32()
	}
	copy(chances, []float32{0, 1, -1, 2, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1e-41,
		0x1p-53, 0x1.fffffep-1})
	for _, d := range narrowFloats {
		for _, code := range []int64{1, 6, 9, 12} { // float32, int32, bool, uint32
			list = append(list, nodeCase{op: "Bernoulli", attrs: []*graph.Attr{number("seed", 3), ints("dtype", code)},
				in: []*tensor.Tensor{typed(t, d, chances, n)}, outs: 1})
		}
	}
	return list
}

// groupedNodes are attentions with normalised queries and keys, apart and packed.
func groupedNodes(t *testing.T, r *rand.Rand) (list []nodeCase) {
	const batch, tokens, heads, kvHeads, size, room, positions = 2, 3, 4, 2, 10, 9, 16
	attrs := []*graph.Attr{ints("num_heads", heads), ints("kv_num_heads", kvHeads), number("qk_norm_epsilon", 1e-3)}
	last, total := tensorOf(t, []int32{5, 3}, batch), tensorOf(t, []int32{6})
	pastK, pastV := random(r, batch, kvHeads, room, size), random(r, batch, kvHeads, room, size)
	cos, sin := random(r, positions, size/2), random(r, positions, size/2)
	q, k, v := random(r, batch, tokens, heads*size), random(r, batch, tokens, kvHeads*size),
		random(r, batch, tokens, kvHeads*size)
	all := random(r, batch, tokens, (heads+2*kvHeads)*size)
	for _, rotary := range []int64{0, 1} {
		own := append(slices.Clone(attrs), ints("do_rotary", rotary), ints("rotary_interleaved", 1-rotary))
		for _, in := range [][]*tensor.Tensor{{q, k, v}, {all, nil, nil}} {
			in = append(in, pastK, pastV, last, total, cos, sin, nil, nil, nil, nil, nil, random(r, size), random(r, size))
			list = append(list, nodeCase{domain: kit.Microsoft, op: "GroupQueryAttention", attrs: own, in: in, outs: 3,
				near: 1e-5})
		}
	}
	return list
}

// byteRows returns m rows of k numbers that rounding to 8 bits leaves as they are: multiples of 1/32, of
// which each unit has one of the largest magnitude.
func byteRows(r *rand.Rand, m, k int) []float32 {
	const unit, most = 32, 127
	list := make([]float32, m*k)
	for i := range list {
		code := r.IntN(2*most+1) - most
		if i%k%unit == 0 {
			code = most - 2*most*r.IntN(2)
		}
		list[i] = float32(code) / 32
	}
	return list
}

// roundedNodes are products of rows that may be rounded to 8 bits.
func roundedNodes(t *testing.T, r *rand.Rand) (list []nodeCase) {
	const n, k, block = 37, 100, 32
	const blocks = (k + block - 1) / block
	for _, bits := range []int64{2, 4, 8} {
		codes := make([]uint8, n*blocks*block*int(bits)/8)
		for i := range codes {
			codes[i] = uint8(r.Uint32())
		}
		attrs := []*graph.Attr{ints("N", n), ints("K", k), ints("bits", bits), ints("block_size", block),
			ints("accuracy_level", 4)}
		for _, m := range []int{1, 7} {
			for _, d := range narrowFloats {
				rows := byteRows(r, m, k)
				if bits == 4 { // others give an infinity, not NaN, if they do not round
					rows[r.IntN(m*k)], rows[r.IntN(m*k)] = float32(math.Inf(1)), float32(math.NaN())
				}
				in := []*tensor.Tensor{typed(t, d, rows, m, k), tensorOf(t, codes, n, blocks, block*int(bits)/8),
					typed(t, d, some(r, n*blocks), n*blocks)}
				list = append(list, nodeCase{domain: kit.Microsoft, op: "MatMulNBits", attrs: attrs, in: in, outs: 1,
					near: max(10*nears[d], 1e-3)})
			}
		}
	}
	return list
}

// typed returns numbers as elements of float32, float16 or bfloat16.
func typed(t *testing.T, d tensor.DType, list []float32, shape ...int) *tensor.Tensor {
	switch d {
	case tensor.F16:
		return tensorOf(t, kit.Convert(list, packed.ToF16), shape...)
	case tensor.BF16:
		return tensorOf(t, kit.Convert(list, packed.ToBF16), shape...)
	}
	return tensorOf(t, list, shape...)
}

// sharedNodes are nodes with few results of many terms, so that workgroups share the terms of a
// result.
func sharedNodes(t *testing.T, r *rand.Rand) (list []nodeCase) {
	const m, n, k, keys = 33, 70, 2101, 1501
	small := func(count int) []float32 {
		return kit.Convert(some(r, count), func(v float32) float32 { return v / 16 })
	}
	for _, d := range narrowFloats {
		near := 4 * nears[d] // scalar code adds the terms one by one
		a, b, c := typed(t, d, odd(r, 2*m*k), 2, m, k), typed(t, d, small(k*n), k, n), typed(t, d, some(r, n), n)
		list = append(list, nodeCase{op: "MatMul", in: []*tensor.Tensor{a, b}, outs: 1, near: near},
			nodeCase{op: "Gemm", attrs: []*graph.Attr{number("alpha", 0.5), number("beta", 2), ints("transA", 1)}, in: []*tensor.Tensor{typed(t, d, small(k*m), k, m), b, c}, outs: 1, near: near})
		q, key, value := typed(t, d, some(r, 2*4*13), 2, 4, 1, 13), typed(t, d, some(r, 2*2*keys*13), 2, 2, keys, 13),
			typed(t, d, some(r, 2*2*keys*9), 2, 2, keys, 9)
		mask := odd(r, keys)
		mask[3] = 0
		for _, in := range [][]*tensor.Tensor{{q, key, value}, {q, key, typed(t, d, odd(r, 2*2*keys*9), 2, 2, keys, 9)},
			{q, key, value, typed(t, d, mask, 1, keys)}, {q, typed(t, d, odd(r, 2*2*keys*13), 2, 2, keys, 13), value}} {
			list = append(list, nodeCase{op: "Attention", in: in, outs: 1, near: near})
		}
	}
	list = append(list, nodeCase{op: "MatMul",
		in: []*tensor.Tensor{tensorOf(t, picks(r, m*k, 1<<40), m, k), tensorOf(t, picks(r, k*n, 1<<40), k, n)}, outs: 1})
	for _, window := range []int64{-1, 300} {
		const batch, heads, kvHeads, size = 2, 4, 2, 10
		last, total := tensorOf(t, []int32{keys - 1, 40}, batch), tensorOf(t, []int32{keys})
		in := []*tensor.Tensor{random(r, batch, 1, heads*size), random(r, batch, 1, kvHeads*size), random(r, batch, 1, kvHeads*size), random(r, batch, kvHeads, keys, size), random(r, batch, kvHeads, keys, size),
			last, total, nil, nil, nil, nil, random(r, heads)}
		attrs := []*graph.Attr{ints("num_heads", heads), ints("kv_num_heads", kvHeads), ints("local_window_size", window)}
		list = append(list, nodeCase{domain: kit.Microsoft, op: "GroupQueryAttention", attrs: attrs, in: in, outs: 3,
			near: 1e-5})
	}
	return list
}

// transformedNodes are convolutions by 3x3 filters.
func transformedNodes(t *testing.T, r *rand.Rand) (list []nodeCase) {
	for _, d := range narrowFloats {
		in := []*tensor.Tensor{typed(t, d, some(r, 17*15*18), 1, 17, 15, 18), typed(t, d, some(r, 19*17*9), 19, 17, 3, 3),
			typed(t, d, some(r, 19), 19)}
		list = append(list, nodeCase{op: "Conv", attrs: []*graph.Attr{extents("pads", 1, 0, 1, 2)}, in: in, outs: 1,
			near: 10 * nears[d]})
	}
	return list
}

// packedNodes are OpenInfer's functions of elements with all their bit patterns, stretched.
func packedNodes(r *rand.Rand) (list []nodeCase) {
	const rows, columns = 5, 131
	for _, d := range []tensor.DType{tensor.I1, tensor.U2, tensor.I4, tensor.I8, tensor.U16, tensor.I32, tensor.F8E5M2,
		tensor.F16, tensor.BF16, tensor.F32} {
		operand := func(shape ...int) *tensor.Tensor {
			t := tensor.New(d, shape...)
			for i := range t.Bytes() {
				t.Bytes()[i] = byte(r.Uint32())
			}
			switch d { // devices may take subnormal numbers of these types for 0
			case tensor.F32:
				copy(tensor.View[float32](t), few(r, t.Len()))
			case tensor.BF16:
				copy(tensor.View[packed.BF16](t), kit.Convert(few(r, t.Len()), packed.ToBF16))
			}
			return t
		}
		reduced := extents("axes", 1)
		for _, name := range []string{"sum_axis", "mean_axis", "prod_axis", "max_axis", "argmin_axis"} {
			list = append(list, nodeCase{domain: "openinfer", op: name, attrs: []*graph.Attr{reduced},
				in: []*tensor.Tensor{operand(rows, 65, 3)}, outs: 1, near: float64(kit.Btoi(d.IsFloat())) * 1e-6})
		}
		for _, to := range []string{"uint8", "int32", "float8e5m2", "float16", "float32"} {
			if d.IsInteger() && to[0] != 'f' {
				continue
			}
			for _, mode := range []string{"trunc", "nearest"} {
				list = append(list, nodeCase{domain: "openinfer", op: "cast",
					attrs: []*graph.Attr{text("to", to), text("rounding_mode", mode)}, in: []*tensor.Tensor{operand(rows, columns)},
					outs: 1, near: float64(kit.Btoi(to[0] == 'f')) * 1e-9})
			}
		}
		for _, name := range []string{"add", "mul", "div", "min", "lt", "filter"} {
			in := []*tensor.Tensor{operand(rows, columns), operand(columns)}
			if name == "filter" {
				in = append(in, operand(rows, 1))
			}
			list = append(list, nodeCase{domain: "openinfer", op: name, in: in, outs: 1,
				near: float64(kit.Btoi(d.IsFloat())) * 1e-6})
		}
	}
	return list
}

// transformNodes are Fourier transforms, by passes and by sums, and powers, sums and products with
// shaders of their own.
func transformNodes(t *testing.T, r *rand.Rand) (list []nodeCase) {
	for _, d := range narrowFloats {
		for _, n := range []int{1, 2, 3, 10, 16, 45, 360, 77} {
			near := nears[d]
			if n != 77 && d == tensor.F32 {
				near = 0 // the same passes as on the CPU
			}
			for _, inverse := range []int64{0, 1} {
				for _, parts := range []int{1, 2} {
					x := typed(t, d, some(r, 3*n*2*parts), 3, n, 2, parts)
					list = append(list, nodeCase{op: "DFT", attrs: []*graph.Attr{ints("inverse", inverse)},
						in: []*tensor.Tensor{x, nil, tensorOf(t, []int64{1})}, outs: 1, near: near})
				}
			}
		}
		exponents := picks(r, 60, 9)
		copy(exponents, []int64{0, 1, -1, 2, 1<<24 + 1, -1<<24 - 1, 1<<40 + 1, math.MinInt64, math.MaxInt64})
		base := few(r, 60)
		for i := range base[:20] {
			base[i] = []float32{1, -1, 1.0000001, -0.9999999, 2, 0, float32(math.Copysign(0, -1))}[i%7]
		}
		x := typed(t, d, base, 60)
		narrow := kit.Convert(exponents, func(v int64) int32 { return int32(v) })
		for _, e := range []*tensor.Tensor{tensorOf(t, exponents, 60), tensorOf(t, narrow, 60),
			tensorOf(t, kit.Convert(narrow, func(v int32) int8 { return int8(v) }), 60),
			tensorOf(t, kit.Convert(exponents, func(v int64) uint64 { return uint64(v) }), 60), tensorOf(t, []int32{3}, 1)} {
			list = append(list, nodeCase{op: "Pow", in: []*tensor.Tensor{x, e}, outs: 1, near: nears[d]})
		}
		for _, rows := range []int{1, 33} {
			in := []*tensor.Tensor{typed(t, d, some(r, rows*7), rows, 7), typed(t, d, some(r, 35), 7, 5),
				typed(t, d, some(r, 5), 5), typed(t, d, some(r, rows*5), rows, 5)}
			list = append(list, nodeCase{domain: kit.Internal, op: "MatMulBias", in: in, outs: 1, near: 2 * nears[d]})
		}
		batch := []*tensor.Tensor{typed(t, d, some(r, 3*5*70), 3, 5, 70)}
		for range 4 {
			batch = append(batch, typed(t, d, some(r, 5), 5))
		}
		list = append(list, nodeCase{op: "BatchNormalization", attrs: []*graph.Attr{ints("training_mode", 1)}, in: batch,
			outs: 3, near: 4 * nears[d]})
		c := typed(t, d, odd(r, 5), 5)
		list = append(list, nodeCase{op: "Gemm", attrs: []*graph.Attr{number("beta", 0)}, in: []*tensor.Tensor{typed(t, d, some(r, 21), 3, 7), typed(t, d, some(r, 35), 7, 5), c}, outs: 1, near: nears[d]},
			nodeCase{domain: kit.Internal, op: "SumLike", in: []*tensor.Tensor{typed(t, d, some(r, 4*3*5), 4, 3, 5), typed(t, d, some(r, 3), 3, 1)}, outs: 1, near: 4 * nears[d]})
		for _, name := range []string{"ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceMean", "ReduceLogSumExp",
			"ReduceLogSum", "ReduceL2"} {
			list = append(list, nodeCase{op: name, in: []*tensor.Tensor{tensor.New(d, 3, 0, 2), tensorOf(t, []int64{1}, 1)},
				outs: 1, near: 1e-9})
		}
	}
	return list
}

// recurrentNodes are recurrent networks.
func recurrentNodes(t *testing.T, r *rand.Rand) (list []nodeCase) {
	const steps, batch, input, units = 5, 3, 7, 9
	for _, d := range narrowFloats {
		for _, gates := range []int{3, 4} {
			in := []*tensor.Tensor{typed(t, d, some(r, steps*batch*input), steps, batch, input), typed(t, d, some(r, gates*units*input), 1, gates*units, input),
				typed(t, d, some(r, gates*units*units), 1, gates*units, units), typed(t, d, some(r, 2*gates*units), 1, 2*gates*units), tensorOf(t, []int32{5, 2, 4}, batch)}
			list = append(list, nodeCase{op: map[int]string{3: "GRU", 4: "LSTM"}[gates],
				attrs: []*graph.Attr{ints("hidden_size", units)}, in: in, outs: 2, near: nears[d]})
		}
	}
	return list
}

// TestNodes compares nodes on the device with the CPU, with all of the device's features and limits
// and with low limits.
func TestNodes(t *testing.T) {
	defer vulkan.AlwaysTransformed()()
	t.Run("all", func(t *testing.T) {
		s := compareNodes(t, vulkan.Options{})
		s.checkRan(t)
		for _, name := range []string{"attention/join", "conv/points", "matmul/gemm"} {
			if !strings.Contains(s.how, name) {
				t.Errorf("no node ran by %s", name)
			}
		}
	})
	t.Run("low limits", func(t *testing.T) {
		if s := compareNodes(t, vulkan.Options{MaxRange: 1 << 16, MaxGroups: 8}); len(s.offload) == 0 {
			t.Error("no node ran on the device")
		}
	})
	for _, p := range vulkan.Profiles() {
		t.Run(string(p), func(t *testing.T) {
			if testing.Short() {
				t.Skip("the nodes again: not in short runs")
			}
			s := compareNodes(t, vulkan.Options{Profile: p})
			if len(s.offload) == 0 {
				t.Error("no node ran on the device")
			}
			for name, n := range s.ran {
				if s.offload[name] < n {
					t.Logf("%d of %d nodes %s ran on the device", s.offload[name], n, name)
				}
			}
		})
	}
}

// element returns an element as text.
func element(t *tensor.Tensor, at int) string {
	if list := kit.Doubles(t); list != nil {
		return fmt.Sprint(list[at])
	}
	size := t.DType().Bytes(1)
	return fmt.Sprintf("bytes %x", t.Bytes()[at*size:][:size])
}

// compared counts nodes that were compared.
type compared struct {
	*single
	ran map[string]int // by operator
	how string         // the kernels that computed them
}

func compareNodes(t *testing.T, o vulkan.Options) *compared {
	r := rand.New(rand.NewPCG(17, 3))
	return compareWith(t, o,
		slices.Concat(drawnNodes(t, r), groupedNodes(t, r), roundedNodes(t, r), sharedNodes(t, r), transformedNodes(t, r),
			packedNodes(r), recurrentNodes(t, r), countedNodes(t, r), transformNodes(t, r), generatedNodes(t),
			normedNodes(t, r), tiledNodes(t, r)))
}

func compareWith(t *testing.T, o vulkan.Options, list []nodeCase) *compared {
	o.Everything = true
	return compareOn(t, open(t, o), list)
}

func compareOn(t *testing.T, d *vulkan.Device, list []nodeCase) *compared {
	s := &compared{&single{device: d, registry: standard.Registry(), offload: map[string]int{}, test: t,
		lacking: map[string]int{}}, map[string]int{}, ""}
	for _, c := range list {
		// The CPU rounds rows of MatMulNBits only if codes and scales are constants.
		s.constant = func(i int, x *tensor.Tensor) bool {
			return isParameter(i, x) || i > 0 && (x.DType() == tensor.U8 || c.op == "MatMulNBits")
		}
		n := &graph.Node{Name: c.op, Domain: c.domain, Op: c.op, Version: 24, Attrs: c.attrs}
		switch {
		case c.version > 0:
			n.Version = c.version
		case c.domain != "":
			n.Version = 1
		}
		for i, x := range c.in {
			n.Inputs = append(n.Inputs, "")
			if x != nil {
				n.Inputs[i] = "in" + string(rune('a'+i))
			}
		}
		n.Outputs = []string{"x", "y", "z", "u"}[:c.outs]
		s.fast = c.fast
		want, err := onCPU(s.single, n, c.in)
		if err != nil {
			t.Fatalf("%s %v: %v", c.op, c.in, err)
		}
		got, err := s.eval(n, c.in)
		if err != nil {
			t.Fatalf("%s %v: %v", c.op, c.in, err)
		}
		if want[0].Len() > 0 {
			s.ran[c.op]++
		}
		s.how += s.single.how
		for i := range want {
			if !got[i].Shape().Equal(want[i].Shape()) {
				t.Fatalf("output %d of %s %v is %v, want %v", i, c.op, c.in, got[i], want[i])
			}
			if at := differ(got[i], want[i], c.near); at >= 0 {
				t.Errorf("output %d of %s %v differs at %d: %s, want %s", i, c.op, c.in, at, element(got[i], at),
					element(want[i], at))
			}
		}
	}
	return s
}

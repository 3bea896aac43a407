package cpu

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// differentFloat16 returns the index of the first different result of functions of float16, or -1.
// All NaNs are equal. Results of size 1 are bytes.
func differentFloat16(got, want []byte, size int) int {
	for i := 0; i < len(want); i += size {
		g, w := got[i:i+size], want[i:i+size]
		if !slices.Equal(g, w) && (size == 1 || !isNaN(tensor.F16, g) || !isNaN(tensor.F16, w)) {
			return i / size
		}
	}
	return -1
}

// TestHalfFunctions compares arithmetic in float16 to scalar code, which computes in float32 and
// rounds. Unary functions get all float16 numbers. Binary functions get random pairs, and pairs
// with a result near the middle of two numbers.
func TestHalfFunctions(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(15, 16))
	every, _ := guardedBytes(2<<16, 2)
	for i := range 1 << 16 {
		viewAs[uint16](every)[i] = uint16(i)
	}
	any16 := func(n int) []byte {
		list := make([]uint16, n)
		for i := range list {
			list[i] = uint16(r.Uint32())
			if n > 1000 && i%2 == 1 { // of a magnitude like its neighbour
				list[i] = list[i-1]&0xfc00 ^ uint16(r.Uint32())&0x87ff
			}
		}
		return memoryOf(list)
	}
	plain, met := storage{bytes: 2}, 0
	for _, scalar := range bindings.Variants() {
		name, ok := strings.CutPrefix(scalar.Op(), "f16_")
		if !ok || scalar.ISA() != 0 || strings.HasPrefix(name, "to_") {
			continue
		}
		met++
		unary := scalar.Operands() == 4
		size := 2
		if slices.Contains([]string{"eq", "gt", "ge"}, name) {
			size = 1
		}
		for _, k := range runnable(t, scalar.Op()) {
			for _, n := range []int{1, 31, 32, 33, 63, 100, 1 << 16} {
				if unary {
					x := every
					if n < 1<<16 {
						x = any16(n)
					}
					for _, p := range [][2]float64{{-1.5, 2}, {1, 0}} {
						w := unaryWords(graph.Known(n), plain, plain, params(tensor.F16, p[0], p[1]), tensor.F16)
						got, want := runUnary(t, k, w, pool, n*size, size, x), runUnary(t, scalar, w, nil, n*size, size, x)
						if i := differentFloat16(got, want, size); i >= 0 {
							t.Fatalf("%s/%s of %d: f(%#x) is %x, not %x", k.Op(), k.Variant(), n, viewAs[uint16](x)[i],
								got[i*size:][:size], want[i*size:][:size])
						}
					}
					continue
				}
				for _, dims := range [][2]int{{n, n}, {1, n}, {n, 1}, {1, 1}} {
					a, b := any16(dims[0]), any16(dims[1])
					w := binaryWords(plain, plain, storage{bytes: size}, oneAxis(n), oneAxis(dims[0]), oneAxis(dims[1]))
					got, want := runGuarded(t, k, w, pool, n*size, size, a, b), runGuarded(t, scalar, w, nil, n*size, size, a, b)
					if i := differentFloat16(got, want, size); i >= 0 {
						t.Fatalf("%s/%s of %d, extents %v: f(%#x, %#x) is %x, not %x", k.Op(), k.Variant(), n, dims,
							viewAs[uint16](a)[i%dims[0]], viewAs[uint16](b)[i%dims[1]], got[i*size:][:size], want[i*size:][:size])
					}
				}
			}
		}
	}
	if met < 20 {
		t.Errorf("%d functions were found", met)
	}
}

// TestHalfNodes compares nodes computed in float16 to a session without such a level, and checks
// that the former have no conversions.
func TestHalfNodes(t *testing.T) {
	testenv.Need(t, bindings.Available())
	level, err := bindings.ParseISA("avx512fp16,fp16")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(17, 18))
	numbers := func(extents ...int) *tensor.Tensor {
		x := tensor.New(tensor.F16, extents...)
		for i := range tensor.View[uint16](x) {
			tensor.View[uint16](x)[i] = uint16(r.Uint32())
		}
		return x
	}
	one := func(bits uint16) *tensor.Tensor {
		x := tensor.New(tensor.F16)
		tensor.View[uint16](x)[0] = bits
		return x
	}
	x, y, row := numbers(3, 5, 70), numbers(3, 5, 70), numbers(70)
	for _, c := range []struct {
		op      string
		version int
		in      []*tensor.Tensor
		attrs   []*graph.Attr
		wide    bool
	}{
		{op: "Add", version: 14, in: []*tensor.Tensor{x, row}},
		{op: "Div", version: 14, in: []*tensor.Tensor{x, y}},
		{op: "Greater", version: 13, in: []*tensor.Tensor{x, y}},
		{op: "Max", version: 13, in: []*tensor.Tensor{x, row, y}},
		{op: "Mean", version: 13, in: []*tensor.Tensor{x, row, y}, wide: true},
		{op: "PRelu", version: 16, in: []*tensor.Tensor{x, row}},
		{op: "Sqrt", version: 13, in: []*tensor.Tensor{x}},
		{op: "Exp", version: 13, in: []*tensor.Tensor{x}, wide: true},
		{op: "Relu", version: 14, in: []*tensor.Tensor{x}},
		{op: "Clip", version: 13, in: []*tensor.Tensor{x, one(0xbc01), one(0x4321)}},
		{op: "Clip", version: 13, in: []*tensor.Tensor{x, one(0xbc01)}},
		{op: "Clip", version: 6, in: []*tensor.Tensor{x}, attrs: []*graph.Attr{graph.FloatAttr("min", -1.5), graph.FloatAttr("max", 6)}},
		{op: "Clip", version: 6, in: []*tensor.Tensor{x}, attrs: []*graph.Attr{graph.FloatAttr("min", 0.1), graph.FloatAttr("max", 6)}, wide: true},
	} {
		node := &graph.Node{Op: c.op, Version: c.version, Outputs: []string{"z"}, Attrs: c.attrs}
		for i := range c.in {
			node.Inputs = append(node.Inputs, string(rune('a'+i)))
		}
		var got [2][]*tensor.Tensor
		for i, isa := range []bindings.ISA{bindings.DetectISA(), bindings.DetectISA() &^ level} {
			if got[i], err = EvalVariable(standard.Registry(), node, isa, nil, c.in, nil); err != nil {
				t.Fatal(c.op, err)
			}
		}
		if i := differentFloat16(got[0][0].Bytes(), got[1][0].Bytes(), got[0][0].DType().Bits()/8); i >= 0 {
			t.Errorf("%s: element %d differs", c.op, i)
		}
		if bindings.DetectISA()&level == 0 {
			continue
		}
		for _, k := range opsOf(stepOf(t, standard.Registry(), node, c.in)) {
			if strings.HasSuffix(k, "_to_f32") && !c.wide {
				t.Errorf("%s of float16 is computed by %s", c.op, k)
			}
		}
	}
}

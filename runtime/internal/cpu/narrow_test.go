package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestNarrowFloats compares the numbers of all codes of 8-bit and 4-bit floats, which a kernel
// looks up, to package tensor.
func TestNarrowFloats(t *testing.T) {
	testenv.Need(t, bindings.Available())
	registry, r := standard.Registry(), rand.New(rand.NewPCG(8, 4))
	const rows, columns = 35, 1022
	for _, d := range []tensor.DType{tensor.F8E4M3FN, tensor.F8E4M3FNUZ, tensor.F8E5M2, tensor.F8E5M2FNUZ, tensor.F4E2M1} {
		x := tensor.New(d, rows, columns)
		for i := range x.Bytes() {
			x.Bytes()[i] = byte(r.Uint32())
		}
		at := tensor.Numbers(x)
		for _, c := range []struct {
			scales []int
			of     func(i int) int
			attrs  []*graph.Attr
		}{
			{nil, func(int) int { return 0 }, nil},
			{[]int{rows}, func(i int) int { return i / columns }, []*graph.Attr{graph.IntAttr("axis", 0)}},
			{[]int{columns}, func(i int) int { return i % columns }, nil},
			{[]int{rows, columns / 14}, func(i int) int { return i / 14 }, []*graph.Attr{graph.IntAttr("block_size", 14)}},
		} {
			scale := tensor.New(tensor.F32, c.scales...)
			for i := range tensor.View[float32](scale) {
				tensor.View[float32](scale)[i] = r.Float32() - 0.5
			}
			node := &graph.Node{Op: "DequantizeLinear", Version: 23, Inputs: []string{"x", "scale"}, Outputs: []string{"y"},
				Attrs: c.attrs}
			in := []*tensor.Tensor{x, scale}
			if step := stepOf(t, registry, node, in); step.Binder != "dequantize" {
				t.Errorf("%v: bound as %q", d, step.Binder)
			}
			got, err := EvalVariable(registry, node, bindings.DetectISA(), nil, in, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, y := range tensor.View[float32](got[0]) {
				want := float32(at(i)) * tensor.View[float32](scale)[c.of(i)]
				if math.Float32bits(y) != math.Float32bits(want) && !(y != y && want != want) {
					t.Fatalf("%v, scales %v: element %d is %g, want %g", d, c.scales, i, y, want)
				}
			}
		}
	}
}

// TestNarrowFloatsWithZeros checks that float codes with zero points are computed in Go.
func TestNarrowFloatsWithZeros(t *testing.T) {
	testenv.Need(t, bindings.Available())
	x, scale := tensor.New(tensor.F8E5M2, 256), tensor.New(tensor.F32)
	for i := range x.Bytes() {
		x.Bytes()[i] = byte(i)
	}
	tensor.View[float32](scale)[0] = 0.5
	zero := tensor.New(tensor.F8E5M2)
	zero.Bytes()[0] = 0x3c // 1
	node := &graph.Node{Op: "DequantizeLinear", Version: 23, Inputs: []string{"x", "scale", "zero"},
		Outputs: []string{"y"}}
	got, err := EvalVariable(standard.Registry(), node, bindings.DetectISA(), nil, []*tensor.Tensor{x, scale, zero}, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := tensor.Numbers(x)
	for i, y := range tensor.View[float32](got[0]) {
		if want := (float32(at(i)) - 1) * 0.5; y != want && !(y != y && want != want) {
			t.Errorf("code %#x is %g, want %g", i, y, want)
		}
	}
}

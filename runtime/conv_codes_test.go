package runtime_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// codedConv is a convolution of x by weights that are codes.
type codedConv struct {
	name            string
	d               tensor.DType
	zeros           bool
	axis, block     int // axis is -1 for one scale
	groups          int
	x, w            []int
	stride, padding int
}

// weights returns codes, scales and zero points, nil for none, and the floats of all codes.
func (c *codedConv) weights() (codes, scales, zeros, floats *tensor.Tensor) {
	s := cases.NewSource(c.name)
	half := float64(int(1) << (c.d.Bits() - 1))
	low := 0.0
	if c.d.Kind() == tensor.Signed {
		low = -half
	}
	codes = s.Between(c.d, low, low+2*half-1, c.w...)
	shape := []int{}
	if c.axis >= 0 {
		shape = []int{c.w[c.axis]}
	}
	if c.block > 0 {
		shape = slices.Clone(c.w)
		shape[c.axis] = (shape[c.axis] + c.block - 1) / c.block
	}
	scales = s.Between(tensor.F32, -0.5/half, 1/half, shape...)
	if c.zeros {
		zeros = s.Between(c.d, low, low+2*half-1, shape...)
	}
	floats = tensor.New(tensor.F32, c.w...)
	scale := func(i int) int {
		if c.axis < 0 {
			return 0
		}
		at, inner := make([]int, len(c.w)), i
		for k := len(c.w) - 1; k >= 0; k-- {
			at[k], inner = inner%c.w[k], inner/c.w[k]
		}
		if c.block == 0 {
			return at[c.axis]
		}
		at[c.axis] /= c.block
		index := 0
		for k := range shape {
			index = index*shape[k] + at[k]
		}
		return index
	}
	q, z := make([]float32, codes.Len()), make([]float32, scales.Len())
	elements.Get(q, codes, 0)
	if zeros != nil {
		elements.Get(z, zeros, 0)
	}
	for i := range q {
		tensor.View[float32](floats)[i] = (q[i] - z[scale(i)]) * tensor.View[float32](scales)[scale(i)]
	}
	return codes, scales, zeros, floats
}

// scales returns the number of scales.
func (c *codedConv) scales() int {
	_, scales, _, _ := c.weights()
	return scales.Len()
}

// lanes returns how many codes, in halves, are packed for one: groups of filters fill whole blocks,
// and with blocks of four filters a run with scales of its own has as few codes as 16.
func (c *codedConv) lanes() int {
	if four, err := bindings.ParseISA("simd128,neon"); err == nil && bindings.DetectISA()&four != 0 && c.block > 0 && c.w[2] > 1 {
		return 9
	}
	if c.groups > 1 {
		return 6
	}
	return 3
}

// run returns the result of the convolution, and the plan. Weights are codes, or floats.
func (c *codedConv) run(t *testing.T, coded bool, o runtime.Options) ([]byte, string, *cpu.Packs) {
	t.Helper()
	codes, scales, zeros, floats := c.weights()
	b := graph.NewBuilder("conv")
	b.Opset("", 21)
	b.Input("x", graph.TensorOf(tensor.F32, graph.DimsOf(c.x)))
	w := ""
	if coded {
		in := []string{b.Constant(codes), b.Constant(scales)}
		if zeros != nil {
			in = append(in, b.Constant(zeros))
		}
		w = b.Op("DequantizeLinear", in, graph.IntAttr("axis", int64(max(c.axis, 0))), graph.IntAttr("block_size", int64(c.block)))
	} else {
		w = b.Constant(floats)
	}
	pads := slices.Repeat([]int64{int64(c.padding)}, 2*(len(c.x)-2))
	strides := slices.Repeat([]int64{int64(c.stride)}, len(c.x)-2)
	s := cases.NewSource(c.name + " x")
	y := b.Op("Conv", []string{"x", w, b.Constant(s.Any(tensor.F32, c.w[0]))}, graph.IntAttr("group", int64(c.groups)),
		graph.IntsAttr("pads", pads...), graph.IntsAttr("strides", strides...))
	b.Output(b.Op("Relu", []string{y}), "y", graph.TensorOf(tensor.F32, graph.UnknownDims(len(c.x))))
	packs := cpu.NewPacks()
	t.Cleanup(packs.Close)
	o.Packs = packs
	p, err := runtime.Compile(context.Background(), b.Model(&graph.Model{}), o)
	if err != nil {
		t.Fatal(c.name, err)
	}
	session, err := p.NewSession(o)
	if err != nil {
		t.Fatal(c.name, err)
	}
	defer session.Close()
	x := []tensor.Value{s.Any(tensor.F32, c.x...)}
	plan, err := session.Plan(context.Background(), x)
	if err != nil {
		t.Fatal(c.name, err)
	}
	out, err := session.Run(context.Background(), x, nil)
	if err != nil {
		t.Fatal(c.name, err)
	}
	return slices.Clone(out[0].(*tensor.Tensor).Bytes()), plan.String(), packs
}

// TestConvCodes compares convolutions by codes to convolutions by the floats of the codes: results
// have equal bits. The packed weights take about the bytes of the codes, and plans list the kernel
// that decodes them.
func TestConvCodes(t *testing.T) {
	testenv.Need(t, bindings.Available())
	var list []codedConv
	for _, d := range []tensor.DType{tensor.I8, tensor.U8, tensor.I4, tensor.U4, tensor.I2, tensor.U2} {
		for _, zeros := range []bool{false, true} {
			name := fmt.Sprint(d, " zeros ", zeros, " ")
			list = append(list,
				codedConv{name: name + "of all", d: d, zeros: zeros, axis: -1, groups: 1, x: []int{1, 33, 9, 9}, w: []int{37, 33, 3, 3}, stride: 2, padding: 1},
				codedConv{name: name + "of filters", d: d, zeros: zeros, axis: 0, groups: 1, x: []int{2, 64, 9, 11}, w: []int{96, 64, 1, 1}, stride: 1},
				codedConv{name: name + "of blocks", d: d, zeros: zeros, axis: 1, block: 32, groups: 1, x: []int{1, 80, 10, 10}, w: []int{64, 80, 1, 1}, stride: 1},
				codedConv{name: name + "of blocks of taps", d: d, zeros: zeros, axis: 1, block: 32, groups: 1, x: []int{1, 64, 6, 7}, w: []int{32, 64, 3, 2}, stride: 1},
				codedConv{name: name + "of filters of groups", d: d, zeros: zeros, axis: 0, groups: 3, x: []int{1, 72, 7, 12}, w: []int{60, 24, 3, 3}, stride: 1, padding: 1},
				codedConv{name: name + "transformed", d: d, zeros: zeros, axis: 0, groups: 1, x: []int{1, 32, 24, 24}, w: []int{40, 32, 3, 3}, stride: 1, padding: 1},
				codedConv{name: name + "short", d: d, zeros: zeros, axis: 0, groups: 1, x: []int{1, 96, 1, 1}, w: []int{72, 96, 1, 1}, stride: 1},
				codedConv{name: name + "of one axis", d: d, zeros: zeros, axis: 0, groups: 1, x: []int{1, 50, 40}, w: []int{31, 50, 5}, stride: 1, padding: 2},
				codedConv{name: name + "of three axes", d: d, zeros: zeros, axis: 0, groups: 1, x: []int{1, 20, 5, 6, 7}, w: []int{24, 20, 3, 3, 3}, stride: 1, padding: 1},
			)
		}
	}
	for _, o := range []runtime.Options{{Threads: 1}, {Threads: 2}, {ISA: "avx2"}, {ISA: "scalar"}, {DirectConv: true}, {Layouts: device.LayoutsPlain}} {
		for i, c := range list {
			if o.ISA == "avx2" && !strings.Contains(bindings.DetectISA().String(), "avx2") || testing.Short() && i%7 > 0 {
				continue
			}
			want, floats, _ := c.run(t, false, o)
			got, plan, packs := c.run(t, true, o)
			if strings.Contains(plan, "Dequantize") || strings.Contains(floats, "f32_conv_weights") {
				t.Fatalf("%s, %+v: the plan is\n%s", c.name, o, plan)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s, %+v: results differ, with the plan\n%s", c.name, o, plan)
			}
			codes := c.d.Bytes(tensor.Shape(c.w).Len())
			most := codes*c.lanes()/2 + 16*c.scales() + 2048
			if n := packs.Bytes(); n > most || !strings.Contains(plan, "f32_conv_weights") {
				t.Errorf("%s, %+v: %d bytes of codes take %d, not %d at most, with the plan\n%s", c.name, o, codes, n, most, plan)
			}
		}
	}
}

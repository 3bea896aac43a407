package plan_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/optest/nets"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// codes builds networks as quantisers do, with float32 operators between DequantizeLinear and
// QuantizeLinear.
type codes struct {
	*network
	of     tensor.DType      // of activations
	points map[string]string // zero points of values; every scale is codeStep
	moved  bool              // zero points of weights are not in the middle of their codes
	axes   int               // number of spatial axes
}

const codeStep = 0.0625

func newCodes(seed int, shape ...int) *codes {
	n := newNetwork(shape...)
	for range seed {
		n.r.Uint64()
	}
	return &codes{n, []tensor.DType{tensor.U8, tensor.I8}[seed%2], map[string]string{}, seed%5 > 2, len(shape) - 2}
}

func (c *codes) constant(t *tensor.Tensor) string {
	name := fmt.Sprint("c", len(c.g.Initializers))
	c.g.Initializers = append(c.g.Initializers, &graph.Initializer{Name: name, Tensor: t})
	return name
}

func (c *codes) scale(v float32) string {
	t := tensor.New(tensor.F32)
	tensor.View[float32](t)[0] = v
	return c.constant(t)
}

// quantise adds QuantizeLinear and DequantizeLinear.
func (c *codes) quantise(x string) string {
	zero := tensor.New(c.of)
	zero.Bytes()[0] = byte(c.r.IntN(40))
	point := []string{c.scale(codeStep), c.constant(zero)}
	return c.add("DequantizeLinear", nil,
		append([]string{c.add("QuantizeLinear", nil, append([]string{x}, point...)...)}, point...)...)
}

// filters adds weights of 8 bits, with one scale for all or one for each filter.
func (c *codes) filters(shape ...int) string {
	of := []tensor.DType{tensor.U8, tensor.I8}[c.r.IntN(2)]
	w, n := tensor.New(of, shape...), 1
	for i := range w.Bytes() {
		w.Bytes()[i] = byte(c.r.Uint32())
	}
	dims := []int{}
	if c.r.IntN(2) == 0 {
		n, dims = shape[0], []int{shape[0]}
	}
	scale, zero := tensor.New(tensor.F32, dims...), tensor.New(of, dims...)
	for i := range n {
		tensor.View[float32](scale)[i] = float32((0.5 + c.r.Float64()) / 128 / math.Sqrt(float64(len(w.Bytes())/shape[0])))
		if of == tensor.U8 {
			zero.Bytes()[i] = 128
		}
		if c.moved {
			zero.Bytes()[i] += byte(c.r.IntN(9) - 4)
		}
	}
	axis := &graph.Attr{Name: "axis", Kind: graph.AttrInt}
	return c.add("DequantizeLinear", []*graph.Attr{axis}, c.constant(w), c.constant(scale), c.constant(zero))
}

// conv adds a convolution in groups. It keeps the extents, divided by the stride.
func (c *codes) conv(x string, in, out int, kernel, stride int64, groups int) string {
	list := []*graph.Attr{graph.IntsAttr("pads", slices.Repeat([]int64{kernel / 2}, 2*c.axes)...),
		graph.IntsAttr("strides", slices.Repeat([]int64{stride}, c.axes)...)}
	if groups > 1 {
		list = append(list, &graph.Attr{Name: "group", Kind: graph.AttrInt, Int: int64(groups)})
	}
	shape := append([]int{out, in / groups}, slices.Repeat([]int{int(kernel)}, c.axes)...)
	if groups == 1 && c.r.IntN(3) == 0 {
		return c.add("Conv", list, x, c.filters(shape...))
	}
	return c.add("Conv", list, x, c.filters(shape...), c.weight(out))
}

// block adds an inverted residual with a random activation.
func (c *codes) block(x string, channels, hidden int, kernel int64) string {
	active := func(y string) string {
		switch c.r.IntN(3) {
		case 0:
			return c.quantise(c.add("Relu", nil, y))
		case 1:
			y = c.quantise(y)
			return c.quantise(c.add("Mul", nil, y, c.quantise(c.add("Sigmoid", nil, y))))
		}
		return c.quantise(c.add("Clip", nil, y, c.scale(0), c.scale(6)))
	}
	y := active(c.conv(x, channels, hidden, 1, 1, 1))
	y = active(c.conv(y, hidden, hidden, kernel, 1, hidden))
	y = c.conv(y, hidden, channels, 1, 1, 1)
	if c.r.IntN(2) == 0 {
		y = c.quantise(y)
	}
	return c.quantise(c.add("Add", nil, y, x))
}

// TestLayoutsCodes blocks networks of codes from their first convolution on. The results equal
// those with plain values, and are close to those of the networks as written.
func TestLayoutsCodes(t *testing.T) {
	testenv.Need(t, bindings.Available())
	for seed := range 24 {
		channels, hidden, kernel := []int{16, 7, 24, 33}[seed%4], []int{32, 19, 50}[seed%3], []int64{3, 5}[seed/2%2]
		c := newCodes(seed, 2, 3, 13, 14)
		x := c.quantise("x")
		y := c.quantise(c.add("Relu", nil, c.conv(x, 3, channels, 3, int64(1+seed%2), 1)))
		y = c.block(y, channels, hidden, kernel)
		pooled := c.add("MaxPool", []*graph.Attr{graph.IntsAttr("kernel_shape", 3, 3),
			graph.IntsAttr("strides", int64(1+seed%2), int64(1+seed%2)), graph.IntsAttr("pads", 1, 1, 1, 1)}, y)
		q := c.g.Nodes[len(c.g.Nodes)-2] // its scale and zero point also code the pooled value
		again := append([]string{pooled}, q.Inputs[1:]...)
		y = c.add("DequantizeLinear", nil, append([]string{c.add("QuantizeLinear", nil, again...)}, q.Inputs[1:]...)...)
		y = c.block(y, channels, hidden, kernel)
		axis := []*graph.Attr{{Name: "axis", Kind: graph.AttrInt, Int: 1}}
		wide := (channels + 15) / 16 * 16
		y = c.quantise(c.add("Concat", axis, c.quantise(c.conv(y, channels, wide, 1, 1, 1)), y))
		channels += wide
		y = c.quantise(c.conv(y, channels, 60, 1, 1, 1))
		y = c.quantise(c.add("Relu", nil, c.conv(y, 60, 120, 3, 1, []int{5, 10, 2}[seed%3])))
		channels = 120
		y = c.quantise(c.conv(y, channels, channels, 3, 2, channels))
		y = c.quantise(c.add("GlobalAveragePool", nil, y))
		m := c.model(c.g.Nodes[len(c.g.Nodes)-1].Inputs[0], y)
		in := c.input()
		for _, isa := range []string{"", "avx2", "neon", "scalar"} {
			if mask, _ := bindings.ParseISA(isa); mask&^bindings.DetectISA() == 0 {
				t.Run(fmt.Sprint(seed, isa), func(t *testing.T) { checkCodes(t, m, in, isa) })
			}
		}
	}
}

// TestLayoutsCodesAxes blocks networks of codes with one and with three spatial axes.
func TestLayoutsCodesAxes(t *testing.T) {
	testenv.Need(t, bindings.Available())
	for seed, shape := range [][]int{{2, 3, 50}, {2, 3, 6, 9, 10}, {1, 4, 40}, {1, 4, 5, 8, 7}} {
		channels := []int{16, 7, 24, 33}[seed]
		c := newCodes(seed, shape...)
		y := c.quantise(c.add("Relu", nil, c.conv(c.quantise("x"), shape[1], channels, 3, 1, 1)))
		y = c.block(c.block(c.block(y, channels, 32, 3), channels, 20, 3), channels, 50, 1)
		y = c.quantise(c.conv(y, channels, 2*channels, 3, 2, channels))
		y = c.quantise(c.conv(y, 2*channels, 24, 1, 1, 1))
		checkCodes(t, c.model(y), c.input(), "")
	}
}

// TestLayoutsCodesByCost lets the estimates decide. Codes are in blocks from the first convolution
// to the last.
func TestLayoutsCodesByCost(t *testing.T) {
	testenv.Need(t, bindings.Available())
	for _, isa := range []string{"avx2", "avx2,avx512,avx512vnni", "neon", "neon,dotprod", "neon,i8mm"} {
		if mask, _ := bindings.ParseISA(isa); mask&^bindings.DetectISA() != 0 {
			continue
		}
		c := newCodes(1, 1, 3, 32, 32)
		y := c.quantise(c.add("Relu", nil, c.conv(c.quantise("x"), 3, 32, 3, 2, 1)))
		y = c.block(c.block(y, 32, 96, 3), 32, 96, 5)
		m, in := c.model(y), c.input()
		got, err := runLayouts(m, runtime.Options{ISA: isa}, device.LayoutsByCost, in)
		if err != nil {
			t.Fatal(err)
		}
		// The first step makes codes of x, and the last ones floats and plain values.
		if steps, reorders := blockedSteps(got.plan); steps < len(got.plan.Steps)-2 || reorders != 1 {
			t.Errorf("levels %s: %d of %d steps are blocked and %d of them copies\n%v", isa, steps, len(got.plan.Steps),
				reorders, got.plan)
		}
		want, err := runLayouts(m, runtime.Options{ISA: isa}, device.LayoutsPlain, in)
		if err != nil {
			t.Fatal(err)
		}
		for k, w := range want.out {
			if d := differs(got.out[k], w, 0); d != "" {
				t.Errorf("levels %s: %s: %s", isa, k, d)
			}
		}
	}
}

func checkCodes(t *testing.T, m *graph.Model, in map[string]*tensor.Tensor, isa string) {
	// Only scalar code multiplies codes in the blocks of this level, so that they stay plain.
	if mask, err := bindings.ParseISA("simd128"); err == nil && isa == "" && bindings.DetectISA()&mask != 0 {
		isa = "scalar"
	}
	var runs []*layoutRun
	for _, o := range []struct {
		policy  device.LayoutPolicy
		options runtime.Options
	}{
		{device.LayoutsBlocked, runtime.Options{ISA: isa, Threads: 2}},
		{device.LayoutsBlocked, runtime.Options{ISA: isa, Threads: 1}},
		{device.LayoutsPlain, runtime.Options{ISA: isa, Threads: 2}},
		{device.LayoutsPlain, runtime.Options{ISA: isa, Threads: 2, NoOptimize: true}},
	} {
		r, err := runLayouts(m, o.options, o.policy, in)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	if steps, _ := blockedSteps(runs[0].plan); steps < 11 || 2*len(runs[0].plan.Steps) > len(runs[3].plan.Steps) {
		t.Errorf("%d steps are blocked of a plan that was to have less than half of\n%v\n%v", steps, runs[3].plan,
			runs[0].plan)
	}
	for name, want := range runs[0].out {
		for i, r := range runs[1:3] {
			if !bytes.Equal(r.out[name].Bytes(), want.Bytes()) {
				t.Errorf("%s: run %d differs", name, i)
			}
		}
		written := runs[3].out[name]
		for i, b := range want.Bytes() {
			if d := int(int8(b - written.Bytes()[i])); want.DType() != tensor.F32 && (d < -2 || d > 2) {
				t.Errorf("%s: code %d is %d, and %d as the network is written", name, i, b, written.Bytes()[i])
				break
			}
		}
	}
}

// TestLayoutsConstantCodes computes a convolution of constant codes. Their blocks are made before a
// run.
func TestLayoutsConstantCodes(t *testing.T) {
	testenv.Need(t, bindings.Available())
	of := func(d tensor.DType, shape ...int) *tensor.Tensor {
		c := tensor.New(d, shape...)
		for i := range c.Bytes() {
			c.Bytes()[i] = byte(i*37%11 + 1)
		}
		return c
	}
	scale := tensor.New(tensor.F32)
	tensor.View[float32](scale)[0] = 0.0625
	g := nets.Graph("", "y", nets.Constant("x", of(tensor.I8, 2, 17, 6, 7)),
		nets.Constant("w", of(tensor.I8, 35, 17, 3, 3)), nets.Constant("z", tensor.New(tensor.I8)))
	// The output's scale is an input, so that the node is computed in runs.
	g.Inputs = []*graph.Value{{Name: "s", Type: graph.TensorOf(tensor.F32, graph.Dims{})}}
	g.Initializers = []*graph.Initializer{{Name: "c", Tensor: scale}}
	g.Nodes = append(g.Nodes, &graph.Node{Op: "QLinearConv", Version: 10, Inputs: []string{"x", "c", "z", "w", "c", "z", "s", "z"}, Outputs: []string{"y"},
		Attrs: []*graph.Attr{graph.IntsAttr("pads", 1, 1, 1, 1)}})
	m := &graph.Model{File: "codes.onnx", Opsets: []graph.Opset{{Version: nets.Opset}}, Graph: g}
	var want *tensor.Tensor
	for _, policy := range []device.LayoutPolicy{device.LayoutsPlain, device.LayoutsBlocked, 0} {
		s, err := byname.New(m, runtime.Options{Threads: 1, Layouts: policy})
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.Run(t.Context(), map[string]*tensor.Tensor{"s": scale})
		s.Close()
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = out["y"]
		}
		if !bytes.Equal(out["y"].Bytes(), want.Bytes()) {
			t.Errorf("with policy %v results differ", policy)
		}
	}
}

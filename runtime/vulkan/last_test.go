package vulkan_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/testenv"
	engine "github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// matricesDevice returns a device with cooperative matrices of floats, emulated if it has none.
func matricesDevice(t *testing.T) *vulkan.Device {
	d := open(t, vulkan.Options{Everything: true})
	if !d.Info().Caps.CoopMatrix {
		d.Emulate(emulated[0]...)
	}
	return d
}

// ran is the results of a model, the kernels of its steps, one per line, and its plan.
type ran struct {
	out       map[string]tensor.Value
	how, plan string
}

// turns counts the copies between orders of channels.
func (r *ran) turns() int { return strings.Count(r.how, "turn: ") }

// inLayouts runs a model on a device, nil for the CPU, with a policy of layouts.
func inLayouts(
	t *testing.T, m *graph.Model, a device.Accelerator, p device.LayoutPolicy, in map[string]tensor.Value,
) *ran {
	t.Helper()
	s, err := byname.New(m, engine.Options{Accelerator: a, Threads: 1, Layouts: p})
	testenv.Need(t, err)
	defer s.Close()
	out, prof, err := s.Profile(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	r := &ran{out: out, plan: planOf(t, s, in)}
	for i := range prof.Steps {
		r.how += prof.Steps[i].How + "\n"
	}
	return r
}

func planOf(t *testing.T, s byname.Session, in map[string]tensor.Value) string {
	t.Helper()
	values := map[string]*tensor.Tensor{}
	for name, v := range in {
		values[name] = v.(*tensor.Tensor)
	}
	pl, err := s.Plan(context.Background(), values)
	if err != nil {
		t.Fatal(err)
	}
	return pl.String()
}

// lastCase is a node with images of one element type. Its inputs are given by extents. The first
// inputs are images, the others constants.
type lastCase struct {
	op     string
	in     [][]int
	images int
	scales []float32 // input 2, if it is not nil
	attrs  []*graph.Attr
	outs   int    // 0 for 1
	how    string // a kernel of the node with channels last; empty if it is computed in planes
}

var lastCases = []lastCase{
	{op: "Conv", in: [][]int{{2, 16, 9, 11}, {24, 16, 1, 1}, {24}}, images: 1, how: "conv/last/"},
	{op: "Conv", in: [][]int{{1, 16, 9, 11}, {24, 16, 1, 1}}, images: 2, attrs: []*graph.Attr{extents("strides", 2, 2)}, how: "conv/last/"},
	{op: "Conv", in: [][]int{{1, 8, 6, 6}, {9, 8, 1, 1}}, images: 1, attrs: []*graph.Attr{extents("pads", 1, 0, 0, 1)}, how: "conv/last/"},
	{op: "Conv", in: [][]int{{2, 8, 7, 5}, {8, 8, 3, 3}, {8}}, images: 1, attrs: []*graph.Attr{extents("pads", 1, 1, 1, 1)}, how: "conv/last/"},
	{op: "Conv", in: [][]int{{2, 24, 11, 9}, {17, 24, 3, 3}, {17}}, images: 3, attrs: []*graph.Attr{extents("pads", 1, 0, 1, 2), extents("strides", 2, 1)}, how: "conv/last/"},
	{op: "Conv", in: [][]int{{1, 32, 12, 17}, {40, 16, 3, 2}, {40}}, images: 1, attrs: []*graph.Attr{ints("group", 2), extents("dilations", 2, 3), extents("pads", 2, 3, 2, 3)}, how: "conv/last/"},
	{op: "Conv", in: [][]int{{1, 24, 50}, {16, 24, 5}}, images: 1, attrs: []*graph.Attr{extents("pads", 2, 2)}, how: "conv/last/"},
	{op: "Conv", in: [][]int{{1, 40, 31, 33}, {72, 40, 3, 3}, {72}}, images: 1, attrs: []*graph.Attr{extents("pads", 1, 1, 1, 1)}, how: "conv/last/"},
	{op: "FusedConv", in: [][]int{{1, 16, 7, 9}, {24, 16, 3, 3}, {24}, {1, 24, 5, 7}}, images: 1, attrs: []*graph.Attr{text("activation", "Relu")}, how: "conv/last/"},
	{op: "FusedConv", in: [][]int{{1, 256, 5, 6}, {40, 256, 3, 3}, {40}, {1, 40, 3, 4}}, images: 1, attrs: []*graph.Attr{text("activation", "Relu")}, how: "conv/last/"},
	{op: "Conv", in: [][]int{{2, 304, 4, 4}, {16, 152, 3, 3}}, images: 1, attrs: []*graph.Attr{ints("group", 2), extents("pads", 1, 1, 0, 0)}, how: "conv/last/"},
	{op: "FusedConv", in: [][]int{{1, 16, 7, 9}, {24, 16, 3, 3}, {24}}, images: 1, attrs: []*graph.Attr{text("activation", "Tanh")}, how: "conv/last/"},
	{op: "Conv", in: [][]int{{1, 12, 9, 10}, {12, 1, 3, 3}, {12}}, images: 1, attrs: []*graph.Attr{ints("group", 12), extents("pads", 1, 1, 1, 1)}, how: "conv/last_depth/"},
	{op: "FusedConv", in: [][]int{{2, 8, 10, 7}, {8, 1, 5, 3}}, images: 2, attrs: []*graph.Attr{ints("group", 8), extents("strides", 2, 2), extents("pads", 2, 0, 1, 1), text("activation", "Sigmoid")}, how: "conv/last_depth/"},
	{op: "Conv", in: [][]int{{1, 5, 9, 9}, {16, 5, 3, 3}}, images: 1},
	{op: "Conv", in: [][]int{{1, 16, 9, 9}, {16, 4, 3, 3}}, images: 1, attrs: []*graph.Attr{ints("group", 4)}},
	{op: "Conv", in: [][]int{{1, 8, 5, 6, 7}, {9, 8, 2, 3, 2}}, images: 1},
	{op: "Conv", in: [][]int{{1, 6, 9, 9}, {6, 1, 3, 3}}, images: 1, attrs: []*graph.Attr{ints("group", 6)}},
	{op: "ConvTranspose", in: [][]int{{2, 6, 5, 4}, {6, 5, 3, 2}, {10}}, images: 1, attrs: []*graph.Attr{ints("group", 2), extents("strides", 2, 1), extents("pads", 1, 0, 0, 1)}, how: "conv/transpose/"},
	{op: "MaxPool", in: [][]int{{2, 7, 9, 10}}, images: 1, attrs: []*graph.Attr{extents("kernel_shape", 3, 3), extents("strides", 2, 2), extents("pads", 1, 1, 1, 1)}, how: "pool/pool/"},
	{op: "AveragePool", in: [][]int{{2, 7, 9, 10}}, images: 1, attrs: []*graph.Attr{extents("kernel_shape", 3, 2), extents("strides", 2, 1), extents("pads", 1, 0, 1, 1), ints("count_include_pad", 1)}, how: "pool/pool/"},
	{op: "AveragePool", in: [][]int{{1, 4, 5, 6, 7}}, images: 1, attrs: []*graph.Attr{extents("kernel_shape", 3, 2, 2), ints("ceil_mode", 1), extents("strides", 2, 2, 2)}, how: "pool/pool/"},
	{op: "LpPool", in: [][]int{{1, 4, 9}}, images: 1, attrs: []*graph.Attr{extents("kernel_shape", 3)}, how: "pool/pool/"},
	{op: "MaxPool", in: [][]int{{1, 3, 8, 8}}, images: 1, attrs: []*graph.Attr{extents("kernel_shape", 2, 2)}, outs: 2},
	{op: "GlobalAveragePool", in: [][]int{{2, 19, 7, 5}}, images: 1, how: "reduce/reduce/"},
	{op: "GlobalMaxPool", in: [][]int{{2, 19, 7, 5}}, images: 1, how: "reduce/reduce/"},
	{op: "BatchNormalization", in: [][]int{{2, 19, 7, 5}, {19}, {19}, {19}, {19}}, images: 1, attrs: []*graph.Attr{number("epsilon", 3)}, how: "norm/batch/"},
	{op: "Resize", in: [][]int{{2, 5, 6, 4}}, images: 1, scales: []float32{1, 1, 2, 0.5}, how: "resize/nearest/"},
	{op: "Resize", in: [][]int{{2, 5, 6, 4}}, images: 1, scales: []float32{1, 1, 2, 1.5}, attrs: []*graph.Attr{text("mode", "linear")}, how: "resize/resample/"},
	{op: "Resize", in: [][]int{{2, 4, 6, 4}}, images: 1, scales: []float32{1, 2, 2, 1}},
	{op: "Transpose", in: [][]int{{2, 5, 3, 4}}, images: 1, attrs: []*graph.Attr{extents("perm", 0, 2, 3, 1)}, how: "copy/strided/"},
	{op: "Transpose", in: [][]int{{2, 5, 3, 4}}, images: 1, attrs: []*graph.Attr{extents("perm", 0, 3, 1, 2)}, how: "copy/strided/"},
	{op: "Transpose", in: [][]int{{2, 5, 3}}, images: 1, attrs: []*graph.Attr{extents("perm", 0, 2, 1)}, how: "copy/strided/"},
	{op: "Transpose", in: [][]int{{2, 5, 3, 2, 4}}, images: 1, attrs: []*graph.Attr{extents("perm", 0, 4, 1, 2, 3)}, how: "copy/strided/"},
	{op: "Transpose", in: [][]int{{2, 5, 3, 4}}, images: 1, attrs: []*graph.Attr{extents("perm", 0, 3, 2, 1)}},
	{op: "Relu", in: [][]int{{2, 5, 3, 4}}, images: 1, how: "eltwise/unary/"},
	{op: "Add", in: [][]int{{2, 5, 3, 4}, {2, 5, 3, 4}}, images: 2, how: "eltwise/binary/"},
	{op: "Mul", in: [][]int{{2, 5, 3, 4}, {2, 5, 1, 1}}, images: 2, how: "eltwise/binary/"},
	{op: "Mul", in: [][]int{{2, 5, 3, 4}, {5, 1, 1}}, images: 1, how: "eltwise/binary/"},
	{op: "Sub", in: [][]int{{1}, {2, 5, 3, 4}}, images: 2, how: "eltwise/binary/"},
	{op: "Add", in: [][]int{{2, 5, 3, 4}, {2, 1, 3, 4}}, images: 2, how: "eltwise/binary/"},
	{op: "Add", in: [][]int{{2, 5, 3, 4}, {3, 4}}, images: 2, how: "eltwise/binary/"},
	{op: "Add", in: [][]int{{2, 5, 3, 4}, {1, 5, 3, 4}}, images: 2, how: "eltwise/binary/"},
	{op: "Add", in: [][]int{{2, 5, 3, 4}, {5, 3, 4}}, images: 2},
	{op: "Add", in: [][]int{{2, 5, 3, 4}, {2, 5, 3, 4}}, images: 1},
	{op: "PRelu", in: [][]int{{2, 5, 3, 4}, {5, 1, 1}}, images: 1, how: "eltwise/binary/"},
	{op: "Clip", in: [][]int{{2, 5, 3, 4}, {}, {}}, images: 1, how: "eltwise/binary/"},
	{op: "Sum", in: [][]int{{2, 5, 3, 4}, {2, 5, 3, 4}, {5, 1, 1}}, images: 2, how: "eltwise/binary/"},
	{op: "Concat", in: [][]int{{2, 5, 3, 4}, {2, 1, 3, 4}, {2, 2, 3, 4}}, images: 3, attrs: []*graph.Attr{ints("axis", -3)}, how: "copy/strided/"},
	{op: "Concat", in: [][]int{{2, 5, 3, 4}, {2, 5, 3, 4}}, images: 2, attrs: []*graph.Attr{ints("axis", 2)}},
	{op: "Split", in: [][]int{{2, 6, 3, 4}}, images: 1, attrs: []*graph.Attr{ints("axis", 1), ints("num_outputs", 2)}, outs: 2, how: "copy/strided/"},
}

// model returns a model of the node, and its inputs.
func (c *lastCase) model(t *testing.T, r *rand.Rand, d tensor.DType) (*graph.Model, map[string]tensor.Value) {
	g, in := &graph.Graph{Name: c.op}, map[string]tensor.Value{}
	n := &graph.Node{Name: "node", Op: c.op, Version: 18, Attrs: c.attrs, Outputs: []string{"y", "z"}[:max(c.outs, 1)]}
	if c.op == "FusedConv" {
		n.Domain, n.Version = kit.Microsoft, 1
	}
	for i, s := range c.in {
		name, x := fmt.Sprint("x", i), typed(t, d, some(r, tensor.Shape(s).Len()), s...)
		n.Inputs = append(n.Inputs, name)
		if i < c.images || c.op == "FusedConv" && i == 3 {
			g.Inputs = append(g.Inputs, &graph.Value{Name: name, Type: graph.TensorOf(d, graph.DimsOf(s))})
			in[name] = x
			continue
		}
		g.Initializers = append(g.Initializers, &graph.Initializer{Name: name, Tensor: x})
	}
	if c.scales != nil {
		n.Inputs = append(n.Inputs, "", "scales")
		g.Initializers = append(g.Initializers, &graph.Initializer{Name: "scales", Tensor: tensorOf(t, c.scales, len(c.scales))})
	}
	for _, name := range n.Outputs {
		g.Outputs = append(g.Outputs, &graph.Value{Name: name})
	}
	g.Nodes = []*graph.Node{n}
	return &graph.Model{Graph: g}, in
}

// TestChannelsLast compares nodes with channels last with the CPU. Convolutions take tiles of 64 and 32
// pixels in turns, the second ones with sums that workgroups share.
func TestChannelsLast(t *testing.T) {
	v := matricesDevice(t)
	if hasNoHalves(t, v) {
		return
	}
	a, info := accelerator(t, v), v.Info()
	for k, d := range []tensor.DType{tensor.F16, tensor.BF16} {
		for i, c := range lastCases {
			small := (i + k) % 2
			restore := vulkan.OnlyMatrixTile(1+small, []int{1, 132}[small])
			name := fmt.Sprint(i, " ", c.op, c.in, d)
			m, in := c.model(t, rand.New(rand.NewPCG(uint64(i), 35)), d)
			got := inLayouts(t, m, a, device.LayoutsBlocked, in)
			restore()
			how := c.how
			if !slices.ContainsFunc(vulkan.Matrices(&info), func(s string) bool { return strings.HasPrefix(s, d.Short()+" ") }) {
				how = ""
			}
			if last := got.turns() > 0; last != (how != "") || !strings.Contains(got.how, how) {
				t.Errorf("%s: want %q with channels last, got %s", name, how, got.how)
			}
			for k, want := range inLayouts(t, m, nil, device.LayoutsByCost, in).out {
				x, y := got.out[k].(*tensor.Tensor), want.(*tensor.Tensor)
				if at := differ(x, y, 4*nears[d]); at >= 0 {
					t.Errorf("%s: %s differs at %d: %s, want %s", name, k, at, element(x, at), element(y, at))
				}
			}
		}
	}
}

// convNet builds a network of convolutions.
type convNet struct {
	t *testing.T
	r *rand.Rand
	d tensor.DType
	g *graph.Graph
}

func (n *convNet) constant(scale float32, shape ...int) string {
	name := fmt.Sprint("c", len(n.g.Initializers))
	list := some(n.r, tensor.Shape(shape).Len())
	for i := range list {
		list[i] *= scale
	}
	n.g.Initializers = append(n.g.Initializers, &graph.Initializer{Name: name, Tensor: typed(n.t, n.d, list, shape...)})
	return name
}

func (n *convNet) node(op string, in []string, attrs ...*graph.Attr) string {
	name := fmt.Sprint("v", len(n.g.Nodes))
	n.g.Nodes = append(n.g.Nodes, &graph.Node{Name: name, Op: op, Version: 17, Inputs: in, Outputs: []string{name}, Attrs: attrs})
	return name
}

// conv adds a convolution by square filters that keeps extents up to the stride.
func (n *convNet) conv(x string, channels, filters, side, stride int, attrs ...*graph.Attr) string {
	s, p := int64(stride), int64(side/2)
	scale := 1 / float32(channels*side*side)
	return n.node("Conv", []string{x, n.constant(4*scale, filters, channels, side, side), n.constant(0.1, filters)},
		append(attrs, extents("strides", s, s), extents("pads", p, p, p, p))...)
}

func (n *convNet) relu(x string) string { return n.node("Relu", []string{x}) }

// bottleneck adds three convolutions beside a path that has one if extents change.
func (n *convNet) bottleneck(x string, channels, filters, stride int) string {
	y := n.relu(n.conv(x, channels, filters/4, 1, 1))
	y = n.relu(n.conv(y, filters/4, filters/4, 3, stride))
	y = n.conv(y, filters/4, filters, 1, 1)
	if channels != filters {
		x = n.conv(x, channels, filters, 1, stride)
	}
	return n.relu(n.node("Add", []string{y, x}))
}

// residualNet returns a network with all kinds of nodes that may have channels last between its
// first convolution and its global pooling.
func residualNet(t *testing.T, d tensor.DType) (*graph.Model, map[string]tensor.Value) {
	shape := tensor.Shape{2, 3, 37, 41}
	r := rand.New(rand.NewPCG(3, 5))
	n := &convNet{t, r, d, &graph.Graph{Name: "net",
		Inputs:  []*graph.Value{{Name: "x", Type: graph.TensorOf(d, graph.DimsOf(shape))}},
		Outputs: []*graph.Value{{Name: "y"}}}}
	y := n.relu(n.conv("x", 3, 16, 7, 2))
	y = n.node("MaxPool", []string{y}, extents("kernel_shape", 3, 3), extents("strides", 2, 2), extents("pads", 1, 1, 1, 1))
	y = n.bottleneck(y, 16, 64, 1)
	y = n.bottleneck(y, 64, 64, 1)
	gate := n.node("GlobalAveragePool", []string{y})
	gate = n.relu(n.conv(gate, 64, 16, 1, 1))
	gate = n.node("Sigmoid", []string{n.conv(gate, 16, 64, 1, 1)})
	y = n.node("Mul", []string{y, gate})
	deep := n.relu(n.conv(y, 1, 64, 3, 1, ints("group", 64)))
	mean := n.node("AveragePool", []string{y}, extents("kernel_shape", 3, 3), extents("pads", 1, 1, 1, 1))
	y = n.node("Concat", []string{deep, mean}, ints("axis", 1))
	y = n.bottleneck(y, 128, 256, 2)
	y = n.node("Flatten", []string{n.node("GlobalAveragePool", []string{y})})
	n.node("Gemm", []string{y, n.constant(0.05, 256, 10), n.constant(1, 10)})
	n.g.Nodes[len(n.g.Nodes)-1].Outputs[0] = "y"
	return &graph.Model{Graph: n.g}, map[string]tensor.Value{"x": typed(t, d, some(r, shape.Len()), shape...)}
}

// TestChannelsLastNet checks that a network turns the order of its channels once, and that results are
// the same as in planes and on the CPU.
func TestChannelsLastNet(t *testing.T) {
	v := matricesDevice(t)
	if hasNoHalves(t, v) {
		return
	}
	a := accelerator(t, v)
	m, in := residualNet(t, tensor.F16)
	got := inLayouts(t, m, a, device.LayoutsByCost, in)
	if got.turns() != 1 || !strings.Contains(got.how, "conv/last/") || !strings.Contains(got.how, "conv/last_depth/") {
		t.Errorf("channels are turned %d times, want 1:\n%s", got.turns(), got.how)
	}
	if n := strings.Count(got.plan, " channels last"); n < 40 {
		t.Errorf("the plan lists %d values with channels last, want 40 or more:\n%s", n, got.plan)
	}
	planes := inLayouts(t, m, a, device.LayoutsPlain, in)
	if planes.turns() > 0 {
		t.Errorf("channels are turned in a plan of planes:\n%s", planes.how)
	}
	for name, want := range map[string]*ran{"planes": planes, "the CPU": inLayouts(t, m, nil, device.LayoutsByCost, in)} {
		x, y := got.out["y"].(*tensor.Tensor), want.out["y"].(*tensor.Tensor)
		if at := differ(x, y, 4*nears[tensor.F16]); at >= 0 {
			t.Errorf("element %d is %s, on %s %s", at, element(x, at), name, element(y, at))
		}
	}
}

// TestChannelsFirst checks that plans have no value with channels last if elements are float32, or the
// device has no cooperative matrices.
func TestChannelsFirst(t *testing.T) {
	for _, c := range []struct {
		name   string
		device *vulkan.Device
		d      tensor.DType
	}{
		{"float32", matricesDevice(t), tensor.F32},
		{"no matrices", open(t, vulkan.Options{Everything: true, Level: vulkan.L2}), tensor.F16},
	} {
		m, in := residualNet(t, c.d)
		if p := planOf(t, session(t, m, accelerator(t, c.device)), in); strings.Contains(p, "channels last") {
			t.Errorf("%s: the plan has values with channels last:\n%s", c.name, p)
		}
	}
}

package plan_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// layoutRun is the results of a model under a policy, and its plan.
type layoutRun struct {
	plan *plan.Plan
	out  map[string]*tensor.Tensor
}

func runLayouts(
	m *graph.Model, o runtime.Options, p device.LayoutPolicy, in map[string]*tensor.Tensor,
) (*layoutRun, error) {
	o.Layouts = p
	s, err := byname.New(m, o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	pl, err := s.Plan(context.Background(), in)
	if err != nil {
		return nil, err
	}
	out, err := s.Run(context.Background(), in)
	return &layoutRun{pl, out}, err
}

// blockedSteps counts the steps with a blocked operand and, of these, the copies between layouts.
func blockedSteps(pl *plan.Plan) (steps, reorders int) {
	for i := range pl.Steps {
		if b := pl.Binding(i); !b.IsPlain() {
			steps++
			if pl.Steps[i].Op == (device.Reorder{}) {
				reorders++
			}
		}
	}
	return steps, reorders
}

// differs returns the first element of float32 tensors that differs by more than the tolerance, or
// an empty string.
func differs(got, want *tensor.Tensor, tolerance float64) string {
	if got.DType() != want.DType() || !got.Shape().Equal(want.Shape()) {
		return fmt.Sprintf("%v, not %v", got, want)
	}
	if got.DType() != tensor.F32 {
		return ""
	}
	w := tensor.View[float32](want)
	for i, g := range tensor.View[float32](got) {
		a, b := float64(g), float64(w[i])
		if a != b && !(math.IsNaN(a) && math.IsNaN(b)) && !(math.Abs(a-b) <= tolerance*(1+math.Abs(b))) {
			return fmt.Sprintf("element %d is %v, not %v", i, g, w[i])
		}
	}
	return ""
}

// TestLayoutsOfficial runs the official tests with values that can be blocked, with blocked and
// with plain values.
func TestLayoutsOfficial(t *testing.T) {
	root := testenv.OfficialData(t)
	testenv.Need(t, bindings.Available())
	files, err := filepath.Glob(filepath.Join(root, "node", "*", "model.onnx"))
	if err != nil || files == nil {
		t.Fatalf("no models in %s: %v", root, err)
	}
	ran := 0
	for _, file := range files {
		m, err := formats.Load(file)
		if err != nil || len(m.Graph.Nodes) != 1 || !floatImages(m.Graph) {
			continue
		}
		in := officialInputs(t, filepath.Join(filepath.Dir(file), "test_data_set_0"), m)
		if in == nil {
			continue
		}
		for _, isa := range []string{"", "avx2", "scalar"} {
			if mask, _ := bindings.ParseISA(isa); mask&^bindings.DetectISA() == 0 && agreeOfficial(t, file, m, in, isa) {
				ran++
			}
		}
	}
	t.Logf("%d runs had blocked values", ran)
	if ran < 100 {
		t.Errorf("only %d runs had blocked values", ran)
	}
}

// agreeOfficial compares a model with blocked values with the same model with plain ones. It
// reports whether any value is blocked.
func agreeOfficial(t *testing.T, file string, m *graph.Model, in map[string]*tensor.Tensor, isa string) bool {
	o := runtime.Options{ISA: isa, Threads: 2}
	got, err := runLayouts(m, o, device.LayoutsBlocked, in)
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return false
	}
	if n, _ := blockedSteps(got.plan); n == 0 {
		return false
	}
	want, err := runLayouts(m, o, device.LayoutsPlain, in)
	if err != nil {
		t.Fatal(err)
	}
	for name, w := range want.out {
		if d := differs(got.out[name], w, 1e-5); d != "" {
			t.Errorf("%s, levels %q: %s", filepath.Base(filepath.Dir(file)), isa, d)
		}
	}
	return true
}

// floatImages reports whether the first input of a graph may be blocked, and all its values are
// tensors.
func floatImages(g *graph.Graph) bool {
	for _, list := range [][]*graph.Value{g.Inputs, g.Outputs} {
		for _, v := range list {
			if v.Type.Kind != graph.TensorType {
				return false
			}
		}
	}
	return len(g.Inputs) > 0 && g.Inputs[0].Type.DType == tensor.F32 && len(g.Inputs[0].Type.Dims) >= 3
}

// officialInputs reads stored inputs. All but the first become constants of the model, as weights
// are.
func officialInputs(t *testing.T, folder string, m *graph.Model) map[string]*tensor.Tensor {
	in := map[string]*tensor.Tensor{}
	files, _ := filepath.Glob(filepath.Join(folder, "input_*.pb"))
	for _, file := range files {
		k, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "input_"), ".pb"))
		if err != nil || k >= len(m.Graph.Inputs) {
			return nil
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, x, err := onnx.ReadTensor(data)
		if err != nil {
			t.Fatal(err)
		}
		if name := m.Graph.Inputs[k].Name; k == 0 {
			in[name] = x
		} else {
			m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: name, Tensor: x})
		}
	}
	return in
}

// network is a graph under construction.
type network struct {
	g *graph.Graph
	r *rand.Rand
}

func newNetwork(shape ...int) *network {
	x := &graph.Value{Name: "x", Type: graph.TensorOf(tensor.F32, graph.DimsOf(shape))}
	return &network{&graph.Graph{Name: "n", Inputs: []*graph.Value{x}}, rand.New(rand.NewPCG(1, 2))}
}

func (n *network) weight(shape ...int) string {
	t := tensor.New(tensor.F32, shape...)
	for i := range tensor.View[float32](t) {
		tensor.View[float32](t)[i] = float32(n.r.NormFloat64())
	}
	name := fmt.Sprint("w", len(n.g.Initializers))
	n.g.Initializers = append(n.g.Initializers, &graph.Initializer{Name: name, Tensor: t})
	return name
}

func (n *network) add(op string, attrs []*graph.Attr, inputs ...string) string {
	name := fmt.Sprint(op, len(n.g.Nodes))
	n.g.Nodes = append(n.g.Nodes, &graph.Node{Name: name, Op: op, Version: 17, Inputs: inputs, Outputs: []string{name},
		Attrs: attrs})
	return name
}

// depthwise adds a 3x3 convolution of single channels.
func (n *network) depthwise(x string, channels int) string {
	group := &graph.Attr{Name: "group", Kind: graph.AttrInt, Int: int64(channels)}
	return n.add("Conv", []*graph.Attr{group, graph.IntsAttr("pads", 1, 1, 1, 1)}, x, n.weight(channels, 1, 3, 3),
		n.weight(channels))
}

func (n *network) pool(op, x string) string {
	return n.add(op, []*graph.Attr{graph.IntsAttr("kernel_shape", 3, 3), graph.IntsAttr("strides", 2, 2),
		graph.IntsAttr("pads", 1, 0, 1, 1)}, x)
}

// model returns the graph with these results.
func (n *network) model(outputs ...string) *graph.Model {
	for _, name := range outputs {
		n.g.Outputs = append(n.g.Outputs, &graph.Value{Name: name})
	}
	return &graph.Model{IR: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: n.g}
}

func (n *network) input() map[string]*tensor.Tensor {
	s, _ := n.g.Inputs[0].Type.Dims.Concrete()
	t := tensor.New(tensor.F32, s...)
	for i := range tensor.View[float32](t) {
		tensor.View[float32](t)[i] = float32(n.r.NormFloat64())
	}
	return map[string]*tensor.Tensor{"x": t}
}

// chain builds a network of depthwise convolutions, functions, a sum and pooling.
func chain(channels, size int) *network {
	n := newNetwork(2, channels, size, size+1)
	first := n.add("Relu", nil, n.depthwise("x", channels))
	y := n.add("Clip", nil, n.depthwise(first, channels), n.weight(), n.weight())
	y = n.add("Add", nil, n.depthwise(y, channels), first)
	y = n.add("Mul", nil, y, n.weight(2, channels, size, size+1))
	y = n.add("HardSwish", nil, n.depthwise(y, channels))
	y = n.pool("AveragePool", n.pool("MaxPool", y))
	n.add("GlobalAveragePool", nil, y)
	return n
}

// TestLayoutsChain blocks a network from its first node to its last, with a copy between layouts at
// either end, and compares it with plain values.
func TestLayoutsChain(t *testing.T) {
	testenv.Need(t, bindings.Available())
	for _, channels := range []int{1, 3, 16, 17, 31, 48} {
		for _, isa := range []string{"", "avx2", "scalar"} {
			if mask, _ := bindings.ParseISA(isa); mask&^bindings.DetectISA() != 0 {
				continue
			}
			for _, plainGraph := range []bool{false, true} {
				n := chain(channels, 9)
				m := n.model(n.g.Nodes[len(n.g.Nodes)-1].Name)
				checkLayouts(t, fmt.Sprintf("%d channels, levels %q", channels, isa), m, n.input(),
					runtime.Options{ISA: isa, Threads: 2, NoOptimize: plainGraph}, device.LayoutsBlocked, 2)
			}
		}
	}
}

// TestLayoutsParts splits, joins and resamples channels in blocks, as in the necks of detectors.
// The last part has padding in its last block.
func TestLayoutsParts(t *testing.T) {
	testenv.Need(t, bindings.Available())
	axis := &graph.Attr{Name: "axis", Kind: graph.AttrInt, Int: 1}
	scales := func(n *network) string {
		name, x := n.weight(4), []float32{1, 1, 2, 3}
		copy(tensor.View[float32](n.g.Initializers[len(n.g.Initializers)-1].Tensor), x)
		return name
	}
	for _, isa := range []string{"", "avx2", "scalar"} {
		if mask, _ := bindings.ParseISA(isa); mask&^bindings.DetectISA() != 0 {
			continue
		}
		for _, last := range []int{16, 5} {
			for _, mode := range []string{"nearest", "linear"} {
				n := newNetwork(2, 48+last, 5, 6)
				first := n.depthwise("x", 48+last)
				sizes, err := tensor.From([]int64{16, 32, int64(last)}, 3)
				if err != nil {
					t.Fatal(err)
				}
				n.g.Initializers = append(n.g.Initializers, &graph.Initializer{Name: "sizes", Tensor: sizes})
				n.g.Nodes = append(n.g.Nodes, &graph.Node{Name: "split", Op: "Split", Version: 17, Inputs: []string{first, "sizes"},
					Outputs: []string{"a", "b", "c"}, Attrs: []*graph.Attr{axis}})
				y := n.add("Concat", []*graph.Attr{axis}, n.add("Relu", nil, "b"), "a", "b", "c")
				y = n.add("Resize", []*graph.Attr{graph.StringAttr("mode", mode)}, y, "", scales(n))
				m := n.model(n.depthwise(y, 80+last))
				checkLayouts(t, fmt.Sprintf("last part of %d, %s, levels %q", last, mode, isa), m, n.input(),
					runtime.Options{ISA: isa, Threads: 2}, device.LayoutsBlocked, 2)
			}
		}
	}
}

// TestLayoutsPixels blocks 1x1 convolutions, as in squeeze and excitation: of one image, of two
// images with and without padding between their rows, and one that reads only padding.
func TestLayoutsPixels(t *testing.T) {
	testenv.Need(t, bindings.Available())
	for _, isa := range []string{"", "avx2", "scalar"} {
		if mask, _ := bindings.ParseISA(isa); mask&^bindings.DetectISA() != 0 {
			continue
		}
		for _, images := range []int{1, 2} {
			for _, channels := range []int{32, 45} {
				n := newNetwork(images, channels, 5, 6)
				first := n.depthwise("x", channels)
				conv := func(x string, in, out int, attrs ...*graph.Attr) string {
					return n.add("Conv", attrs, x, n.weight(out, in, 1, 1), n.weight(out))
				}
				narrow := n.add("HardSwish", nil, conv(n.add("GlobalAveragePool", nil, first), channels, 64))
				y := n.add("Mul", nil, first, n.add("Sigmoid", nil, conv(narrow, 64, channels)))
				beside := conv(narrow, 64, channels, graph.IntsAttr("pads", 1, 1, 1, 1),
					graph.IntsAttr("strides", 3, 3))
				m := n.model(n.add("Add", nil, y, beside))
				checkLayouts(t, fmt.Sprintf("%d images, %d channels, levels %q", images, channels, isa), m, n.input(),
					runtime.Options{ISA: isa, Threads: 2}, device.LayoutsBlocked, 2)
			}
		}
	}
}

// TestLayoutsVolumes blocks a network with three spatial axes from its first convolution to its
// last, as in the segmentation of volumes.
func TestLayoutsVolumes(t *testing.T) {
	testenv.Need(t, bindings.Available())
	axis := &graph.Attr{Name: "axis", Kind: graph.AttrInt, Int: 1}
	pads := graph.IntsAttr("pads", 1, 1, 1, 1, 1, 1)
	for _, isa := range []string{"", "avx2", "neon", "scalar"} {
		if mask, _ := bindings.ParseISA(isa); mask&^bindings.DetectISA() != 0 {
			continue
		}
		for _, counted := range []int64{0, 1} {
			n := newNetwork(2, 2, 6, 8, 10)
			conv := func(x string, in, out int) string {
				return n.add("Sigmoid", nil, n.add("Conv", []*graph.Attr{pads}, x, n.weight(out, in, 3, 3, 3), n.weight(out)))
			}
			first := conv("x", 2, 32)
			y := n.add("MaxPool", []*graph.Attr{graph.IntsAttr("kernel_shape", 2, 3, 3), graph.IntsAttr("strides", 2, 2, 2),
				graph.IntsAttr("pads", 0, 1, 0, 0, 0, 1)}, first)
			y = conv(y, 32, 64)
			group := &graph.Attr{Name: "group", Kind: graph.AttrInt, Int: 64}
			y = n.add("Sigmoid", nil, n.add("Conv", []*graph.Attr{group, pads}, y, n.weight(64, 1, 3, 3, 3), n.weight(64)))
			mean := []*graph.Attr{graph.IntsAttr("kernel_shape", 3, 3, 3), pads,
				{Name: "count_include_pad", Kind: graph.AttrInt, Int: counted}}
			y = n.add("Add", nil, conv(n.add("AveragePool", mean, y), 64, 64), y)
			y = n.add("Sigmoid", nil, n.add("ConvTranspose", []*graph.Attr{graph.IntsAttr("strides", 2, 2, 2)}, y,
				n.weight(64, 32, 2, 2, 2)))
			y = conv(n.add("Concat", []*graph.Attr{axis}, first, y), 64, 32)
			scales := n.weight(5)
			copy(tensor.View[float32](n.g.Initializers[len(n.g.Initializers)-1].Tensor), []float32{1, 1, 2, 1, 3})
			y = n.add("Resize", []*graph.Attr{graph.StringAttr("mode", "linear")}, y, "", scales)
			m := n.model(n.add("GlobalMaxPool", nil, n.add("Mul", nil, y, n.weight(32, 1, 1, 1))),
				n.add("GlobalAveragePool", nil, y))
			checkLayouts(t, fmt.Sprintf("counted %d, levels %q", counted, isa), m, n.input(),
				runtime.Options{ISA: isa, Threads: 2}, device.LayoutsBlocked, 2)
		}
	}
}

// TestLayoutsTransposed computes transposed convolutions with windows that touch, overlap, are cut
// off at the ends and reach beyond them.
func TestLayoutsTransposed(t *testing.T) {
	testenv.Need(t, bindings.Available())
	cases := []struct{ kernel, stride, pads, more []int64 }{
		{kernel: []int64{2, 2}, stride: []int64{2, 2}},
		{kernel: []int64{3, 1}, stride: []int64{3, 1}},
		{kernel: []int64{1, 2}, stride: []int64{1, 2}},
		{kernel: []int64{4}, stride: []int64{4}},
		{kernel: []int64{4, 4}, stride: []int64{2, 2}, pads: []int64{1, 1, 1, 1}},
		{kernel: []int64{3, 3}, stride: []int64{2, 2}, pads: []int64{1, 1, 1, 1}},
		{kernel: []int64{3, 3}, stride: []int64{2, 2}, pads: []int64{1, 1, 1, 1}, more: []int64{1, 1}},
		{kernel: []int64{3, 3}, stride: []int64{2, 2}, pads: []int64{0, 1, 1, 0}, more: []int64{0, 1}},
		{kernel: []int64{3, 5}, stride: []int64{1, 3}, pads: []int64{2, 0, 1, 3}},
		{kernel: []int64{5, 2}, stride: []int64{2, 1}},
		{kernel: []int64{16}, stride: []int64{8}, pads: []int64{4, 4}},
		{kernel: []int64{11}, stride: []int64{5}, pads: []int64{3, 2}, more: []int64{2}},
		{kernel: []int64{2, 2, 2}, stride: []int64{2, 2, 2}},
		{kernel: []int64{4, 3, 3}, stride: []int64{2, 1, 2}, pads: []int64{1, 1, 0, 1, 1, 1}, more: []int64{0, 0, 1}},
	}
	for _, isa := range []string{"", "avx2", "scalar"} {
		if mask, _ := bindings.ParseISA(isa); mask&^bindings.DetectISA() != 0 {
			continue
		}
		for i, c := range cases {
			for _, filters := range []int{5, 16, 40} {
				in, w := []int{2, 32, 6, 9, 4}[:2+len(c.kernel)], []int{32, filters}
				if len(c.kernel) < 3 {
					in[1], w[0] = 24, 24 // 8 of the 16 channels in the last block are padding
				}
				for _, k := range c.kernel {
					w = append(w, int(k))
				}
				n := newNetwork(in...)
				list := []string{n.add("Relu", nil, "x"), n.weight(w...)}
				if i%2 == 0 {
					list = append(list, n.weight(filters))
				}
				attrs := []*graph.Attr{graph.IntsAttr("strides", c.stride...)}
				if c.pads != nil {
					attrs = append(attrs, graph.IntsAttr("pads", c.pads...))
				}
				if c.more != nil {
					attrs = append(attrs, graph.IntsAttr("output_padding", c.more...))
				}
				m := n.model(n.add("Sigmoid", nil, n.add("ConvTranspose", attrs, list...)))
				checkLayouts(t, fmt.Sprintf("%+v, %d filters, levels %q", c, filters, isa), m, n.input(),
					runtime.Options{ISA: isa, Threads: 2}, device.LayoutsBlocked, 2)
			}
		}
	}
}

// checkLayouts compares a model under a policy with the model with plain values. All steps must be
// blocked, and the given number of them must be copies between layouts. If copies is negative, no
// step may be blocked.
func checkLayouts(
	t *testing.T, name string, m *graph.Model, in map[string]*tensor.Tensor, o runtime.Options, p device.LayoutPolicy,
	copies int,
) {
	t.Helper()
	want, err := runLayouts(m, o, device.LayoutsPlain, in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := runLayouts(m, o, p, in)
	if err != nil {
		t.Fatal(err)
	}
	steps, reorders := blockedSteps(got.plan)
	all := len(got.plan.Steps)
	if copies < 0 {
		all, copies = 0, 0
	}
	if steps != all || reorders != copies {
		t.Errorf("%s: %d of %d steps are blocked and %d of them copies; %d were to be\n%v", name, steps, all, reorders,
			copies, got.plan)
	}
	if n, _ := blockedSteps(want.plan); n != 0 {
		t.Errorf("%s: %d steps of the plain plan are blocked", name, n)
	}
	for k, w := range want.out {
		if d := differs(got.out[k], w, 1e-4); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestLayoutsByCost lets the estimates decide. They hold for some levels only.
func TestLayoutsByCost(t *testing.T) {
	testenv.Need(t, bindings.Available())
	for isa, copies := range map[string]int{"scalar": -1, "avx2": 2, "avx2,avx512": 2, "neon": 2} {
		if mask, _ := bindings.ParseISA(isa); mask&^bindings.DetectISA() == 0 {
			n := chain(64, 40)
			checkLayouts(t, "chain, levels "+isa, n.model(n.g.Nodes[len(n.g.Nodes)-1].Name), n.input(),
				runtime.Options{ISA: isa}, device.LayoutsByCost, copies)
		}
	}
	n := newNetwork(1, 64, 40, 40)
	checkLayouts(t, "one function", n.model(n.add("Relu", nil, "x")), n.input(), runtime.Options{}, device.LayoutsByCost,
		-1)
	if mask, _ := bindings.ParseISA("avx512"); mask&^bindings.DetectISA() != 0 {
		return // shorter vectors take so long that copies pay
	}
	n = newNetwork(1, 64, 40, 40)
	y := n.add("Conv", nil, "x", n.weight(64, 64, 1, 1))
	y = n.add("Conv", nil, n.depthwise(y, 64), n.weight(64, 64, 1, 1))
	checkLayouts(t, "one depthwise convolution", n.model(y), n.input(), runtime.Options{}, device.LayoutsByCost, -1)
}

// TestLayoutsBetween has values, some of them results, that both blocked and plain steps read, and
// steps on the host.
func TestLayoutsBetween(t *testing.T) {
	testenv.Need(t, bindings.Available())
	n := newNetwork(1, 20, 7, 5)
	a := n.depthwise("x", 20)
	b := n.add("Relu", nil, a)
	turned := n.add("Transpose", []*graph.Attr{graph.IntsAttr("perm", 0, 1, 3, 2)}, b)
	back := n.add("Transpose", []*graph.Attr{graph.IntsAttr("perm", 0, 1, 3, 2)}, n.add("Sigmoid", nil, turned))
	c := n.add("Add", nil, n.add("Mul", nil, back, b), a)
	norm := n.add("GlobalLpPool", nil, c)
	m := n.model(a, c, n.add("Mul", nil, c, norm), turned)
	in := n.input()
	want, err := runLayouts(m, runtime.Options{NoOptimize: true}, device.LayoutsPlain, in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := runLayouts(m, runtime.Options{NoOptimize: true}, device.LayoutsBlocked, in)
	if err != nil {
		t.Fatal(err)
	}
	if steps, _ := blockedSteps(got.plan); steps < 5 {
		t.Errorf("%d steps are blocked\n%v", steps, got.plan)
	}
	for k, w := range want.out {
		if d := differs(got.out[k], w, 1e-5); d != "" {
			t.Errorf("%s: %s\n%v", k, d, got.plan)
		}
	}
}

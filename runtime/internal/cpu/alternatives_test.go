package cpu_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestAlternatives lists the ways to compute a product with a constant operand: one step per kernel
// of the levels, the step of Bind first.
func TestAlternatives(t *testing.T) {
	testenv.Need(t, bindings.Available())
	packs := cpu.NewPacks()
	defer packs.Close()
	isa := bindings.DetectISA()
	d, err := cpu.New(isa, nil, 1, packs)
	if err != nil {
		t.Fatal(err)
	}
	n := &graph.Node{Op: "MatMul", Version: 13, Inputs: []string{"a", "b"}, Outputs: []string{"y"}}
	o, row, err := standard.Registry().New(n)
	if err != nil {
		t.Fatal(err)
	}
	matrix := graph.TensorOf(tensor.F32, graph.DimsOf(tensor.Shape{512, 512}))
	b := &device.Binding{
		Op: o, Row: row, Node: n, In: []*op.Value{{Type: matrix}, {Type: matrix, Const: tensor.New(tensor.F32, 512, 512)}}, Out: []*op.Value{{Type: matrix}},
	}
	list, err := d.Alternatives(b)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, k := range bindings.Variants("f32_gemm") {
		if k.ISA()&^isa == 0 && !strings.HasSuffix(k.Variant(), "bf16") { // which takes products of bfloat16
			want = append(want, "gemm: f32_gemm/"+k.Variant())
		}
	}
	got := make([]string, len(list))
	for i, s := range list {
		got[i] = s.String()
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
	if s, err := d.Bind(b); err != nil || s.String() != got[0] {
		t.Errorf("Bind takes %v (%v)", s, err)
	}
}

// TestExactKernels binds products of fixed extents, and products of which some may be smaller.
// Kernels that would be slow for those serve the former alone.
func TestExactKernels(t *testing.T) {
	testenv.Need(t, bindings.Available())
	packs := cpu.NewPacks()
	defer packs.Close()
	d, err := cpu.New(bindings.DetectISA(), nil, 1, packs)
	if err != nil {
		t.Fatal(err)
	}
	bound := func(string) (int, bool) { return 600, true }
	matrix := func(rows graph.Dim, columns int) *op.Value {
		return &op.Value{Type: graph.TensorOf(tensor.F32, graph.Dims{rows, graph.Known(columns)})}
	}
	product := func(rows graph.Dim) string {
		n := &graph.Node{Op: "MatMul", Version: 13, Inputs: []string{"a", "b"}, Outputs: []string{"y"}}
		b := &device.Binding{Node: n, Bound: bound}
		b.In, b.Out = []*op.Value{matrix(rows, 500), matrix(graph.Known(500), 400)}, []*op.Value{matrix(rows, 400)}
		return stepOf(t, d, b)
	}
	layer := func(steps graph.Dim, lengths bool) string {
		one, hidden := graph.Known(1), graph.Known(512)
		n := &graph.Node{Op: "RNN", Version: 14, Inputs: []string{"x", "w", "r", "", ""}, Outputs: []string{"y"}}
		n.Attrs = []*graph.Attr{{Name: "hidden_size", Kind: graph.AttrInt, Int: 512}}
		value := func(d tensor.DType, dims ...graph.Dim) *op.Value { return &op.Value{Type: graph.TensorOf(d, dims)} }
		b := &device.Binding{Node: n, Bound: bound}
		b.In = []*op.Value{value(tensor.F32, steps, one, hidden), value(tensor.F32, one, hidden, hidden),
			value(tensor.F32, one, hidden, hidden), nil, nil}
		if lengths {
			n.Inputs[4], b.In[4] = "lengths", value(tensor.I32, one)
		}
		b.Out = []*op.Value{value(tensor.F32, steps, one, one, hidden)}
		return stepOf(t, d, b)
	}
	exact, runs := map[string]bool{}, false
	first := slices.IndexFunc(bindings.Variants("f32_gemm"), func(k bindings.Kernel) bool {
		return k.IsCommand() && k.ISA()&^bindings.DetectISA() == 0
	})
	for _, k := range bindings.Variants() {
		exact[k.Op()+"/"+k.Variant()] = k.IsExact()
		runs = runs || k.IsExact() && k.ISA()&^bindings.DetectISA() == 0
	}
	isExact := func(step string) bool {
		return slices.ContainsFunc(strings.Fields(step), func(k string) bool { return exact[k] })
	}
	type test struct {
		name, fixed, varies string
		exact               bool // the step for fixed lengths
	}
	tests := []test{
		// The row of another library comes first for a product alone, and is no part.
		{"product", product(graph.Known(600)), product(graph.Symbol("n")), bindings.Variants("f32_gemm")[first].IsExact()},
		{"layer", layer(graph.Known(512), false), layer(graph.Symbol("n"), false), runs},
		{"layer with lengths of sequences", layer(graph.Known(512), false), layer(graph.Known(512), true), runs},
	}
	if !isExact(product(graph.Known(5))) { // emulated tiles take all products
		tests = append(tests, test{"layer with a short block at the end", layer(graph.Known(512), false),
			layer(graph.Known(515), false), runs})
	}
	for _, tt := range tests {
		if isExact(tt.varies) || isExact(tt.fixed) != tt.exact {
			t.Errorf("%s: %s; if it varies, %s", tt.name, tt.fixed, tt.varies)
		}
	}
}

// stepOf returns the text of the step that computes a node.
func stepOf(t *testing.T, d *cpu.Device, b *device.Binding) string {
	t.Helper()
	var err error
	if b.Op, b.Row, err = standard.Registry().New(b.Node); err != nil {
		t.Fatal(err)
	}
	s, err := d.Bind(b)
	if err != nil {
		t.Fatal(err)
	}
	return s.String()
}

// TestShortRows checks which kernels take rows of at most 16 elements. A length counts as the
// greatest that it may be.
func TestShortRows(t *testing.T) {
	testenv.Need(t, bindings.Available())
	packs := cpu.NewPacks()
	defer packs.Close()
	d, err := cpu.New(bindings.DetectISA(), nil, 1, packs)
	if err != nil {
		t.Fatal(err)
	}
	turned := func(node *graph.Node, out tensor.DType, most int, x, y graph.Dims) bool {
		b := &device.Binding{Node: node, Bound: func(string) (int, bool) { return most, true }}
		b.In, b.Out = []*op.Value{{Type: graph.TensorOf(tensor.F32, x)}}, []*op.Value{{Type: graph.TensorOf(out, y)}}
		return strings.Contains(stepOf(t, d, b), "/turned_")
	}
	rows, one := graph.Known(100), graph.Known(1)
	for _, tt := range []struct {
		n    graph.Dim
		most int
		want bool
	}{
		{graph.Known(2), 0, true}, {graph.Known(16), 0, true}, {graph.Known(17), 0, false},
		{graph.Symbol("n"), 16, true}, {graph.Symbol("n"), 17, false},
	} {
		x := graph.Dims{rows, tt.n}
		softmax := &graph.Node{Op: "Softmax", Version: 13, Inputs: []string{"x"}, Outputs: []string{"y"}}
		if got := turned(softmax, tensor.F32, tt.most, x, x); got != tt.want {
			t.Errorf("Softmax of %v up to %d: turned is %v", tt.n, tt.most, got)
		}
		axes := []*graph.Attr{graph.IntsAttr("axes", 1)}
		largest := &graph.Node{Op: "ReduceMax", Version: 13, Inputs: []string{"x"}, Outputs: []string{"y"}, Attrs: axes}
		if got := turned(largest, tensor.F32, tt.most, x, graph.Dims{rows, one}); got != tt.want {
			t.Errorf("ReduceMax of %v up to %d: turned is %v", tt.n, tt.most, got)
		}
		if !tt.n.IsKnown() {
			continue
		}
		place := &graph.Node{Op: "ArgMax", Version: 13, Inputs: []string{"x"}, Outputs: []string{"y"},
			Attrs: []*graph.Attr{graph.IntAttr("axis", 1)}}
		if got := turned(place, tensor.I64, tt.most, x, graph.Dims{rows, one}); got != tt.want {
			t.Errorf("ArgMax of %v: turned is %v", tt.n, got)
		}
	}
}

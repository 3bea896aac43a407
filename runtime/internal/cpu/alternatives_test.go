package cpu_test

import (
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

package cpu

import (
	"fmt"
	"math"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/moe"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// expertTest is a mixture of experts with rows of size elements, and deep after the activation.
type expertTest struct {
	weights          tensor.DType // in blocks, or U8 for codes
	bits, block      int          // of codes
	zeros            string       // of codes: "", "row" or "block"
	level            int          // accuracy_level of codes
	rows, size, deep int
	experts, k       int
	activation       string
	gate, bias       bool
	half             bool // rows are float16
}

// expertTests have odd extents, experts without rows, several groups of experts, and rows from 1 to
// more than a kernel takes at a time.
var expertTests = []expertTest{
	{weights: tensor.Q4_0, rows: 1, size: 96, deep: 160, experts: 5, k: 2, activation: "relu", gate: true, bias: true},
	{weights: tensor.Q4_0, rows: 140, size: 64, deep: 32, experts: 2, k: 1, activation: "relu"},
	{weights: tensor.Q4_K, rows: 3, size: 256, deep: 512, experts: 3, k: 3, activation: "identity", gate: true},
	{weights: tensor.Q6_K, rows: 31, size: 512, deep: 256, experts: 7, k: 2, activation: "relu", bias: true},
	{weights: tensor.MXFP4, rows: 9, size: 96, deep: 32, experts: 4, k: 2, activation: "swiglu", bias: true},
	{weights: tensor.IQ4_NL, rows: 5, size: 32, deep: 64, experts: 3, k: 1, activation: "silu", gate: true},
	{weights: tensor.U8, bits: 4, block: 32, rows: 1, size: 72, deep: 100, experts: 6, k: 2, activation: "relu", bias: true},
	{weights: tensor.U8, bits: 4, rows: 150, size: 40, deep: 36, experts: 3, k: 2, activation: "identity", zeros: "row", gate: true},
	{weights: tensor.U8, bits: 8, block: 16, rows: 12, size: 33, deep: 19, experts: 4, k: 1, activation: "relu", zeros: "block", gate: true},
	{weights: tensor.U8, bits: 8, block: 16, rows: 12, size: 33, deep: 7, experts: 4, k: 1, activation: "relu", zeros: "block"},
	{weights: tensor.U8, bits: 2, block: 64, rows: 4, size: 136, deep: 68, experts: 3, k: 2, activation: "swiglu", zeros: "block", bias: true},
	{weights: tensor.U8, bits: 2, rows: 60, size: 20, deep: 52, experts: 9, k: 3, activation: "silu", half: true, bias: true},
	{weights: tensor.F16, rows: 6, size: 17, deep: 21, experts: 4, k: 2, activation: "relu", gate: true},
}

// node returns the node and its inputs.
func (e *expertTest) node() (*graph.Node, []*tensor.Tensor) {
	s := cases.NewSource(fmt.Sprintf("%+v", *e))
	n := &graph.Node{Domain: "nacre", Op: "WidenedMoE", Version: 1, Outputs: []string{"y"},
		Attrs: cases.Attrs("k", e.k, "activation_type", e.activation)}
	d, fused := tensor.F32, 1
	if e.half {
		d = tensor.F16
	}
	if e.activation == "swiglu" {
		fused = 2
		n.Attrs = append(n.Attrs, cases.Attrs("swiglu_fusion", 1, "activation_alpha", 1.5, "activation_beta", 1.0, "swiglu_limit", 5.0)...)
	}
	in := make([]*tensor.Tensor, 14)
	in[0], in[1] = s.Between(d, -1, 1, e.rows, e.size), s.Between(d, -2, 2, e.rows, e.experts)
	if e.weights == tensor.U8 {
		n.Domain, n.Op = "com.microsoft", "QMoE"
		n.Attrs = append(n.Attrs, cases.Attrs("expert_weight_bits", e.bits, "block_size", e.block, "accuracy_level", e.level)...)
	}
	for i, l := range [][2]int{{fused * e.deep, e.size}, {e.size, e.deep}, {e.deep, e.size}} {
		if i == 2 && !e.gate {
			continue
		}
		bias := s.Between(d, -1, 1, e.experts, l[0])
		if !e.bias {
			bias = nil
		}
		if e.weights == tensor.U8 {
			e.codes(s, in, i, l[0], l[1], d)
			in[4+3*i] = bias
		} else {
			in[2+2*i], in[3+2*i] = s.Between(e.weights, -0.5, 0.5, e.experts, l[0], l[1]), bias
		}
	}
	for len(in) > 8 && in[len(in)-1] == nil || in[len(in)-1] == nil {
		in = in[:len(in)-1]
	}
	for i, t := range in {
		name := fmt.Sprint("in", i)
		if t == nil {
			name = ""
		}
		n.Inputs = append(n.Inputs, name)
	}
	return n, in
}

// codes sets the inputs of layer i to random ones.
func (e *expertTest) codes(s *cases.Source, in []*tensor.Tensor, i, out, deep int, scales tensor.DType) {
	blocks, scale := 1, 2/math.Exp2(float64(e.bits))
	if e.block > 0 {
		blocks = (deep + e.block - 1) / e.block
	}
	in[2+3*i] = s.Between(tensor.U8, 0, 255, e.experts, out, deep*e.bits/8)
	in[3+3*i] = s.Between(scales, scale/4, scale/2, e.experts, out, blocks)
	switch e.zeros {
	case "row":
		in[11+i] = s.Between(tensor.U8, 0, 255, e.experts, (out*e.bits+7)/8)
	case "block":
		in[11+i] = s.Between(tensor.U8, 0, 255, e.experts, out, (blocks*e.bits+7)/8)
	}
}

// run computes the node on a device with levels isa.
func (e *expertTest) run(t *testing.T, isa bindings.ISA, pool *bindings.Pool, a device.Accuracy, variable bool) []float64 {
	t.Helper()
	packs := NewPacks()
	defer packs.Close()
	d, err := New(isa, pool, pool.Threads(), packs)
	if err != nil {
		t.Fatal(err)
	}
	n, in := e.node()
	out, err := device.Once{Device: d.WithAccuracy(a), Variable: variable}.Eval(standard.Registry(), n, in)
	if err != nil {
		t.Fatalf("%+v: %v", *e, err)
	}
	if packed := !variable && min(e.size, e.deep) >= leastPacked; packed != (packs.Bytes() > 0) {
		t.Errorf("%+v: %d bytes are packed, constants %v", *e, packs.Bytes(), !variable)
	}
	return cases.Numbers(out[0])
}

// binding returns a binder of the node, and its inputs.
func (e *expertTest) binding(t *testing.T, d *Device, variable bool) (*binder, []*tensor.Tensor) {
	t.Helper()
	n, in := e.node()
	o, row, err := standard.Registry().New(n)
	if err != nil {
		t.Fatal(err)
	}
	of := &device.Binding{Op: o, Row: row, Node: n, In: kit.Values(in)}
	if of.Out, err = kit.InferOutputs(o, n, of.In); err != nil {
		t.Fatal(err)
	}
	for _, v := range of.In {
		if v != nil && variable {
			v.Const = nil
		}
	}
	return &binder{Binding: of, dev: d, step: &device.Step{Binder: "experts"}}, in
}

// bound binds the node and returns the inputs of its layers.
func (e *expertTest) bound(t *testing.T, b *binder, in []*tensor.Tensor) (*boundExperts, [3]layerInputs) {
	t.Helper()
	var layers [3]layerInputs
	shape := func(i int) tensor.Shape {
		if i >= len(in) || in[i] == nil {
			return nil
		}
		return in[i].Shape()
	}
	memory := func(l *layerInputs) { l.row = make([]byte, e.experts*l.Out) }
	if o, ok := b.Op.(*moe.QMoE); ok {
		x, err := boundQMoE(o, b)
		if err != nil {
			t.Fatal(err)
		}
		_, list, err := o.Shape(shape)
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range list {
			if l.Out > 0 {
				layers[i] = layerInputs{QMoELayer: l, weights: in[2+3*i], scales: in[3+3*i]}
				if e.zeros != "" {
					layers[i].zeros = in[11+i]
				}
				memory(&layers[i])
			}
		}
		return x, layers
	}
	o := &b.Op.(*moe.WidenedMoE).MoE
	x, err := boundMoE(o, b)
	if err != nil {
		t.Fatal(err)
	}
	s, err := o.Shape(shape)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range s.Layers {
		if l.Out > 0 {
			layers[i] = layerInputs{QMoELayer: moe.QMoELayer{ExpertLayer: l}, weights: in[2+2*i]}
		}
	}
	return x, layers
}

package gguf

import (
	"fmt"

	"github.com/nacre-ml/nacre/formats/internal/decoder"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// expertsOf reads the settings of experts.
func (d *design) expertsOf() {
	d.experts, d.chosen = d.size("expert_count", 0), d.size("expert_used_count", 0)
	d.width = d.size("expert_feed_forward_length", d.inner[0])
	if d.chosen > d.experts {
		d.wrong(graph.ErrFormat, "expert_used_count", "is %d of %d experts", d.chosen, d.experts)
	}
	switch v := d.float("expert_gating_func", 1); {
	case v == 0 || v == 1 || v == 3:
	case v == 2 && d.normalized:
		d.sigmoid = true
	default:
		const text = "is %v; softmax (1 and 3) is computed, and sigmoid (2) where weights have a sum of 1"
		d.wrong(graph.ErrUnsupported, "expert_gating_func", text, v)
	}
}

// mixture takes the matrices of the experts of a block.
func (d *design) mixture(p string) *decoder.Experts {
	n, w := d.Hidden, d.width
	e := &decoder.Experts{Router: d.matrix(p+"ffn_gate_inp", d.experts, n), Chosen: d.chosen, Normalized: d.normalized,
		Sigmoid: d.sigmoid, Scale: d.float("expert_weights_scale", 0), Limit: d.limit}
	if d.left[p+"ffn_gate_up_exps.weight"] != nil {
		e.GateUp = d.matrix(p+"ffn_gate_up_exps", d.experts, 2*w, n)
	} else {
		e.Gate, e.Up = d.expertMatrix(p, "ffn_gate", w, n), d.expertMatrix(p, "ffn_up", w, n)
	}
	e.Down = d.expertMatrix(p, "ffn_down", n, w)
	if d.left[p+"ffn_up_shexp.weight"] != nil || d.shared {
		w := d.size("expert_shared_feed_forward_length", d.inner[0])
		e.SharedGate, e.SharedUp, e.SharedDown = d.matrix(p+"ffn_gate_shexp", w, n), d.matrix(p+"ffn_up_shexp", w, n),
			d.matrix(p+"ffn_down_shexp", n, w)
		if d.left[p+"ffn_gate_inp_shexp.weight"] != nil || d.shared {
			e.SharedRouter = d.tensor(p+"ffn_gate_inp_shexp.weight", n)
		}
	}
	return e
}

// expertMatrix takes the matrices of a name of all experts: of one tensor, or, in old files, of one
// for each expert.
func (d *design) expertMatrix(p, name string, out, in int) decoder.Matrix {
	if d.left[p+name+"_exps.weight"] != nil || d.left[p+name+".0.weight"] == nil {
		return d.matrix(p+name+"_exps", d.experts, out, in)
	}
	all := make([]*graph.Initializer, 0, min(d.experts, len(d.left)))
	for i := range d.experts {
		x := d.tensor(fmt.Sprintf("%s%s.%d.weight", p, name, i), out, in)
		if x == nil {
			return decoder.Matrix{}
		}
		all = append(all, x)
	}
	return decoder.Matrix{Weight: d.stacked(p+name+"_exps.weight", all)}
}

// stacked returns a tensor with a new first axis, which counts tensors of one type and shape.
func (d *design) stacked(name string, list []*graph.Initializer) *graph.Initializer {
	of := list[0].Tensor
	for _, x := range list {
		if t := x.Tensor; t.DType() != of.DType() || !t.Shape().Equal(of.Shape()) {
			d.misfits = append(d.misfits, fmt.Sprintf("%s is %v, and %s %v", list[0].Name, of, x.Name, t))
			return nil
		}
	}
	if err := d.take(of.Size() * len(list)); err != nil {
		if d.err == nil {
			d.err = err
		}
		return nil
	}
	t := tensor.New(of.DType(), append([]int{len(list)}, of.Shape()...)...)
	for i, x := range list {
		copy(t.Bytes()[i*of.Size():], x.Tensor.Bytes())
	}
	return &graph.Initializer{Name: name, Tensor: t}
}

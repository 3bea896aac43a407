package op

import (
	"errors"
	"fmt"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Eval computes one node outside any plan, for constant folding and tests. In
// has nil where an input is left out. Every call prepares the operator anew.
func Eval(r *Registry, n *graph.Node, isa bindings.ISA, pool *bindings.Pool, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	o, row, err := r.New(n)
	if err != nil {
		return nil, err
	}
	values := Values(in)
	if err := row.CheckTypes(values); err != nil {
		return nil, err
	}
	if p, ok := o.(Preparer); ok {
		packs := NewPacks()
		defer packs.Close()
		prep := &Prepare{In: in, DTypes: DTypes(values), ISA: isa, Packs: packs}
		if err := Ready(p, prep); err != nil {
			return nil, err
		}
	}
	out, err := InferOutputs(o, row, n, values)
	if err != nil {
		return nil, err
	}
	return Compute(o, row, n, pool, in, out)
}

// Compute runs a prepared operator once on tensors in Go's heap; out is what
// InferOutputs said of them.
func Compute(o Op, row *Row, n *graph.Node, pool *bindings.Pool, in []*tensor.Tensor, out []*Value) ([]*tensor.Tensor, error) {
	aligned := make([]*tensor.Tensor, len(in))
	for i, t := range in {
		if t != nil {
			aligned[i] = t.Aligned()
		}
	}
	mem := &heap{out: make([]*tensor.Tensor, len(n.Outputs))}
	c := &Run{In: aligned, Out: mem.out, Pool: pool, Mem: mem, Node: n}
	for i, v := range out {
		shape, ok := v.Dims.Concrete()
		if n.Outputs[i] == "" || !ok {
			continue
		}
		var err error
		if i == 0 && row.View {
			c.Out[0], err = aligned[0].Reshape(shape)
		} else {
			_, err = mem.Output(i, v.DType, shape)
		}
		if err != nil {
			return nil, err
		}
	}
	if row.View && len(n.Outputs) == 1 {
		return c.Out, nil
	}
	if err := Execute(o, c); err != nil {
		return nil, err
	}
	for i, t := range c.Out {
		if t == nil && n.Outputs[i] != "" {
			return nil, fmt.Errorf("output %d was not computed", i)
		}
	}
	return c.Out, nil
}

// Values describes tensors that are there; nil stays nil.
func Values(in []*tensor.Tensor) []*Value {
	list := make([]*Value, len(in))
	for i, t := range in {
		if t != nil {
			list[i] = &Value{Type: graph.TensorOf(t.DType(), graph.DimsOf(t.Shape())), Const: t}
		}
	}
	return list
}

// DTypes returns the element types of values; Invalid where there is none.
func DTypes(in []*Value) []tensor.DType {
	list := make([]tensor.DType, len(in))
	for i, v := range in {
		if v != nil {
			list[i] = v.DType
		}
	}
	return list
}

// InferOutputs runs the shape rule and checks what it set.
func InferOutputs(o Op, row *Row, n *graph.Node, in []*Value) (out []*Value, err error) {
	defer guard(&err)
	c := &Infer{In: in, Out: make([]*Value, len(n.Outputs))}
	for i := range c.Out {
		c.Out[i] = &Value{}
	}
	if err := o.Infer(c); err != nil {
		return nil, err
	}
	for i, v := range c.Out {
		if n.Outputs[i] == "" {
			continue
		}
		if v.Kind == graph.NoType {
			return nil, fmt.Errorf("output %d is not one that the operator has", i)
		}
		if shape, ok := v.Dims.Concrete(); ok {
			if err := shape.Check(); err != nil {
				return nil, graph.Mark(graph.ErrShape, "output %d: %w", i, err)
			}
		}
	}
	return c.Out, nil
}

// heap is Memory outside any arena.
type heap struct{ out []*tensor.Tensor }

func (h *heap) Scratch(n int) ([]byte, error) { return tensor.New(tensor.U8, n).Bytes(), nil }

func (h *heap) Output(i int, d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error) {
	if err := shape.Check(); err != nil {
		return nil, err
	}
	if i >= len(h.out) {
		return nil, errors.New("the node has fewer outputs")
	}
	h.out[i] = tensor.New(d, shape...)
	return h.out[i], nil
}

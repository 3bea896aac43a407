package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/fold"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// infer walks the program with the given inputs and returns the facts, by id, that are known of
// every value before anything runs.
func (p *Program) infer(inputs []*op.Value) ([]*op.Value, error) {
	values := append([]*op.Value(nil), p.values...)
	for i, id := range p.Inputs {
		values[id] = inputs[i]
	}
	for _, n := range p.Nodes {
		in := make([]*op.Value, len(n.inputs()))
		for i, id := range n.inputs() {
			if id >= 0 {
				in[i] = values[id]
			}
		}
		out, err := n.infer(in, values)
		if err == nil {
			err = foldNode(p, n, in, out)
		}
		if err != nil {
			return nil, p.fail(n.Node, fmt.Errorf("%w; inputs %s", err, describe(in)))
		}
		for i, id := range n.Out {
			if id >= 0 {
				values[id] = out[i]
			}
		}
	}
	return values, nil
}

// infer runs the shape rule of one node. Bodies take the values that they capture from values, by
// id.
func (n *Node) infer(in, values []*op.Value) ([]*op.Value, error) {
	c := &op.Infer{In: in, Body: func(attr string, in []*op.Value) ([]*op.Value, error) {
		b := n.Bodies[attr]
		if b == nil {
			return nil, graph.Errorf(graph.ErrFormat, "attribute %q, a graph, is missing", attr)
		}
		return b.outputs(in, values)
	}}
	return kit.InferWith(n.Op, n.Node, c)
}

// outputs infers the outputs of a body from its own inputs and the values around it.
func (b *Body) outputs(in, around []*op.Value) ([]*op.Value, error) {
	if want := len(b.Inputs) - len(b.Captures); len(in) != want {
		return nil, graph.Errorf(graph.ErrFormat, "the graph takes %d inputs and is given %d", want, len(in))
	}
	in = slices.Clone(in)
	for _, id := range b.Captures {
		in = append(in, around[id])
	}
	values, err := b.Program.infer(in)
	if err != nil {
		return nil, err
	}
	out := make([]*op.Value, len(b.Outputs))
	for i, id := range b.Outputs {
		out[i] = values[id]
	}
	return out, nil
}

// foldNode computes a small node if all its inputs are constant.
func foldNode(p *Program, n *Node, in, out []*op.Value) error {
	if len(n.Bodies) > 0 || !slices.ContainsFunc(out, func(v *op.Value) bool { return v != nil && v.Const == nil }) {
		return nil
	}
	tensors, ok := fold.Facts.Operands(n.Node, n.Row, in, out)
	if !ok {
		return nil
	}
	result, err := device.Once{Device: p.device, Limit: device.Reserve}.Compute(n.Op, n.Row, n.Node, tensors, out)
	if errors.Is(err, device.ErrReserve) {
		return nil
	}
	if err != nil {
		return err
	}
	for i, t := range result {
		if n.Out[i] >= 0 {
			out[i].Const = t
		}
	}
	return nil
}

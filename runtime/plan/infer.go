package plan

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// foldBytes bounds what planning computes ahead of a run: shape arithmetic
// stays far below it.
const foldBytes = 1 << 16

// infer walks the program with the given inputs and returns what is known of
// every value, by id.
func (p *Program) infer(inputs []*op.Value) ([]*op.Value, error) {
	values := append([]*op.Value(nil), p.values...)
	for i, id := range p.Inputs {
		values[id] = inputs[i]
	}
	for _, n := range p.Nodes {
		in := make([]*op.Value, len(n.In))
		for i, id := range n.In {
			if id >= 0 {
				in[i] = values[id]
			}
		}
		out, err := op.InferOutputs(n.Op, n.Row, n.Node, in)
		if err == nil {
			settle(out)
			err = fold(n, in, out)
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

// settle turns integer contents that are known in full into constants.
func settle(values []*op.Value) {
	for _, v := range values {
		shape, ok := v.Dims.Concrete()
		if v.Const == nil && v.Ints != nil && ok && shape.Len() == len(v.Ints) {
			v.Const = integers(v.DType, shape, v.Ints)
		}
	}
}

// integers returns a tensor of the elements, or nil if one of them is no number
// or does not fit the type.
func integers(d tensor.DType, shape tensor.Shape, list []graph.Dim) *tensor.Tensor {
	if d != tensor.I64 && d != tensor.I32 {
		return nil
	}
	t := tensor.New(d, shape...)
	for i, x := range list {
		n, ok := x.Value()
		switch {
		case !ok, d == tensor.I32 && n != int(int32(n)):
			return nil
		case d == tensor.I32:
			tensor.View[int32](t)[i] = int32(n)
		default:
			tensor.View[int64](t)[i] = int64(n)
		}
	}
	return t
}

// fold computes a small node whose inputs are all constant.
func fold(n *Node, in, out []*op.Value) error {
	total := 0
	tensors := make([]*tensor.Tensor, len(in))
	for i, v := range in {
		if v == nil {
			continue
		}
		if v.Const == nil {
			return nil
		}
		tensors[i] = v.Const
		total += max(len(v.Const.Bytes()), v.Const.Len())
	}
	known := true
	for i, v := range out {
		if n.Out[i] < 0 {
			continue
		}
		shape, ok := v.Dims.Concrete()
		if !ok {
			return nil
		}
		known = known && v.Const != nil
		total += max(v.DType.Bytes(shape.Len()), shape.Len())
	}
	if known || total > foldBytes {
		return nil
	}
	result, err := op.Compute(n.Op, n.Row, n.Node, nil, tensors, out)
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

package kit

import (
	"fmt"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Values describes the tensors of in; nil stays nil.
func Values(in []*tensor.Tensor) []*op.Value {
	list := make([]*op.Value, len(in))
	for i, t := range in {
		if t != nil {
			list[i] = op.Known(t)
		}
	}
	return list
}

// InferOutputs runs the shape rule of o and checks the outputs that it set. Integer contents that
// are fully known become constants.
func InferOutputs(o op.Op, n *graph.Node, in []*op.Value) (out []*op.Value, err error) {
	return InferWith(o, n, &op.Infer{In: in})
}

// InferWith is InferOutputs for a given c, which may know the bodies of control flow.
func InferWith(o op.Op, n *graph.Node, c *op.Infer) (out []*op.Value, err error) {
	defer guard.At("").End(&err)
	c.Out = make([]*op.Value, len(n.Outputs))
	values := make([]op.Value, len(n.Outputs))
	for i := range c.Out {
		c.Out[i] = &values[i]
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
				return nil, graph.Errorf(graph.ErrShape, "output %d: %w", i, err)
			}
		}
	}
	foldInts(c.Out)
	return c.Out, nil
}

// foldInts turns integer contents that are fully known into constants.
func foldInts(values []*op.Value) {
	for _, v := range values {
		if v.Const != nil || v.Ints == nil {
			continue
		}
		if shape, ok := v.Dims.Concrete(); ok && shape.Len() == len(v.Ints) {
			v.Const = integerTensor(v.DType, shape, v.Ints)
		}
	}
}

// integerTensor returns a tensor of the elements. If one is not a number or does not fit the type,
// it returns nil.
func integerTensor(d tensor.DType, shape tensor.Shape, list []graph.Dim) *tensor.Tensor {
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

// SequenceOf returns the type of sequences of elem.
func SequenceOf(elem graph.Type) graph.Type { return graph.Type{Kind: graph.SequenceType, Elem: &elem} }

package op

import (
	"fmt"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Of returns t as a value. A nil tensor becomes a nil value.
func Of(t *tensor.Tensor) tensor.Value {
	if t == nil {
		return nil
	}
	return t
}

// Values describes the tensors of in; nil stays nil.
func Values(in []*tensor.Tensor) []*Value {
	list := make([]*Value, len(in))
	for i, t := range in {
		if t != nil {
			list[i] = Known(t)
		}
	}
	return list
}

// Known describes a value that has been computed.
func Known(v tensor.Value) *Value {
	t := &Value{Type: TypeOf(v)}
	t.Const, _ = v.(*tensor.Tensor)
	return t
}

// described holds descriptions of tensors in memory that later calls reuse.
type described struct {
	list   []*Value
	values []Value
	dims   graph.Dims
}

// Known describes the inputs. The descriptions are valid until the next call.
func (c *Run) Known() []*Value {
	k := &c.known
	k.list, k.dims = k.list[:0], k.dims[:0]
	if cap(k.values) < len(c.Values) {
		k.values = make([]Value, len(c.Values))
	}
	k.values = k.values[:len(c.Values)]
	for i, v := range c.Values {
		if v == nil {
			k.list = append(k.list, nil)
			continue
		}
		t, ok := v.(*tensor.Tensor)
		if !ok {
			k.list = append(k.list, Known(v))
			continue
		}
		from := len(k.dims)
		for _, n := range t.Shape() {
			k.dims = append(k.dims, graph.Known(n))
		}
		to := len(k.dims)
		if k.dims == nil {
			k.dims = graph.Dims{}
		}
		k.values[i] = Value{Type: graph.TensorOf(t.DType(), k.dims[from:to:to]), Const: t}
		k.list = append(k.list, &k.values[i])
	}
	return k.list
}

// Forget clears the descriptions of Known, so that they do not keep tensors in memory.
func (c *Run) Forget() {
	clear(c.known.list)
	clear(c.known.values)
}

// TypeOf returns the type of a value. A sequence has the element type of its first item.
func TypeOf(v tensor.Value) graph.Type {
	switch v := v.(type) {
	case *tensor.Tensor:
		return graph.TensorOf(v.DType(), graph.DimsOf(v.Shape()))
	case *tensor.Sequence:
		elem := graph.TensorOf(tensor.Invalid, nil)
		if len(v.Items) > 0 {
			elem = TypeOf(v.Items[0])
			elem.Dims = nil
		}
		return graph.Type{Kind: graph.SequenceType, Elem: &elem}
	case *tensor.Optional:
		elem := graph.Type{}
		if v.Item != nil {
			elem = TypeOf(v.Item)
		}
		return graph.Type{Kind: graph.OptionalType, Elem: &elem}
	case *tensor.Map:
		elem := graph.TensorOf(v.Values.DType(), graph.Dims{})
		return graph.Type{Kind: graph.MapType, Key: v.Keys.DType(), Elem: &elem}
	}
	return graph.Type{}
}

// DTypes returns the element types of values, Invalid for a nil value.
func DTypes(in []*Value) []tensor.DType {
	list := make([]tensor.DType, len(in))
	for i, v := range in {
		if v != nil {
			list[i] = v.DType
		}
	}
	return list
}

// InferOutputs runs the shape rule of o and checks the outputs that it set. Integer contents that
// are fully known become constants.
func InferOutputs(o Op, n *graph.Node, in []*Value) (out []*Value, err error) {
	return InferWith(o, n, &Infer{In: in})
}

// InferWith is InferOutputs for a given c, which may know the bodies of control flow.
func InferWith(o Op, n *graph.Node, c *Infer) (out []*Value, err error) {
	defer guard.At("").End(&err)
	c.Out = make([]*Value, len(n.Outputs))
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
				return nil, graph.Errorf(graph.ErrShape, "output %d: %w", i, err)
			}
		}
	}
	settle(c.Out)
	return c.Out, nil
}

// settle turns integer contents that are fully known into constants.
func settle(values []*Value) {
	for _, v := range values {
		shape, ok := v.Dims.Concrete()
		if v.Const == nil && v.Ints != nil && ok && shape.Len() == len(v.Ints) {
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

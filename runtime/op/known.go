package op

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

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

package openinfer

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Default is the value of a dynamic variable that a step omits: the model's tensor or metadata of
// this name, else the variable's @init, else zeros.
type Default struct {
	DType tensor.DType
	Shape tensor.Shape
	value *tensor.Tensor // of Shape, or one element to repeat; nil for zeros
}

// Defaults returns the defaults of a lowered program's inputs, by name; nil for other networks.
func Defaults(m *graph.Model) map[string]*Default {
	s, ok := m.Source.(*stepSource)
	if !ok {
		return nil
	}
	return s.defaults
}

// Tensor returns the value, which is read-only. If the model does not hold all its elements, Tensor
// allocates them.
func (d *Default) Tensor() *tensor.Tensor {
	if d.value != nil && d.value.Shape().Equal(d.Shape) {
		return d.value
	}
	full := tensor.New(d.DType, d.Shape...)
	if d.value != nil {
		spread(full, d.value)
	}
	return full
}

// Bytes returns the memory that Tensor allocates.
func (d *Default) Bytes() int {
	if d.value != nil && d.value.Shape().Equal(d.Shape) {
		return 0
	}
	return d.DType.Bytes(d.Shape.Len())
}

// fallback registers the default of a dynamic variable.
func (n *network) fallback(v *decl) error {
	t, _, err := n.initial(v)
	n.defaults[v.name] = &Default{v.dtype.tensor(), n.dims[v.name], t}
	return err
}

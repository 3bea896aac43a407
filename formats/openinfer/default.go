package openinfer

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Default is the value of a dynamic variable that a step leaves out: that of the model's
// tensor or metadata of its name, else its @init, else zeros.
type Default struct {
	DType tensor.DType
	Shape tensor.Shape
	value *tensor.Tensor // of that shape, or of one element that all are; nil for zeros
}

// Defaults returns the defaults of the inputs of a lowered program, by name; nil for other
// networks.
func Defaults(m *graph.Model) map[string]*Default {
	s, ok := m.Source.(*stepSource)
	if !ok {
		return nil
	}
	return s.defaults
}

// Tensor returns the value, which is only read. One that the model does not have is made.
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

// Bytes is the memory that Tensor takes beside that of the model.
func (d *Default) Bytes() int {
	if d.value != nil && d.value.Shape().Equal(d.Shape) {
		return 0
	}
	return d.DType.Bytes(d.Shape.Len())
}

// fallback notes the value of a dynamic variable that a step leaves out.
func (n *network) fallback(v *decl) error {
	t, _, err := n.initial(v)
	n.defaults[v.name] = &Default{v.dtype.tensor(), n.dims[v.name], t}
	return err
}

package lower

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Value is an operand with the type and the extents of its elements.
type Value struct {
	device.Operand
	DType tensor.DType
	Dims  graph.Dims
}

// Input returns input i of a node, the zero Value if it is left out.
func Input(b Binder, i int) Value {
	f := b.Facts()
	if !f.Has(i) {
		return Value{}
	}
	return Value{b.Input(i), f.In[i].DType, f.In[i].Dims}
}

// Output returns output i of a node, the zero Value if it is left out.
func Output(b Binder, i int) Value {
	f := b.Facts()
	if !f.Wants(i) {
		return Value{}
	}
	return Value{b.Output(i), f.Out[i].DType, f.Out[i].Dims}
}

// Scratch returns v if its elements have type d, else scratch for as many elements of type d.
func Scratch(b Binder, d tensor.DType, v Value) Value {
	if d == v.DType {
		return v
	}
	n, ok := b.Facts().Max(v.Dims.Len())
	if !ok {
		b.Note(device.Refuse("extents %v are not known", v.Dims))
	}
	return Value{b.Scratch(d.Bytes(n)), d, v.Dims}
}

// As returns v, converted to type d if it has another. A value that is left out remains so.
func As(b Binder, d tensor.DType, v Value) device.Operand {
	if v.Place == device.None || v.DType == d {
		return v.Operand
	}
	x := Scratch(b, d, v)
	b.Note(b.Convert(v.DType, d, v.Dims.Len(), v.Operand, x.Operand))
	return x.Operand
}

// Rounded lets add compute elements of type d, and converts them to v.
func Rounded(b Binder, d tensor.DType, v Value, add func(y device.Operand) error) error {
	y := Scratch(b, d, v)
	if err := add(y.Operand); err != nil || d == v.DType {
		return err
	}
	return b.Convert(d, v.DType, v.Dims.Len(), y.Operand, v.Operand)
}

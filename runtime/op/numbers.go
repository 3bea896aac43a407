package op

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Numbers returns the elements of a tensor as float64; ok is false unless they are
// floats of 16 bits or more, integers or bools. Integers beyond 2^53 are rounded.
func Numbers(t *tensor.Tensor) (list []float64, ok bool) {
	if d := t.DType(); !numeric.Has(d) && d != tensor.Bool {
		return nil, false
	}
	return allNumbers(t.Aligned()), true
}

// SetNumbers stores numbers as the elements of a tensor of floats of 16 bits or
// more, integers or bools: rounded to floats, cut to integers.
func SetNumbers(t *tensor.Tensor, list []float64) { putNumbers(t, list) }

// allNumbers returns the elements of a tensor of floats, integers or bool as
// float64: its own if they are that. Integers beyond 2^53 are rounded.
func allNumbers(t *tensor.Tensor) []float64 {
	switch t.DType() {
	case tensor.I8:
		return toDoubles[int8](t)
	case tensor.I16:
		return toDoubles[int16](t)
	case tensor.I32:
		return toDoubles[int32](t)
	case tensor.I64:
		return toDoubles[int64](t)
	case tensor.U8, tensor.Bool:
		return toDoubles[uint8](t)
	case tensor.U16:
		return toDoubles[uint16](t)
	case tensor.U32:
		return toDoubles[uint32](t)
	case tensor.U64:
		return toDoubles[uint64](t)
	}
	return doubles(t)
}

func toDoubles[T integer](t *tensor.Tensor) []float64 {
	return converted(tensor.View[T](t), func(v T) float64 { return float64(v) })
}

// putNumbers stores numbers as the elements of a tensor of floats, integers or
// bool: rounded to floats, cut to integers, true where they are not 0. Nothing
// happens to a tensor left out.
func putNumbers(t *tensor.Tensor, list []float64) {
	if t == nil {
		return
	}
	switch t.DType() {
	case tensor.I8:
		cutTo[int8](t, list)
	case tensor.I16:
		cutTo[int16](t, list)
	case tensor.I32:
		cutTo[int32](t, list)
	case tensor.I64:
		cutTo[int64](t, list)
	case tensor.U8:
		cutTo[uint8](t, list)
	case tensor.U16:
		cutTo[uint16](t, list)
	case tensor.U32:
		cutTo[uint32](t, list)
	case tensor.U64:
		cutTo[uint64](t, list)
	case tensor.Bool:
		out := tensor.View[bool](t)
		for i, v := range list {
			out[i] = v != 0
		}
	default:
		putDoubles(t, list)
	}
}

func cutTo[T integer](t *tensor.Tensor, list []float64) {
	out := tensor.View[T](t)
	for i, v := range list {
		out[i] = T(v)
	}
}

// scalarInt returns the only element of an integer tensor.
func scalarInt(t *tensor.Tensor, name string) (int, error) {
	list, err := Ints(t)
	if err != nil {
		return 0, graph.Errorf(graph.ErrShape, "%s is %w", name, err)
	}
	if len(list) != 1 {
		return 0, graph.Errorf(graph.ErrShape, "%s is %v, not one element", name, t)
	}
	return list[0], nil
}

// scalarNumber returns the only element of a tensor of floats.
func scalarNumber(t *tensor.Tensor, name string) (float64, error) {
	if t.Len() != 1 || !floats.Has(t.DType()) {
		return 0, graph.Errorf(graph.ErrShape, "%s is %v, not one float", name, t)
	}
	return scalarFloat(t), nil
}

// scalarDim returns what is known of the only element of an integer input,
// unknown if nothing is.
func (c *Infer) scalarDim(i int, name string) (graph.Dim, error) {
	v := c.In[i]
	if n, ok := v.Dims.Len().Value(); ok && v.Dims != nil && n != 1 {
		return graph.Dim{}, graph.Errorf(graph.ErrShape, "%s is %v, not one element", name, v.Type)
	}
	if !v.DType.IsInteger() {
		return graph.Dim{}, graph.Errorf(graph.ErrShape, "%s is %v, not an integer", name, v.Type)
	}
	if list, ok := v.shortInts(); ok && len(list) == 1 {
		return list[0], nil
	}
	return graph.Unknown(), nil
}

// elementTypeOf returns the element type that an attribute names, def if it is
// not there, and refuses one that is not among those allowed.
func (n *Node) elementTypeOf(name string, def tensor.DType, allowed Types) (tensor.DType, error) {
	if !n.Has(name) {
		return def, nil
	}
	d, err := elementType(n.Int(name, 0))
	if err != nil {
		return d, graph.Errorf(graph.ErrFormat, "attribute %s: %w", name, err)
	}
	if !allowed.Has(d) {
		return d, graph.Errorf(graph.ErrUnsupported, "attribute %s asks for elements of type %v; the operator makes %v", name, d, allowed)
	}
	return d, nil
}

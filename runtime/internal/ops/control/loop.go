package control

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// loop runs a graph repeatedly and carries values from one iteration to the next
// (https://onnx.ai/onnx/operators/onnx__Loop.html).
//
// The body gets the iteration number and the condition in the shape that it declares: a vector of
// one element if it declares an axis, otherwise a scalar.
type loop struct {
	number, condition tensor.Shape
}

const body = "body"

func newLoop(n *op.Node) (op.Op, error) {
	if err := n.Graph(body); err != nil {
		return nil, err
	}
	in := n.Attr(body).Graph.Inputs
	return loop{declaredOne(in, 0), declaredOne(in, 1)}, nil
}

// declaredOne returns the shape of input i of a body, which has one element.
func declaredOne(in []*graph.Value, i int) tensor.Shape {
	if i < len(in) && len(in[i].Type.Dims) > 0 {
		return tensor.Shape{1}
	}
	return tensor.Shape{}
}

func (o loop) BodyTypes(_ string, in []*op.Value) ([]graph.Type, bool) {
	types := []graph.Type{
		graph.TensorOf(tensor.I64, graph.DimsOf(o.number)),
		graph.TensorOf(tensor.Bool, graph.DimsOf(o.condition)),
	}
	return append(types, carriedTypes(in[2:])...), true
}

// carriedTypes returns the types of values that iterations replace. Their extents may change, so
// they are left out.
func carriedTypes(in []*op.Value) []graph.Type {
	types := make([]graph.Type, len(in))
	for i, v := range in {
		if v != nil {
			types[i] = v.Type
			types[i].Dims = nil
		}
	}
	return types
}

// inferBody infers the outputs of a body from the types of its inputs.
func inferBody(c *op.Infer, types []graph.Type) ([]*op.Value, error) {
	in := make([]*op.Value, len(types))
	for i, t := range types {
		in[i] = &op.Value{Type: t}
	}
	return c.Body(body, in)
}

// FirstTypes returns the types of BodyTypes with the first extents of the carried values.
func (o loop) FirstTypes(_ string, in []*op.Value) []graph.Type {
	types, _ := o.BodyTypes(body, in)
	for i, v := range in[2:] {
		if v != nil {
			types[2+i] = v.Type
		}
	}
	return types
}

func (o loop) Infer(c *op.Infer) error {
	types, _ := o.BodyTypes(body, c.In)
	out, err := inferBody(c, types)
	if err != nil {
		return err
	}
	carried := len(types) - 2
	if len(out) != 1+len(c.Out) || len(c.Out) < carried {
		return graph.Errorf(graph.ErrFormat,
			"the body has %d outputs; with %d carried values and %d outputs of the node it must have %d",
			len(out), carried, len(c.Out), 1+len(c.Out))
	}
	for i := range c.Out {
		t := out[1+i].Type
		if i < carried {
			t.Dims = nil
			if t.Kind == graph.SequenceType && t.Elem != nil && t.Elem.DType == tensor.Invalid {
				t = types[2+i]
			}
		} else {
			t = stacked(t, 0)
		}
		c.SetType(i, t)
	}
	return nil
}

// stacked returns the type of tensors of type t stacked along a new axis.
func stacked(t graph.Type, axis int) graph.Type {
	if t.Dims == nil || axis > len(t.Dims) {
		return graph.TensorOf(t.DType, nil)
	}
	dims := append(graph.Dims{}, t.Dims[:axis]...)
	dims = append(dims, graph.Unknown())
	return graph.TensorOf(t.DType, append(dims, t.Dims[axis:]...))
}

func (o loop) Run(c *op.Run) error {
	trips, more := int64(math.MaxInt64), true
	var err error
	if c.Has(0) {
		if trips, err = tripCount(c.In[0]); err != nil {
			return err
		}
	}
	if c.Has(1) {
		if more, err = truth(c.In[1]); err != nil {
			return err
		}
	}
	number, err := spare(c, tensor.I64, o.number)
	if err != nil {
		return err
	}
	condition, err := spare(c, tensor.Bool, o.condition)
	if err != nil {
		return err
	}
	in := append([]tensor.Value{number, condition}, c.Values[2:]...)
	state := in[2:]
	piles := make([]pile, len(c.Out)-len(state))
	var runs op.Repeat
	grow := growth{shapes: make([]tensor.Shape, len(state))}
	for i := int64(0); i < trips && more; i++ {
		if runs == nil {
			if runs, err = c.Repeat(body); err != nil {
				return err
			}
		}
		tensor.View[int64](number)[0], tensor.View[bool](condition)[0] = i, more
		if more, err = o.iterate(c, runs, in, piles, trips); err != nil {
			return fmt.Errorf("iteration %d: %w", i, err)
		}
		if err = grow.watch(runs, in, trips-i-1); err != nil {
			return fmt.Errorf("iteration %d: %w", i, err)
		}
	}
	for i, v := range state {
		if v == nil && grow.grown {
			if v, err = runs.State(2 + i); err != nil {
				return err
			}
		}
		c.Set(i, v)
	}
	for k := range piles {
		t, err := piles[k].tensor(c, func() graph.Type { return c.BodyType(body, 1+len(state)+k) })
		if err != nil {
			return fmt.Errorf("output %d: %w", len(state)+k, err)
		}
		c.SetSole(len(state)+k, t)
	}
	return nil
}

// iterate runs the body, replaces the states among its inputs, and returns its condition.
func (loop) iterate(c *op.Run, runs op.Repeat, in []tensor.Value, piles []pile, trips int64) (more bool, err error) {
	out, err := runs.Run(in)
	if err != nil {
		return false, err
	}
	cond, _ := out[0].(*tensor.Tensor)
	if more, err = truth(cond); err != nil {
		return false, err
	}
	states := copy(in[2:], out[1:])
	for k, v := range out[1+states:] {
		if err := piles[k].add(c, v, trips); err != nil {
			return false, err
		}
	}
	return more, nil
}

// spare returns a tensor that the operator may overwrite between runs of a graph.
func spare(c *op.Run, d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error) {
	b, err := c.Mem.Scratch(d.Bytes(shape.Len()))
	if err != nil {
		return nil, err
	}
	return tensor.Borrow(d, shape, b)
}

// extend appends v to list and counts memory that it allocates.
func extend[T any](c *op.Run, list []T, v T) ([]T, error) {
	if len(list) == cap(list) {
		grown := slices.Grow(list, 1)
		if err := c.Mem.Reserve(int(unsafe.Sizeof(v)) * (cap(grown) - cap(list))); err != nil {
			return nil, err
		}
		list = grown
	}
	return append(list, v), nil
}

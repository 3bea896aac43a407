package op

import (
	"errors"
	"fmt"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Eval computes one node outside any plan, for constant folding and tests. In
// has nil where an input is left out. Every call prepares the operator anew.
func Eval(r *Registry, n *graph.Node, isa bindings.ISA, pool *bindings.Pool, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	o, row, err := r.New(n)
	if err != nil {
		return nil, err
	}
	values := Values(in)
	if err := row.CheckTypes(values); err != nil {
		return nil, err
	}
	if p, ok := o.(Preparer); ok {
		packs := NewPacks()
		defer packs.Close()
		prep := &Prepare{In: in, DTypes: DTypes(values), ISA: isa, Packs: packs}
		if err := Ready(p, prep); err != nil {
			return nil, err
		}
	}
	out, err := InferOutputs(o, n, values)
	if err != nil {
		return nil, err
	}
	return Compute(o, row, n, isa, pool, in, out)
}

// ErrReserve says that a node outside any plan took too much memory beside its
// outputs, as one may that joins strings; in a plan the run's limit decides.
var ErrReserve = errors.New("takes too much memory beside its outputs")

// reserveLimit bounds what a node outside any plan may Reserve.
const reserveLimit = 64 << 20

// Compute runs a prepared operator once on tensors in Go's heap; out is what
// InferOutputs said of them.
func Compute(o Op, row *Row, n *graph.Node, isa bindings.ISA, pool *bindings.Pool, in []*tensor.Tensor, out []*Value) ([]*tensor.Tensor, error) {
	aligned := make([]*tensor.Tensor, len(in))
	for i, t := range in {
		if t != nil {
			aligned[i] = t.Aligned()
		}
	}
	half, err := bindings.Select("half", isa)
	if err != nil {
		return nil, err
	}
	mem := &heap{out: make([]*tensor.Tensor, len(n.Outputs))}
	c := &Run{In: aligned, Out: mem.out, Made: make([]tensor.Value, len(mem.out)), Pool: pool, Half: half, Mem: mem, Node: n}
	for _, t := range aligned {
		c.Values = append(c.Values, Of(t))
	}
	for i, v := range out {
		shape, ok := v.Dims.Concrete()
		if n.Outputs[i] == "" || !ok || row.Makes {
			continue
		}
		var err error
		if i == 0 && row.View {
			c.Out[0], err = aligned[0].Reshape(shape)
		} else {
			_, err = mem.Output(i, v.DType, shape)
		}
		if err != nil {
			return nil, err
		}
	}
	if row.View && len(n.Outputs) == 1 {
		return c.Out, nil
	}
	if err := Execute(o, c); err != nil {
		return nil, err
	}
	for i, made := range c.Made {
		if made != nil {
			c.Out[i], _ = made.(*tensor.Tensor)
		}
		if c.Out[i] == nil && n.Outputs[i] != "" {
			return nil, fmt.Errorf("output %d was not computed as a tensor", i)
		}
	}
	return c.Out, nil
}

// Of is t as a value; a tensor that is not there is no value.
func Of(t *tensor.Tensor) tensor.Value {
	if t == nil {
		return nil
	}
	return t
}

// Values describes tensors that are there; nil stays nil.
func Values(in []*tensor.Tensor) []*Value {
	list := make([]*Value, len(in))
	for i, t := range in {
		if t != nil {
			list[i] = Known(t)
		}
	}
	return list
}

// Known describes a value that is there.
func Known(v tensor.Value) *Value {
	t := &Value{Type: TypeOf(v)}
	t.Const, _ = v.(*tensor.Tensor)
	return t
}

// TypeOf is the type of a value; that of its first element serves for a
// sequence.
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

// DTypes returns the element types of values; Invalid where there is none.
func DTypes(in []*Value) []tensor.DType {
	list := make([]tensor.DType, len(in))
	for i, v := range in {
		if v != nil {
			list[i] = v.DType
		}
	}
	return list
}

// InferOutputs runs the shape rule and checks what it set. Integer contents that
// are known in full become constants.
func InferOutputs(o Op, n *graph.Node, in []*Value) (out []*Value, err error) {
	return InferWith(o, n, &Infer{In: in})
}

// InferWith is InferOutputs with the bodies of control flow at hand.
func InferWith(o Op, n *graph.Node, c *Infer) (out []*Value, err error) {
	defer guard(&err)
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
				return nil, graph.Mark(graph.ErrShape, "output %d: %w", i, err)
			}
		}
	}
	settle(c.Out)
	return c.Out, nil
}

// settle turns integer contents that are known in full into constants.
func settle(values []*Value) {
	for _, v := range values {
		shape, ok := v.Dims.Concrete()
		if v.Const == nil && v.Ints != nil && ok && shape.Len() == len(v.Ints) {
			v.Const = integerTensor(v.DType, shape, v.Ints)
		}
	}
}

// integerTensor returns a tensor of the elements, or nil if one of them is no number
// or does not fit the type.
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

// heap is Memory outside any arena.
type heap struct {
	out      []*tensor.Tensor
	reserved int
}

func (h *heap) Scratch(n int) ([]byte, error) { return tensor.New(tensor.U8, n).Bytes(), nil }

func (h *heap) Reserve(n int) error {
	if h.reserved += n; h.reserved > reserveLimit {
		return ErrReserve
	}
	return nil
}

func (h *heap) Output(i int, d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error) {
	if err := shape.Check(); err != nil {
		return nil, err
	}
	if i >= len(h.out) {
		return nil, errors.New("the node has fewer outputs")
	}
	h.out[i] = tensor.New(d, shape...)
	return h.out[i], nil
}

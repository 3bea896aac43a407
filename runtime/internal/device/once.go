package device

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Reserve is the usual limit of a node outside any plan: the bytes that it may take besides its
// outputs.
const Reserve = 64 << 20

// Once computes one node outside any plan.
type Once struct {
	Device Device
	// New allocates outputs and scratch; nil allocates from Go's heap.
	New func(d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error)
	// Limit bounds the bytes that the node may take besides its outputs; 0 means no limit.
	Limit int
	// Stop, when set, ends the node with op.ErrStopped; nil means never.
	Stop Flag
	// Over is the input, counted from 1, with the memory that output 0 overwrites if the step
	// allows it; 0 for none.
	Over int
	// Variable binds the node as if its inputs were not constant, unless the device needs their
	// elements. Constant, if it is not nil, reports the inputs that stay constant.
	Variable bool
	Constant func(i int) bool
}

// ErrReserve is the error of a node outside any plan that takes too much memory besides its
// outputs, such as one that joins strings. Within a plan, the run's limit applies instead.
var ErrReserve = errors.New("takes too much memory beside its outputs")

// Eval computes the outputs of a node from inputs in Go's heap. A nil input is left out.
func (e Once) Eval(r *op.Registry, n *graph.Node, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	o, row, err := r.New(n)
	if err != nil {
		return nil, err
	}
	values := kit.Values(in)
	if err := row.CheckTypes(values); err != nil {
		return nil, err
	}
	out, err := kit.InferOutputs(o, n, values)
	if err != nil {
		return nil, err
	}
	return e.Compute(o, row, n, in, out)
}

// Compute is Eval of an operator with inferred outputs.
func (e Once) Compute(
	o op.Op, row *op.Row, n *graph.Node, in []*tensor.Tensor, out []*op.Value,
) ([]*tensor.Tensor, error) {
	x := &once{Once: e, node: n, row: row, in: make([]*tensor.Tensor, len(in)),
		out: make([]*tensor.Tensor, len(n.Outputs))}
	if !slices.ContainsFunc(n.Outputs, func(name string) bool { return name != "" }) {
		return x.out, nil // no plan binds such a node
	}
	for i, t := range in {
		if t != nil {
			x.in[i] = t.Aligned()
		}
	}
	if row.View && len(n.Outputs) == 1 {
		return x.out, x.outputs(out, nil)
	}
	step, err := e.bindKnown(&Binding{Op: o, Row: row, Node: n, In: kit.Values(x.in), Out: named(n, out)}, x.in)
	if err != nil {
		return nil, err
	}
	if err := x.outputs(out, step); err != nil {
		return nil, err
	}
	if step.Commands != nil {
		return x.out, x.run(step)
	}
	return x.out, x.call(step)
}

// bindKnown binds a node. Its inputs are constant as Variable and Constant say, or because the
// device needs their elements.
func (e Once) bindKnown(b *Binding, in []*tensor.Tensor) (*Step, error) {
	for i, v := range b.In {
		if v != nil && e.Variable && (e.Constant == nil || !e.Constant(i)) {
			v.Const = nil
		}
	}
	for {
		step, err := e.bind(b)
		var need *NeedValue
		if !errors.As(err, &need) || b.In[need.Input].Const != nil {
			return step, err
		}
		b.In[need.Input].Const = in[need.Input]
	}
}

// bind makes the step of a node, on the host if the device refuses.
func (e Once) bind(b *Binding) (*Step, error) {
	if b.Row.DynamicOutputs {
		return Host(b)
	}
	for _, v := range b.Out {
		if v == nil || v.Kind != graph.TensorType {
			continue
		}
		if _, ok := v.Dims.Concrete(); !ok {
			return Host(b)
		}
	}
	step, err := e.Device.Bind(b)
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return HostAfter(b, refusal)
	}
	return step, err
}

func named(n *graph.Node, out []*op.Value) []*op.Value {
	list := make([]*op.Value, len(out))
	for i, v := range out {
		if n.Outputs[i] != "" {
			list[i] = v
		}
	}
	return list
}

// Host returns the step of a node that runs in Go.
func Host(b *Binding) (*Step, error) { return HostAfter(b, nil) }

// HostAfter is Host for a node that a device has refused.
func HostAfter(b *Binding, refusal *Refusal) (*Step, error) {
	o, ok := b.Op.(op.Runner)
	if !ok && refusal != nil {
		return nil, graph.Errorf(graph.ErrUnsupported, "no device computes it: %w", refusal)
	}
	if !ok {
		return nil, graph.Errorf(graph.ErrUnsupported, "no device computes it for extents that only a run finds out")
	}
	call := o.Run
	if row := b.Row; row.Heap > 0 {
		call = func(c *op.Run) error { return row.Counted(c, o.Run) }
	}
	return &Step{Binder: "host", InPlace: b.Row.InPlace, Call: call}, nil
}

// once is a node during its computation.
type once struct {
	Once
	node     *graph.Node
	row      *op.Row
	in, out  []*tensor.Tensor
	reserved int
}

func (x *once) make(d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error) {
	if err := shape.Check(); err != nil {
		return nil, err
	}
	if x.New != nil {
		return x.New(d, shape)
	}
	return tensor.New(d, shape...), nil
}

// outputs makes the outputs of known shape.
func (x *once) outputs(out []*op.Value, step *Step) (err error) {
	for i, v := range out {
		shape, ok := v.Dims.Concrete()
		if x.node.Outputs[i] == "" || !ok || x.row.DynamicOutputs {
			continue
		}
		switch {
		case i == 0 && x.row.View:
			x.out[0], err = x.in[0].Reshape(shape)
		case i == 0 && x.Over > 0 && slices.Contains(step.InPlace, x.Over-1):
			x.out[0], err = tensor.FromBytes(v.DType, shape, x.in[x.Over-1].Bytes())
		default:
			x.out[i], err = x.make(v.DType, shape)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// run runs the commands of a step. Base 1 is scratch, base 2+i is input i, and the bases after
// these are the outputs.
func (x *once) run(step *Step) error {
	if len(step.Commands) == 0 {
		return nil
	}
	list := make([]Recorded, len(step.Commands))
	for i := range step.Commands {
		list[i] = Record(&step.Commands[i], func(o Operand) int {
			if o.Place == In {
				return 2 + o.Index
			}
			return 2 + len(x.in) + o.Index
		}, 1, AlignUp(step.Temp))
	}
	s, err := x.Device.Record(list)
	if err != nil {
		return err
	}
	defer s.Free()
	scratch, err := x.Scratch(step.Scratch())
	if err != nil {
		return err
	}
	s.Rebase(1, scratch)
	pin := Pinner{}
	defer pin.Unpin()
	pin.Pin(unsafe.Pointer(unsafe.SliceData(scratch)))
	for i, t := range x.in {
		if t != nil {
			pin.Pin(t.Pointer())
			s.Rebase(2+i, t.Bytes())
		}
	}
	for i, t := range x.out {
		if t != nil {
			pin.Pin(t.Pointer())
			s.Rebase(2+len(x.in)+i, t.Bytes())
		}
	}
	done, err := s.Run(x.Stop, false)
	if err == nil && done < len(list) {
		err = op.ErrStopped
	}
	return err
}

// call runs a step in Go.
func (x *once) call(step *Step) error {
	c := &op.Run{In: x.in, Out: x.out, Made: make([]tensor.Value, len(x.out)), Mem: x, Node: x.node}
	if x.Stop != nil {
		c.Stop = x.Stop
	}
	for _, t := range x.in {
		var v tensor.Value
		if t != nil {
			v = t
		}
		c.Values = append(c.Values, v)
	}
	if err := guard.Call(func() error { return step.Call(c) }); err != nil {
		return err
	}
	for i, made := range c.Made {
		if made != nil {
			x.out[i], _ = made.(*tensor.Tensor)
		}
		if x.out[i] == nil && x.node.Outputs[i] != "" {
			return fmt.Errorf("output %d was not computed as a tensor", i)
		}
	}
	return nil
}

// Scratch returns n bytes.
func (x *once) Scratch(n int) ([]byte, error) {
	if err := x.Reserve(n); err != nil {
		return nil, err
	}
	t, err := x.make(tensor.U8, tensor.Shape{n})
	if err != nil {
		return nil, err
	}
	return t.Bytes(), nil
}

// Reserve counts n bytes.
func (x *once) Reserve(n int) error {
	if x.reserved += n; x.Limit > 0 && x.reserved > x.Limit {
		return ErrReserve
	}
	return nil
}

// Output makes output i.
func (x *once) Output(i int, d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error) {
	if i >= len(x.out) {
		return nil, errors.New("the node has fewer outputs")
	}
	t, err := x.make(d, shape)
	if err == nil {
		x.out[i] = t
	}
	return t, err
}

// Tensor makes a tensor.
func (x *once) Tensor(d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error) {
	if err := x.Reserve(tensor.SizeOf(d, shape)); err != nil {
		return nil, err
	}
	return x.make(d, shape)
}

// Record resolves the operands of a command to bases. base returns the bases of inputs and outputs.
// scratch is the base of scratch, own the offset of the command's own scratch from it.
func Record(c *Command, base func(o Operand) int, scratch, own int) Recorded {
	r := Recorded{Command: c, Bases: make([]int, len(c.Operands)), Offsets: make([]graph.Dim, len(c.Operands)),
		Scratch: Slot{scratch, own}}
	for i, o := range c.Operands {
		r.Offsets[i] = o.Offset
		switch o.Place {
		case In, Out:
			r.Bases[i] = base(o)
		case Temp:
			r.Bases[i] = scratch
		}
	}
	return r
}

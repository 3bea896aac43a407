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

// truth returns the value of a condition: a bool tensor of one element.
func truth(t *tensor.Tensor) (bool, error) {
	if t == nil || t.DType() != tensor.Bool || t.Len() != 1 {
		return false, graph.Errorf(graph.ErrShape, "condition is %v, not one bool", t)
	}
	return t.Bytes()[0] != 0, nil
}

// tripCount returns the value of a trip count: an int64 tensor of one element.
func tripCount(t *tensor.Tensor) (int64, error) {
	if t.DType() != tensor.I64 || t.Len() != 1 {
		return 0, graph.Errorf(graph.ErrShape, "trip count is %v, not one int64", t)
	}
	return tensor.View[int64](t.Aligned())[0], nil
}

// branch is If: one of two graphs without inputs runs
// (https://onnx.ai/onnx/operators/onnx__If.html).
type branch struct{}

const (
	thenBranch = "then_branch"
	elseBranch = "else_branch"
)

func newBranch(n *op.Node) (op.Op, error) {
	if err := n.Graph(thenBranch); err != nil {
		return nil, err
	}
	return branch{}, n.Graph(elseBranch)
}

// BodyTypes leaves out the graph that a constant condition never runs.
func (branch) BodyTypes(attr string, in []*op.Value) ([]graph.Type, bool) {
	if in[0] == nil || in[0].Const == nil {
		return nil, true
	}
	yes, err := truth(in[0].Const)
	return nil, err != nil || yes == (attr == thenBranch)
}

// Infer joins what both graphs give. A graph that does not fit the extents at
// hand is one that the condition guards against, so it has no say.
func (b branch) Infer(c *op.Infer) error {
	var known [][]*op.Value
	var failure error
	for _, attr := range []string{thenBranch, elseBranch} {
		if _, used := b.BodyTypes(attr, c.In); !used {
			continue
		}
		out, err := c.Body(attr, nil)
		switch {
		case err != nil:
			failure = fmt.Errorf("graph %q: %w", attr, err)
		case len(out) != len(c.Out):
			return graph.Errorf(graph.ErrFormat, "graph %q has %d outputs and the node %d", attr, len(out), len(c.Out))
		default:
			known = append(known, out)
		}
	}
	if known == nil {
		return failure
	}
	for i, v := range known[0] {
		t := v.Type
		if len(known) > 1 {
			var err error
			if t, err = joinTypes(t, known[1][i].Type); err != nil {
				return fmt.Errorf("output %d: %w", i, err)
			}
		}
		c.SetType(i, t)
	}
	return nil
}

// joinTypes is the type of a value that is of one of two types.
func joinTypes(a, b graph.Type) (graph.Type, error) {
	if a.Kind != b.Kind {
		return a, graph.Errorf(graph.ErrShape, "one graph gives %v and the other %v", a, b)
	}
	if a.Kind != graph.TensorType {
		return a, nil
	}
	if a.DType != b.DType {
		return a, graph.Errorf(graph.ErrShape, "one graph gives %v and the other %v", a, b)
	}
	if len(a.Dims) != len(b.Dims) || a.Dims == nil || b.Dims == nil {
		return graph.TensorOf(a.DType, nil), nil
	}
	dims := make(graph.Dims, len(a.Dims))
	for i, d := range a.Dims {
		if dims[i] = d; !d.Same(b.Dims[i]) {
			dims[i] = graph.Unknown()
		}
	}
	return graph.TensorOf(a.DType, dims), nil
}

func (branch) Run(c *op.Run) error {
	yes, err := truth(c.In[0])
	if err != nil {
		return err
	}
	attr := elseBranch
	if yes {
		attr = thenBranch
	}
	out, err := c.Body(attr, nil)
	for i, v := range out {
		c.Set(i, v)
	}
	return err
}

// loop runs a graph again and again, with values carried from one iteration to
// the next (https://onnx.ai/onnx/operators/onnx__Loop.html).
//
// The body is given its number and its condition in the shape that it declares: as a vector of
// one element if it declares an axis, else as a scalar.
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

// declaredOne returns the shape of the one element that input i of a body is.
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

// carriedTypes are the types of values that iterations replace: extents may
// change.
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

// FirstTypes are those of BodyTypes with the extents of the values that are carried in.
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
	in := make([]*op.Value, len(types))
	for i, t := range types {
		in[i] = &op.Value{Type: t}
	}
	out, err := c.Body(body, in)
	if err != nil {
		return err
	}
	carried := len(types) - 2
	if len(out) != 1+len(c.Out) || len(c.Out) < carried {
		return graph.Errorf(graph.ErrFormat, "the body has %d outputs; with %d carried values and %d outputs of the node it must have %d",
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

// stacked is the type of tensors of type t put side by side along a new axis.
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
	state := append([]tensor.Value{}, c.Values[2:]...)
	scans := make([][]*tensor.Tensor, len(c.Out)-len(state))
	for i := int64(0); i < trips && more; i++ {
		number, condition := tensor.New(tensor.I64, o.number...), tensor.New(tensor.Bool, o.condition...)
		tensor.View[int64](number)[0], tensor.View[bool](condition)[0] = i, more
		in := append([]tensor.Value{number, condition}, state...)
		out, err := c.Body(body, in)
		if err != nil {
			return fmt.Errorf("iteration %d: %w", i, err)
		}
		cond, _ := out[0].(*tensor.Tensor)
		if more, err = truth(cond); err != nil {
			return fmt.Errorf("iteration %d: %w", i, err)
		}
		c.Release(out[0])
		if i > 0 {
			c.Release(state...)
		}
		state = append(state[:0], out[1:1+len(state)]...)
		if err := collect(c, scans, out[1+len(state):]); err != nil {
			return fmt.Errorf("iteration %d: %w", i, err)
		}
	}
	for i, v := range state {
		c.Set(i, v)
	}
	for k, list := range scans {
		t, err := stack(c, list, 0, c.BodyType(body, 1+len(state)+k))
		if err != nil {
			return fmt.Errorf("output %d: %w", len(state)+k, err)
		}
		c.Set(len(state)+k, t)
		scans[k] = nil
		releaseAll(c, list)
	}
	return nil
}

// releaseAll is Release of tensors.
func releaseAll(c *op.Run, list []*tensor.Tensor) {
	for _, t := range list {
		c.Release(t)
	}
}

// collect adds what one iteration gives to the lists of outputs that stack.
func collect(c *op.Run, lists [][]*tensor.Tensor, values []tensor.Value) error {
	for k, v := range values {
		t, ok := v.(*tensor.Tensor)
		if !ok {
			return graph.Errorf(graph.ErrShape, "%v cannot be stacked", v)
		}
		var err error
		if lists[k], err = extend(c, lists[k], t); err != nil {
			return err
		}
	}
	return nil
}

// extend is append whose memory counts.
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

var controlRows = []op.Row{
	{Name: "If", Since: []int{1, 11, 13, 16, 19, 21, 23, 24, 25}, In: [2]int{1, 1}, Out: [2]int{1, op.Any}, Types: op.Boolean, DynamicOutputs: true, New: newBranch},
	{Name: "Loop", Since: []int{1, 11, 13, 16, 19, 21, 23, 24, 25}, In: [2]int{2, op.Any}, Optional: op.Inputs(0, 1), Out: [2]int{1, op.Any}, DynamicOutputs: true, New: newLoop},
	{Name: "Scan", Since: []int{8, 9, 11, 16, 19, 21, 23, 24, 25}, In: [2]int{1, op.Any}, Optional: op.Inputs(0), Later: []op.Arity{{Since: 9, In: [2]int{1, op.Any}}},
		Out: [2]int{1, op.Any}, DynamicOutputs: true, New: newScan},
}

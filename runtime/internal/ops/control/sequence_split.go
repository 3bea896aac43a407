package control

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// splitToSequence cuts a tensor along an axis
// (https://onnx.ai/onnx/operators/onnx__SplitToSequence.html).
type splitToSequence struct {
	axis int
	keep bool
}

func newSplitToSequence(n *op.Node) (op.Op, error) {
	return splitToSequence{axis: n.Int("axis", 0), keep: n.Bool("keepdims", true)}, nil
}

func (splitToSequence) Infer(c *op.Infer) error {
	c.SetType(0, kit.SequenceOf(graph.TensorOf(c.In[0].DType, nil)))
	return nil
}

func (o splitToSequence) Run(c *op.Run) error {
	t := c.In[0]
	axis, err := op.NormAxis(o.axis, len(t.Shape()))
	if err != nil {
		return err
	}
	count, sizes := t.Shape()[axis], []int(nil)
	if c.Has(1) {
		if sizes, err = o.sizes(c, count); err != nil {
			return err
		}
		count = len(sizes)
	}
	if err := c.Mem.Reserve(tensor.SequenceBytes(count)); err != nil {
		return err
	}
	cut, err := newCutter(c, t, axis)
	if err != nil {
		return err
	}
	items := make([]tensor.Value, count)
	at := 0
	for i := range items {
		size := 1
		if sizes != nil {
			size = sizes[i]
		}
		if items[i], err = cut.part(c, at, size, o.keep || sizes != nil); err != nil {
			return err
		}
		at += size
	}
	c.Set(0, &tensor.Sequence{Items: items})
	return nil
}

// cutter returns parts of a tensor along an axis. Contiguous parts share its memory; others are
// copies.
type cutter struct {
	whole *tensor.Tensor
	axis  int
	views bool
}

// newCutter returns the cutter of t. If t's owner reuses the memory, it cuts a copy.
func newCutter(c *op.Run, t *tensor.Tensor, axis int) (cutter, error) {
	whole := t.DType() == tensor.String || kit.Width(t.DType()) > 0
	if !whole || t.IsDerived() || t.Shape()[:axis].Len() != 1 {
		return cutter{t, axis, false}, nil
	}
	if t.IsBorrowed() {
		own, err := newTensor(c, t.DType(), t.Shape())
		if err != nil {
			return cutter{}, err
		}
		copy(own.Bytes(), t.Bytes())
		copy(own.Strings(), t.Strings())
		t = own
	}
	return cutter{t, axis, true}, nil
}

// part returns n indices from at on. If keep is false, it drops the axis.
func (k cutter) part(c *op.Run, at, n int, keep bool) (*tensor.Tensor, error) {
	shape := k.whole.Shape().Clone()
	if shape[k.axis] = n; !keep {
		shape = slices.Delete(shape, k.axis, k.axis+1)
	}
	if k.views {
		if err := c.Mem.Reserve(tensor.SizeOf(k.whole.DType(), tensor.Shape{0})); err != nil {
			return nil, err
		}
		return k.whole.Part(at*k.whole.Shape()[k.axis+1:].Len(), shape), nil
	}
	p, err := newTensor(c, k.whole.DType(), shape)
	if err == nil {
		slab{k.whole, k.axis, at, n}.copy(p, false)
	}
	return p, err
}

// sizes returns the lengths of the parts. A vector lists them. A scalar gives equal lengths, with
// the rest in the last part.
func (splitToSequence) sizes(c *op.Run, n int) ([]int, error) {
	in := c.In[1]
	list, err := op.Ints(in)
	if err != nil {
		return nil, err
	}
	if len(in.Shape()) > 0 {
		return list, array.CheckSizes(list, n)
	}
	size := list[0]
	if size < 1 {
		return nil, graph.Errorf(graph.ErrShape, "parts of %d elements", size)
	}
	if size > n {
		size = max(n, 1)
	}
	count := (n + size - 1) / size
	if err := c.Mem.Reserve(int(unsafe.Sizeof(n)) * count); err != nil {
		return nil, err
	}
	sizes := make([]int, 0, count)
	for ; n > 0; n -= size {
		sizes = append(sizes, min(size, n))
	}
	return sizes, nil
}

// concatFromSequence joins the elements of a sequence
// (https://onnx.ai/onnx/operators/onnx__ConcatFromSequence.html).
type concatFromSequence struct {
	axis    int
	newAxis bool
}

func newConcatFromSequence(n *op.Node) (op.Op, error) {
	if !n.Has("axis") {
		return nil, graph.Errorf(graph.ErrFormat, "attribute axis is missing")
	}
	return concatFromSequence{axis: n.Int("axis", 0), newAxis: n.Bool("new_axis", false)}, nil
}

func (concatFromSequence) Infer(c *op.Infer) error {
	elem, err := elemOf(c.In[0])
	c.Set(0, elem.DType, nil)
	return err
}

func (o concatFromSequence) Run(c *op.Run) error {
	items, err := sequenceItems(c, 0)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return graph.Errorf(graph.ErrShape, "the sequence is empty, so the shape of the output is not known")
	}
	list := make([]*tensor.Tensor, len(items))
	for i, v := range items {
		t, ok := v.(*tensor.Tensor)
		if !ok {
			return graph.Errorf(graph.ErrShape, "element %d is %v, no tensor", i, v)
		}
		list[i] = t
	}
	var out *tensor.Tensor
	if o.newAxis {
		out, err = stack(c, list, o.axis, graph.Type{})
	} else {
		var axis int
		if axis, err = op.NormAxis(o.axis, len(list[0].Shape())); err == nil {
			out, err = join(c, list, axis)
		}
	}
	if err == nil {
		c.SetSole(0, out)
	}
	return err
}

// sequenceMap runs a graph on every element of sequences of one length. All runs share the inputs
// that are tensors (https://onnx.ai/onnx/operators/onnx__SequenceMap.html).
type sequenceMap struct{}

func newSequenceMap(n *op.Node) (op.Op, error) { return sequenceMap{}, n.Graph(body) }

func (sequenceMap) BodyTypes(_ string, in []*op.Value) ([]graph.Type, bool) {
	types := carriedTypes(in)
	for i, v := range in {
		if v != nil && v.Kind == graph.SequenceType && v.Elem != nil {
			types[i] = *v.Elem
		}
	}
	return types, true
}

func (o sequenceMap) Infer(c *op.Infer) error {
	types, _ := o.BodyTypes(body, c.In)
	out, err := inferBody(c, types)
	if err != nil {
		return err
	}
	if len(out) != len(c.Out) {
		return graph.Errorf(graph.ErrFormat, "the body has %d outputs and the node %d", len(out), len(c.Out))
	}
	for i, v := range out {
		elem := v.Type
		elem.Dims = nil
		c.SetType(i, kit.SequenceOf(elem))
	}
	return nil
}

func (sequenceMap) Run(c *op.Run) error {
	first, err := sequenceItems(c, 0)
	if err != nil {
		return err
	}
	results := make([][]tensor.Value, len(c.Out))
	for k := range first {
		in := slices.Clone(c.Values)
		for i, v := range in {
			s, ok := v.(*tensor.Sequence)
			if !ok {
				continue
			}
			if len(s.Items) != len(first) {
				return graph.Errorf(graph.ErrShape, "sequences have %d and %d elements", len(first), len(s.Items))
			}
			in[i] = s.Items[k]
		}
		out, err := c.Body(body, in)
		if err != nil {
			return fmt.Errorf("element %d: %w", k, err)
		}
		for i, v := range out {
			if results[i], err = extend(c, results[i], v); err != nil {
				return err
			}
		}
	}
	for i, items := range results {
		c.Set(i, &tensor.Sequence{Items: items})
	}
	return nil
}

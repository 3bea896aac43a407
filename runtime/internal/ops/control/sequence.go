package control

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// elemOf returns the element type of a sequence or an optional.
func elemOf(v *op.Value) (graph.Type, error) {
	if v == nil || v.Kind != graph.SequenceType && v.Kind != graph.OptionalType || v.Elem == nil {
		return graph.Type{}, graph.Errorf(graph.ErrShape, "input is not a sequence or an optional")
	}
	return *v.Elem, nil
}

// sequenceItems returns the elements of the sequence at input i.
func sequenceItems(c *op.Run, i int) ([]tensor.Value, error) {
	s, err := sequenceAt(c, i)
	if err != nil {
		return nil, err
	}
	return s.Items, nil
}

// sequenceAt returns the sequence at input i.
func sequenceAt(c *op.Run, i int) (*tensor.Sequence, error) {
	v := c.Values[i]
	if o, ok := v.(*tensor.Optional); ok && o.Item != nil {
		v = o.Item
	}
	s, ok := v.(*tensor.Sequence)
	if !ok {
		return nil, graph.Errorf(graph.ErrShape, "input %d is %v, no sequence", i, c.Values[i])
	}
	return s, nil
}

// readPosition returns the position in input i, within [0,n), or def if it is left out. A negative
// position counts from the end.
func readPosition(c *op.Run, i, n, def int) (int, error) {
	if !c.Has(i) {
		return def, nil
	}
	list, err := op.Ints(c.In[i])
	if err != nil || len(list) != 1 {
		return 0, graph.Errorf(graph.ErrShape, "position is %v, not one integer", c.In[i])
	}
	at := list[0]
	if at < 0 {
		at += n
	}
	if at < 0 || at >= n {
		return 0, graph.Errorf(graph.ErrShape, "position %d is outside of [%d,%d]", list[0], -n, n-1)
	}
	return at, nil
}

// sequenceOp is an operator on sequences, given by two functions.
type sequenceOp struct {
	infer func(c *op.Infer) error
	run   func(c *op.Run) error
}

func (o sequenceOp) Infer(c *op.Infer) error { return o.infer(c) }

func (o sequenceOp) Run(c *op.Run) error { return o.run(c) }

func newSequenceOp(infer func(c *op.Infer) error, run func(c *op.Run) error) func(*op.Node) (op.Op, error) {
	return func(*op.Node) (op.Op, error) { return sequenceOp{infer, run}, nil }
}

// sameSequence sets output 0 to the type of the sequence at input 0. If its element type is
// unknown, it takes input 1's.
func sameSequence(c *op.Infer) error {
	elem, err := elemOf(c.In[0])
	if err != nil {
		return err
	}
	if elem.DType == tensor.Invalid && len(c.In) > 1 && c.In[1] != nil && c.In[1].DType != tensor.I64 {
		elem = graph.TensorOf(c.In[1].DType, nil)
	}
	elem.Dims = nil
	c.SetType(0, kit.SequenceOf(elem))
	return nil
}

func inferConstruct(c *op.Infer) error {
	for _, v := range c.In {
		if v.Kind != graph.TensorType || v.DType != c.In[0].DType {
			return graph.Errorf(graph.ErrShape, "elements of one sequence are %v and %v", c.In[0].Type, v.Type)
		}
	}
	c.SetType(0, kit.SequenceOf(graph.TensorOf(c.In[0].DType, nil)))
	return nil
}

func runConstruct(c *op.Run) error {
	if err := c.Mem.Reserve(tensor.SequenceBytes(len(c.Values))); err != nil {
		return err
	}
	c.Set(0, &tensor.Sequence{Items: slices.Clone(c.Values)})
	return nil
}

func inferAt(c *op.Infer) error {
	elem, err := elemOf(c.In[0])
	c.SetType(0, elem)
	return err
}

func runAt(c *op.Run) error {
	items, err := sequenceItems(c, 0)
	if err != nil {
		return err
	}
	at, err := readPosition(c, 1, len(items), 0)
	if err == nil {
		c.Set(0, items[at])
	}
	return err
}

func runInsert(c *op.Run) error {
	s, err := sequenceAt(c, 0)
	if err != nil {
		return err
	}
	items := s.Items
	at, err := readPosition(c, 2, len(items)+1, len(items))
	if err != nil {
		return err
	}
	if c.In[1] == nil {
		return graph.Errorf(graph.ErrShape, "%v cannot be put into a sequence", c.Values[1])
	}
	// A negative position counts from the end of the sequence before the insertion.
	if c.Has(2) {
		if list, _ := op.Ints(c.In[2]); list[0] < 0 {
			at--
		}
	}
	if at < 0 {
		return graph.Errorf(graph.ErrShape, "position is before the first of %d elements", len(items))
	}
	if err := c.Mem.Reserve(tensor.SequenceBytes(len(items)+1) + tensor.Borrowed(c.Values[1])); err != nil {
		return err
	}
	c.Set(0, s.Insert(at, tensor.Own(c.Values[1])))
	return nil
}

func runErase(c *op.Run) error {
	s, err := sequenceAt(c, 0)
	if err != nil {
		return err
	}
	items := s.Items
	at, err := readPosition(c, 1, len(items), len(items)-1)
	if err != nil {
		return err
	}
	if at < 0 {
		return graph.Errorf(graph.ErrShape, "the sequence is empty")
	}
	if err := c.Mem.Reserve(tensor.SequenceBytes(len(items) - 1)); err != nil {
		return err
	}
	c.Set(0, s.Erase(at))
	return nil
}

func inferLength(c *op.Infer) error {
	_, err := elemOf(c.In[0])
	c.Set(0, tensor.I64, graph.Dims{})
	return err
}

func runLength(c *op.Run) error {
	items, err := sequenceItems(c, 0)
	c.Set(0, kit.Scalar(int64(len(items))))
	return err
}

// emptySequence is SequenceEmpty.
type emptySequence struct{ dtype tensor.DType }

func (o emptySequence) Infer(c *op.Infer) error {
	c.SetType(0, kit.SequenceOf(graph.TensorOf(o.dtype, nil)))
	return nil
}

func (emptySequence) Run(c *op.Run) error {
	c.Set(0, &tensor.Sequence{})
	return nil
}

func newEmptySequence(n *op.Node) (op.Op, error) {
	d, err := n.ElementType("dtype", tensor.F32, nil)
	if err != nil {
		return nil, err
	}
	return emptySequence{d}, nil
}

var sequenceRows = []op.Row{
	{Name: "SequenceConstruct", Since: []int{11}, In: [2]int{1, op.Any}, Out: [2]int{1, 1}, Kinds: true, DynamicOutputs: true, New: newSequenceOp(inferConstruct, runConstruct)},
	{Name: "SequenceEmpty", Since: []int{11}, In: [2]int{0, 0}, Out: [2]int{1, 1}, DynamicOutputs: true, New: newEmptySequence},
	{Name: "SequenceAt", Since: []int{11}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Kinds: true, DynamicOutputs: true, New: newSequenceOp(inferAt, runAt)},
	{Name: "SequenceInsert", Since: []int{11}, In: [2]int{2, 3}, Out: [2]int{1, 1}, Kinds: true, DynamicOutputs: true, New: newSequenceOp(sameSequence, runInsert)},
	{Name: "SequenceErase", Since: []int{11}, In: [2]int{1, 2}, Out: [2]int{1, 1}, Kinds: true, DynamicOutputs: true, New: newSequenceOp(sameSequence, runErase)},
	{Name: "SequenceLength", Since: []int{11}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Kinds: true, DynamicOutputs: true, New: newSequenceOp(inferLength, runLength)},
	{Name: "SequenceMap", Since: []int{17}, In: [2]int{1, op.Any}, Out: [2]int{1, op.Any}, Kinds: true, DynamicOutputs: true, New: newSequenceMap},
	{Name: "SplitToSequence", Since: []int{11, 24}, In: [2]int{1, 2}, Out: [2]int{1, 1}, DynamicOutputs: true, New: newSplitToSequence},
	{Name: "ConcatFromSequence", Since: []int{11}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Kinds: true, DynamicOutputs: true, New: newConcatFromSequence},
}

package array

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// GatherElements sets each output element to the input element at the same index, except that the
// index along Axis comes from input 1.
type GatherElements struct{ Axis int }

func newGatherElements(n *op.Node) (op.Op, error) { return &GatherElements{n.Int("axis", 0)}, nil }

func (o *GatherElements) Infer(c *op.Infer) error {
	c.Set(0, c.In[0].DType, c.In[1].Dims)
	return checkElements(c, o.Axis)
}

// checkElements checks that the indices, input 1, select elements of input 0.
func checkElements(c *op.Infer, axis int) error {
	data, index := c.In[0].Type, c.In[1].Type
	if !op.IsIndex(index.DType) {
		return graph.Errorf(graph.ErrShape, "indices are %v, not int32 or int64", index.DType)
	}
	if data.Dims == nil || index.Dims == nil {
		return nil
	}
	if len(data.Dims) != len(index.Dims) {
		return graph.Errorf(graph.ErrShape, "data is %v and indices %v: they need equally many axes", data, index)
	}
	axis, err := op.NormAxis(axis, len(data.Dims))
	if err != nil {
		return err
	}
	for a, d := range index.Dims {
		n, ok1 := d.Value()
		m, ok2 := data.Dims[a].Value()
		if ok1 && ok2 && a != axis && n > m {
			return graph.Errorf(graph.ErrShape, "indices %v exceed data %v along axis %d", index, data, a)
		}
	}
	return nil
}

// elementOffsets converts the indices along an axis to offsets into the data.
func elementOffsets(c *op.Run, axis int) ([]int64, error) {
	data, index := c.In[0].Shape(), c.In[1].Shape()
	axis, err := op.NormAxis(axis, len(data))
	if err != nil {
		return nil, err
	}
	at, err := c.ScratchInt64s(index.Len())
	if err != nil || len(at) == 0 {
		return nil, err
	}
	if err := normIndices(at, c.In[1], data[axis]); err != nil {
		return nil, err
	}
	steps := data.Strides()
	along := int64(steps[axis])
	axes := make([]kit.StridedAxis, len(data))
	for a, n := range index {
		axes[a] = kit.StridedAxis{N: n, From: steps[a]}
	}
	axes[axis].From = 0
	for a, to := range index.Strides() {
		axes[a].To = to
	}
	kit.EachElement(c.Pace(), axes, 0, 0, func(base, i int) { at[i] = int64(base) + at[i]*along })
	return at, nil
}

func (o *GatherElements) Run(c *op.Run) error {
	at, err := elementOffsets(c, o.Axis)
	if err != nil {
		return err
	}
	kit.GatherBlocks(c.Pace(), c.In[0], c.Out[0], at, 1, c.In[0].Len(), 1)
	return nil
}

// GatherND takes blocks of the input by tuples of indices.
type GatherND struct {
	Batch int // leading axes that data and indices share
}

func newGatherND(n *op.Node) (op.Op, error) {
	o := &GatherND{}
	if n.Since >= 12 {
		o.Batch = n.Int("batch_dims", 0)
	}
	return o, nil
}

// checkTuples checks that the indices, input 1, are tuples into input 0, after batch axes that both
// share. It returns the length of a tuple; ok is false if it is unknown.
func checkTuples(c *op.Infer, batch int) (tuple int, ok bool, err error) {
	data, index := c.In[0].Type, c.In[1].Type
	if !op.IsIndex(index.DType) {
		return 0, false, graph.Errorf(graph.ErrShape, "indices are %v, not int32 or int64", index.DType)
	}
	if data.Dims == nil || index.Dims == nil {
		return 0, false, nil
	}
	q := len(index.Dims)
	if q == 0 || batch < 0 || batch >= q || batch > len(data.Dims) {
		return 0, false, graph.Errorf(graph.ErrShape, "indices are %v and data %v, with %d axes in common", index, data,
			batch)
	}
	for a := range batch {
		if _, ok := kit.JoinDim(data.Dims[a], index.Dims[a]); !ok {
			return 0, false, graph.Errorf(graph.ErrShape, "indices are %v and data %v, with %d axes in common", index, data,
				batch)
		}
	}
	if tuple, ok = index.Dims[q-1].Value(); !ok {
		return 0, false, nil
	}
	if tuple < 1 || tuple > len(data.Dims)-batch {
		return 0, false, graph.Errorf(graph.ErrShape, "indices %v have tuples of %d numbers for data %v", index, tuple, data)
	}
	return tuple, true, nil
}

func (o *GatherND) Infer(c *op.Infer) error {
	c.Set(0, c.In[0].DType, nil)
	tuple, ok, err := checkTuples(c, o.Batch)
	if err != nil || !ok {
		return err
	}
	index := c.In[1].Dims
	c.Set(0, c.In[0].DType, kit.JoinDims(index[:len(index)-1], c.In[0].Dims[o.Batch+tuple:]))
	return nil
}

// blockNumbers converts tuples of indices to numbers of blocks of the data, and returns the
// elements of a block.
func blockNumbers(c *op.Run, batch int) (at []int64, block int, err error) {
	data, index := c.In[0].Shape(), c.In[1].Shape()
	tuple := index[len(index)-1]
	count := index[:len(index)-1].Len()
	extents := data[batch : batch+tuple]
	if at, err = c.ScratchInt64s(count); err != nil {
		return nil, 0, err
	}
	list, err := op.Ints(c.In[1])
	if err != nil {
		return nil, 0, err
	}
	perBatch := max(index[batch:len(index)-1].Len(), 1)
	pace := c.Pace()
	for i := range at {
		pace.Work(8 * (1 + tuple))
		n := i / perBatch
		for a, e := range extents {
			x, err := normIndex(list[i*tuple+a], e)
			if err != nil {
				return nil, 0, err
			}
			n = n*e + x
		}
		at[i] = int64(n)
	}
	return at, data[batch+tuple:].Len(), nil
}

func (o *GatherND) Run(c *op.Run) error {
	at, block, err := blockNumbers(c, o.Batch)
	if err != nil {
		return err
	}
	kit.GatherBlocks(c.Pace(), c.In[0], c.Out[0], at, 1, 0, block)
	return nil
}

var elementRows = []op.Row{
	{Name: "GatherElements", Since: []int{11, 13}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Selects: true, Items: itemsOfElements(0), New: newGatherElements},
	{Name: "GatherND", Since: []int{11, 12, 13}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Heap: 8, Selects: true, Items: itemsOfGatherND, New: newGatherND},
	{Domain: kit.Microsoft, Name: "GatherND", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Heap: 8, Selects: true, New: kit.AtVersion(11, newGatherND)},
}

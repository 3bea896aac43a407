package op

import "github.com/nacre-ml/nacre/runtime/graph"

// ReverseSequence reverses the first elements along the time axis, as many as
// the sequence lengths say for every index of the batch axis.
type ReverseSequence struct {
	Batch, Time int // the axes; one is 0 and the other 1
}

func newReverseSequence(n *Node) (Op, error) {
	o := &ReverseSequence{Batch: n.Int("batch_axis", 1), Time: n.Int("time_axis", 0)}
	if o.Batch < 0 || o.Batch > 1 || o.Time != 1-o.Batch {
		return nil, graph.Errorf(graph.ErrFormat, "batch_axis %d and time_axis %d are not 0 and 1 or 1 and 0", o.Batch, o.Time)
	}
	return o, nil
}

func (o *ReverseSequence) Infer(c *Infer) error {
	in := c.In[0]
	if rank, ok := in.Rank(); ok && rank < 2 {
		return graph.Errorf(graph.ErrShape, "input is %v; it needs 2 axes or more", in.Type)
	}
	c.Set(0, in.DType, in.Dims)
	return nil
}

func (o *ReverseSequence) Run(c *Run) error {
	shape := c.In[0].Shape()
	lens, err := Ints(c.In[1])
	if err != nil {
		return err
	}
	if len(lens) != shape[o.Batch] {
		return graph.Errorf(graph.ErrShape, "%d sequence lengths for %d sequences", len(lens), shape[o.Batch])
	}
	steps, n := shape.Strides(), shape[o.Time]
	inner := copyAxis{shape[2:].Len(), 1, 1}
	list := make([]stridedCopy, 0, 2*len(lens))
	for b, l := range lens {
		if l < 0 || l > n {
			return graph.Errorf(graph.ErrShape, "sequence length %d is not in 0..%d", l, n)
		}
		at, step := b*steps[o.Batch], steps[o.Time]
		list = append(list,
			stridedCopy{src: c.In[0], dst: c.Out[0], srcAt: at + max(l-1, 0)*step, dstAt: at, axes: []copyAxis{{l, -step, step}, inner}},
			stridedCopy{src: c.In[0], dst: c.Out[0], srcAt: at + l*step, dstAt: at + l*step, axes: []copyAxis{{n - l, step, step}, inner}})
	}
	copyStrided(list...)
	return nil
}

var reverseRows = []Row{
	{Name: "ReverseSequence", Since: []int{10}, In: [2]int{2, 2}, Out: [2]int{1, 1}, New: newReverseSequence},
}

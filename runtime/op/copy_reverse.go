package op

import "github.com/nacre-ml/nacre/runtime/graph"

// reverseSequence reverses the first elements along the time axis, as many as
// the sequence lengths say for every index of the batch axis.
type reverseSequence struct {
	mover
	batch, time int
}

func newReverseSequence(n *Node) (Op, error) {
	o := &reverseSequence{batch: n.Int("batch_axis", 1), time: n.Int("time_axis", 0)}
	if o.batch < 0 || o.batch > 1 || o.time != 1-o.batch {
		return nil, graph.Mark(graph.ErrFormat, "batch_axis %d and time_axis %d are not 0 and 1 or 1 and 0", o.batch, o.time)
	}
	return o, nil
}

func (o *reverseSequence) Infer(c *Infer) error {
	in := c.In[0]
	if rank, ok := in.Rank(); ok && rank < 2 {
		return graph.Mark(graph.ErrShape, "input is %v; it needs 2 axes or more", in.Type)
	}
	c.Set(0, in.DType, in.Dims)
	return nil
}

func (o *reverseSequence) Run(c *Run) error {
	shape := c.In[0].Shape()
	lens, err := Ints(c.In[1])
	if err != nil {
		return err
	}
	if len(lens) != shape[o.batch] {
		return graph.Mark(graph.ErrShape, "%d sequence lengths for %d sequences", len(lens), shape[o.batch])
	}
	steps, n := shape.Strides(), shape[o.time]
	inner := copyAxis{shape[2:].Len(), 1, 1}
	list := make([]stridedCopy, 0, 2*len(lens))
	for b, l := range lens {
		if l < 0 || l > n {
			return graph.Mark(graph.ErrShape, "sequence length %d is not in 0..%d", l, n)
		}
		at, step := b*steps[o.batch], steps[o.time]
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

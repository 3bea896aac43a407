package array

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// ReverseSequence reverses the first elements along the time axis. Their number is the sequence
// length for each index of the batch axis.
type ReverseSequence struct {
	Batch, Time int // the axes; one is 0 and the other 1
}

func newReverseSequence(n *op.Node) (op.Op, error) {
	o := &ReverseSequence{Batch: n.Int("batch_axis", 1), Time: n.Int("time_axis", 0)}
	if o.Batch < 0 || o.Batch > 1 || o.Time != 1-o.Batch {
		return nil, graph.Errorf(graph.ErrFormat, "batch_axis %d and time_axis %d are not 0 and 1 or 1 and 0", o.Batch,
			o.Time)
	}
	return o, nil
}

func (o *ReverseSequence) Infer(c *op.Infer) error {
	in := c.In[0]
	if rank, ok := in.Rank(); ok && rank < 2 {
		return graph.Errorf(graph.ErrShape, "input is %v; it needs 2 axes or more", in.Type)
	}
	c.Set(0, in.DType, in.Dims)
	return nil
}

func (o *ReverseSequence) Run(c *op.Run) error {
	shape := c.In[0].Shape()
	lens, err := op.Ints(c.In[1])
	if err != nil {
		return err
	}
	if len(lens) != shape[o.Batch] {
		return graph.Errorf(graph.ErrShape, "%d sequence lengths for %d sequences", len(lens), shape[o.Batch])
	}
	steps, n := shape.Strides(), shape[o.Time]
	inner := kit.StridedAxis{N: shape[2:].Len(), From: 1, To: 1}
	const most = 1 << 10 // copies in one list
	list := make([]kit.Strided, 0, most)
	pace := c.Pace()
	for b, l := range lens {
		if l < 0 || l > n {
			return graph.Errorf(graph.ErrShape, "sequence length %d is not in 0..%d", l, n)
		}
		if len(list) == most {
			kit.CopyStrided(pace, list...)
			list = list[:0]
		}
		at, step := b*steps[o.Batch], steps[o.Time]
		list = append(list,
			kit.Strided{Src: c.In[0], Dst: c.Out[0], SrcAt: at + max(l-1, 0)*step, DstAt: at,
				Axes: []kit.StridedAxis{{N: l, From: -step, To: step}, inner}},
			kit.Strided{Src: c.In[0], Dst: c.Out[0], SrcAt: at + l*step, DstAt: at + l*step, Axes: []kit.StridedAxis{{N: n - l, From: step, To: step}, inner}})
	}
	kit.CopyStrided(pace, list...)
	return nil
}

var reverseRows = []op.Row{
	{Name: "ReverseSequence", Since: []int{10}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Heap: 8, Selects: true, New: newReverseSequence},
}

package op

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Trilu keeps the upper or the lower triangle of every matrix, the diagonal k
// counted in, and makes the rest zero.
type Trilu struct {
	Upper bool // the triangle that is kept
}

func newTrilu(n *Node) (Op, error) { return &Trilu{Upper: n.Bool("upper", true)}, nil }

func (o *Trilu) Infer(c *Infer) error {
	in := c.In[0]
	if rank, ok := in.Rank(); ok && rank < 2 {
		return graph.Errorf(graph.ErrShape, "input is %v; it needs 2 axes or more", in.Type)
	}
	c.Set(0, in.DType, in.Dims)
	return nil
}

func (o *Trilu) Run(c *Run) error {
	k := 0
	if c.Has(1) {
		list, err := Ints(c.In[1])
		if err != nil {
			return err
		}
		if len(list) != 1 {
			return graph.Errorf(graph.ErrShape, "k is %v, not one element", c.In[1])
		}
		k = list[0]
	}
	shape := c.In[0].Shape()
	rank := len(shape)
	rows, cols := shape[rank-2], shape[rank-1]
	k = min(max(k, -rows), cols)
	batch := copyAxis{shape[:rank-2].Len(), rows * cols, rows * cols}
	blank := batch
	blank.from = 0
	zero := tensor.New(c.In[0].DType(), 1)
	list := make([]stridedCopy, 0, 2*rows)
	for r := range rows {
		// The row is cut at the first element of the upper triangle, or behind
		// the last of the lower one.
		at := min(max(r+k+btoi(!o.Upper), 0), cols)
		left := stridedCopy{src: c.In[0], dst: c.Out[0], srcAt: r * cols, dstAt: r * cols, axes: []copyAxis{batch, {at, 1, 1}}}
		right := stridedCopy{src: c.In[0], dst: c.Out[0], srcAt: r*cols + at, dstAt: r*cols + at, axes: []copyAxis{batch, {cols - at, 1, 1}}}
		if o.Upper {
			left.src, left.srcAt, left.axes = zero, 0, []copyAxis{blank, {at, 0, 1}}
		} else {
			right.src, right.srcAt, right.axes = zero, 0, []copyAxis{blank, {cols - at, 0, 1}}
		}
		list = append(list, left, right)
	}
	copyStrided(list...)
	return nil
}

var triluRows = []Row{
	{Name: "Trilu", Since: []int{14}, In: [2]int{1, 2}, Out: [2]int{1, 1}, New: newTrilu},
	{Domain: microsoft, Name: "Trilu", Since: []int{1}, In: [2]int{1, 2}, Out: [2]int{1, 1}, New: newTrilu},
}

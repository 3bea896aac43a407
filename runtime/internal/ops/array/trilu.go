package array

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Trilu keeps the upper or the lower triangle of every matrix, including diagonal k, and sets the
// rest to zero.
type Trilu struct {
	Upper bool // keep the upper triangle
}

func newTrilu(n *op.Node) (op.Op, error) { return &Trilu{Upper: n.Bool("upper", true)}, nil }

func (o *Trilu) Infer(c *op.Infer) error {
	in := c.In[0]
	if rank, ok := in.Rank(); ok && rank < 2 {
		return graph.Errorf(graph.ErrShape, "input is %v; it needs 2 axes or more", in.Type)
	}
	c.Set(0, in.DType, in.Dims)
	return nil
}

// Diagonal returns the number k of the diagonal for matrices of an input of the given shape,
// clamped to -rows..cols. input is input 1, or nil if it is left out.
func (o *Trilu) Diagonal(shape tensor.Shape, input *tensor.Tensor) (int, error) {
	if input == nil {
		return 0, nil
	}
	list, err := op.Ints(input)
	if err != nil {
		return 0, err
	}
	if len(list) != 1 {
		return 0, graph.Errorf(graph.ErrShape, "k is %v, not one element", input)
	}
	rows, cols := shape[len(shape)-2], shape[len(shape)-1]
	return min(max(list[0], -rows), cols), nil
}

func (o *Trilu) Run(c *op.Run) error {
	var input *tensor.Tensor
	if c.Has(1) {
		input = c.In[1]
	}
	shape := c.In[0].Shape()
	k, err := o.Diagonal(shape, input)
	if err != nil {
		return err
	}
	rank := len(shape)
	rows, cols := shape[rank-2], shape[rank-1]
	batch := kit.StridedAxis{N: shape[:rank-2].Len(), From: rows * cols, To: rows * cols}
	blank := batch
	blank.From = 0
	zero := tensor.New(c.In[0].DType(), 1)
	list := make([]kit.Strided, 0, 2*rows)
	for r := range rows {
		// The row is cut at the first element of the upper triangle, or after the last of the lower
		// one.
		at := min(max(r+k+kit.Btoi(!o.Upper), 0), cols)
		left := kit.Strided{Src: c.In[0], Dst: c.Out[0], SrcAt: r * cols, DstAt: r * cols,
			Axes: []kit.StridedAxis{batch, {N: at, From: 1, To: 1}}}
		right := kit.Strided{Src: c.In[0], Dst: c.Out[0], SrcAt: r*cols + at, DstAt: r*cols + at,
			Axes: []kit.StridedAxis{batch, {N: cols - at, From: 1, To: 1}}}
		if o.Upper {
			left.Src, left.SrcAt, left.Axes = zero, 0, []kit.StridedAxis{blank, {N: at, From: 0, To: 1}}
		} else {
			right.Src, right.SrcAt, right.Axes = zero, 0, []kit.StridedAxis{blank, {N: cols - at, From: 0, To: 1}}
		}
		list = append(list, left, right)
	}
	kit.CopyStrided(c.Pace(), list...)
	return nil
}

var triluRows = []op.Row{
	{Name: "Trilu", Since: []int{14}, In: [2]int{1, 2}, Out: [2]int{1, 1}, Items: itemsOfTrilu, New: newTrilu},
	{Domain: kit.Microsoft, Name: "Trilu", Since: []int{1}, In: [2]int{1, 2}, Out: [2]int{1, 1}, Items: itemsOfTrilu, New: newTrilu},
}

package array

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Transpose permutes the axes.
type Transpose struct {
	perm []int // nil reverses the axes
}

func newTranspose(n *op.Node) (op.Op, error) { return &Transpose{perm: n.Ints("perm")}, nil }

// Perm returns the input axis of each output axis, for an input of the given rank.
func (o *Transpose) Perm(rank int) ([]int, error) {
	if o.perm == nil {
		perm := make([]int, rank)
		for i := range perm {
			perm[i] = rank - 1 - i
		}
		return perm, nil
	}
	if len(o.perm) != rank {
		return nil, graph.Errorf(graph.ErrShape, "perm %v is for %d axes, the input has %d", o.perm, len(o.perm), rank)
	}
	return kit.NormAxes(o.perm, rank)
}

func (o *Transpose) Infer(c *op.Infer) error {
	in := c.In[0]
	rank, ok := in.Rank()
	if !ok {
		if o.perm == nil {
			c.Set(0, in.DType, nil)
		} else {
			c.Set(0, in.DType, graph.UnknownDims(len(o.perm)))
		}
		return nil
	}
	perm, err := o.Perm(rank)
	if err != nil {
		return err
	}
	out := make(graph.Dims, rank)
	for i, p := range perm {
		out[i] = in.Dims[p]
	}
	c.Set(0, in.DType, out)
	return nil
}

// Copies permutes the axes.
func (o *Transpose) Copies(c *op.Infer) ([]Copy, error) {
	perm, err := o.Perm(len(c.In[0].Dims))
	if err != nil {
		return nil, err
	}
	return []Copy{{Axes: permutedAxes(c.In[0].Dims, perm)}}, nil
}

// Run computes the output in Go.
func (o *Transpose) Run(c *op.Run) error { return runCopies(o, c) }

var transposeRows = []op.Row{
	{Name: "Transpose", Since: []int{1, 13, 21, 23, 24, 25}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Derivative: transposeDerivative, Selects: true, Items: itemsOfTranspose, New: newTranspose},
}

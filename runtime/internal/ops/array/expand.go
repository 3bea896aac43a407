package array

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Expand repeats the input along axes of extent 1.
type Expand struct{}

func newExpand(*op.Node) (op.Op, error) { return &Expand{}, nil }

func (o *Expand) Infer(c *op.Infer) error {
	shape, err := c.In[1].Extents()
	if err != nil {
		return err
	}
	for _, d := range shape {
		if n, ok := d.Value(); ok && n < 0 {
			return graph.Errorf(graph.ErrShape, "shape %v has a negative extent", shape)
		}
	}
	dims, err := op.Broadcast(c.In[0].Dims, shape)
	if err != nil {
		return err
	}
	c.Set(0, c.In[0].DType, dims)
	if list, ok := c.In[0].IntVec(); ok && len(list) == 1 && len(dims) == 1 {
		if n, ok := dims[0].Value(); ok && n <= op.MaxInts {
			c.SetInts(0, slices.Repeat(list, n))
		}
	}
	return nil
}

// Copies repeats elements along axes of extent 1.
func (o *Expand) Copies(c *op.Infer) ([]Copy, error) {
	if c.In[1].Const == nil && c.In[1].Ints == nil {
		return nil, &ElementsError{1}
	}
	shape, err := c.In[1].Extents()
	if err != nil {
		return nil, err
	}
	in, out := c.In[0].Dims, c.Out[0].Dims
	dims, err := op.Broadcast(in, shape)
	if err == nil {
		err = wantDims(c, 0, dims)
	}
	if err != nil {
		return nil, err
	}
	from, to := kit.StridesOf(in), kit.StridesOf(out)
	axes := make([]CopyAxis, len(out))
	for i, n := range out {
		axes[i] = CopyAxis{N: n, To: to[i]}
		j := i - (len(out) - len(in))
		switch {
		case j < 0 || in[j].Is(1):
		case in[j].Same(n):
			axes[i].From = from[j]
		default:
			return nil, ErrSymbolic
		}
	}
	return []Copy{{Axes: axes}}, nil
}

// Run computes the output in Go.
func (o *Expand) Run(c *op.Run) error { return runCopies(o, c) }

var expandRows = []op.Row{
	{Name: "Expand", Since: []int{8, 13}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Derivative: expandDerivative, Selects: true, Items: itemsOfExpand, New: newExpand},
}

package op

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// cropPad brings some axes to given extents: longer ones lose elements at both
// ends, shorter ones get zeros there. Where their number is odd, a crop loses
// the last one more, and a pad gets it.
type cropPad struct {
	mover
	axes []int
	all  bool
}

func newCropPad(n *Node) (Op, error) { return &cropPad{axes: n.Ints("axes"), all: !n.Has("axes")}, nil }

// targets returns the axes that the given number of extents are for.
func (o *cropPad) targets(rank, extents int) ([]int, error) {
	axes := o.axes
	if o.all {
		axes = make([]int, rank)
		for i := range axes {
			axes[i] = i
		}
	}
	if len(axes) != extents {
		return nil, graph.Mark(graph.ErrShape, "shape has %d extents for %d axes", extents, len(axes))
	}
	return normAxes(axes, rank)
}

// Infer sets the extents that the shape gives.
func (o *cropPad) Infer(c *Infer) error {
	in := c.In[0]
	c.Set(0, in.DType, nil)
	want, err := c.In[1].extentsIn()
	if err != nil {
		return err
	}
	rank, ok := in.Rank()
	if !ok {
		return nil
	}
	if want == nil {
		c.Set(0, in.DType, graph.UnknownDims(rank))
		return nil
	}
	axes, err := o.targets(rank, len(want))
	if err != nil {
		return err
	}
	out := slices.Clone(in.Dims)
	for i, a := range axes {
		out[a] = want[i]
	}
	c.Set(0, in.DType, out)
	return nil
}

// Run computes the output.
func (o *cropPad) Run(c *Run) error {
	in := c.In[0].Shape()
	want, err := Ints(c.In[1])
	if err != nil {
		return err
	}
	targets, err := o.targets(len(in), len(want))
	if err != nil {
		return err
	}
	shape := in.Clone()
	for i, a := range targets {
		shape[a] = want[i]
	}
	if err := shape.Check(); err != nil {
		return graph.Mark(graph.ErrShape, "%w", err)
	}
	out, err := c.output(0, c.In[0].DType(), shape)
	if err != nil {
		return err
	}
	b := stridedCopy{src: c.In[0], dst: out, axes: make([]copyAxis, len(in))}
	padded := false
	from, to := in.Strides(), shape.Strides()
	for a, n := range in {
		b.srcAt += max(n-shape[a], 0) / 2 * from[a]
		b.dstAt += max(shape[a]-n, 0) / 2 * to[a]
		b.axes[a] = copyAxis{min(n, shape[a]), from[a], to[a]}
		padded = padded || shape[a] > n
	}
	if padded {
		fillStrided(out, tensor.New(out.DType(), 1))
	}
	copyStrided(b)
	return nil
}

var cropRows = []Row{
	{Name: "CenterCropPad", Since: []int{18}, In: [2]int{2, 2}, Out: [2]int{1, 1}, New: newCropPad},
}

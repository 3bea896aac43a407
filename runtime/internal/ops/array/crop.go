package array

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// CenterCropPad gives some axes new extents. Longer axes lose elements at both ends; shorter axes
// get zeros at both ends. If the number of elements is odd, the additional element is removed or
// added at the end.
type CenterCropPad struct {
	axes []int
	all  bool
}

func newCropPad(n *op.Node) (op.Op, error) {
	return &CenterCropPad{axes: n.Ints("axes"), all: !n.Has("axes")}, nil
}

// targets returns the axes for the given number of extents.
func (o *CenterCropPad) targets(rank, extents int) ([]int, error) {
	axes := o.axes
	if o.all {
		axes = make([]int, rank)
		for i := range axes {
			axes[i] = i
		}
	}
	if len(axes) != extents {
		return nil, graph.Errorf(graph.ErrShape, "shape has %d extents for %d axes", extents, len(axes))
	}
	return kit.NormAxes(axes, rank)
}

// Infer sets the extents from the shape.
func (o *CenterCropPad) Infer(c *op.Infer) error {
	in := c.In[0]
	c.Set(0, in.DType, nil)
	want, err := c.In[1].Extents()
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

// Copies copies the elements in common and fills the rest with zeros.
func (o *CenterCropPad) Copies(c *op.Infer) ([]Copy, error) {
	in, err := shapeIn(c, 0)
	if err != nil {
		return nil, err
	}
	want, err := intsOf(c, 1)
	if err != nil {
		return nil, err
	}
	targets, err := o.targets(len(in), len(want))
	if err != nil {
		return nil, err
	}
	shape := in.Clone()
	for i, a := range targets {
		shape[a] = want[i]
	}
	if err := wantDims(c, 0, graph.DimsOf(shape)); err != nil {
		return nil, err
	}
	known := graph.Known
	inner := Copy{Axes: make([]CopyAxis, len(in))}
	var list []Copy
	zero := tensor.New(c.In[0].DType, 1)
	around := make([]CopyAxis, len(in)) // axes before a limited to the copied range, axes from a on whole
	from, to := in.Strides(), shape.Strides()
	for a, n := range shape {
		around[a] = CopyAxis{N: known(n), To: known(to[a])}
	}
	at := 0
	for a, n := range in {
		both, before := min(n, shape[a]), max(shape[a]-n, 0)/2
		for _, part := range [][2]int{{0, before}, {before + both, shape[a] - before - both}} {
			axes := slices.Clone(around)
			axes[a].N = known(part[1])
			if part[1] > 0 {
				list = append(list, Copy{Value: zero, To: known(at + part[0]*to[a]), Axes: axes})
			}
		}
		inner.From = inner.From.Add(known(max(n-shape[a], 0) / 2 * from[a]))
		inner.Axes[a] = CopyAxis{known(both), known(from[a]), known(to[a])}
		around[a].N = known(both)
		at += before * to[a]
	}
	inner.To = known(at)
	return append(list, inner), nil
}

// Run computes the output in Go.
func (o *CenterCropPad) Run(c *op.Run) error { return runCopies(o, c) }

var cropRows = []op.Row{
	{Name: "CenterCropPad", Since: []int{18}, In: [2]int{2, 2}, Out: [2]int{1, 1}, New: newCropPad},
}

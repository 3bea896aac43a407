package array

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Tile repeats the input along every axis, or, in version 1, along one axis.
type Tile struct {
	oneAxis bool
}

func newTile(n *op.Node) (op.Op, error) {
	return &Tile{oneAxis: n.Since < 6}, nil
}

// repeats returns the number of repetitions of each of rank axes; second and third are the inputs
// after the first.
func (o *Tile) repeats(rank int, second, third []int) ([]int, error) {
	list := second
	if o.oneAxis {
		if len(second) != 1 || len(third) != 1 {
			return nil, graph.Errorf(graph.ErrShape, "tiles and axis have %d and %d elements, not one each", len(second),
				len(third))
		}
		axis, err := op.NormAxis(third[0], rank)
		if err != nil {
			return nil, err
		}
		list = slices.Repeat([]int{1}, rank)
		list[axis] = second[0]
	}
	if len(list) != rank {
		return nil, graph.Errorf(graph.ErrShape, "repeats %v is for %d axes, the input has %d", list, len(list), rank)
	}
	for _, r := range list {
		if r < 0 {
			return nil, graph.Errorf(graph.ErrShape, "repeats %v has a negative count", list)
		}
	}
	return list, nil
}

func (o *Tile) Infer(c *op.Infer) error {
	in := c.In[0]
	rank, ok := in.Rank()
	c.Set(0, in.DType, nil)
	if !ok {
		return nil
	}
	if !o.oneAxis {
		return o.inferAll(c)
	}
	tiles, ok1, err := c.In[1].KnownAxes()
	if err != nil {
		return err
	}
	axis, ok2, err := c.In[2].KnownAxes()
	if err != nil {
		return err
	}
	if !ok1 || !ok2 {
		c.Set(0, in.DType, graph.UnknownDims(rank))
		return nil
	}
	list, err := o.repeats(rank, tiles, axis)
	if err != nil {
		return err
	}
	return o.setRepeated(c, graph.DimsOf(list))
}

func (o *Tile) inferAll(c *op.Infer) error {
	in := c.In[0]
	list, err := c.In[1].Extents()
	if err != nil {
		return err
	}
	if list == nil {
		list = graph.UnknownDims(len(in.Dims))
	}
	if len(list) != len(in.Dims) {
		return graph.Errorf(graph.ErrShape, "repeats %v is for %d axes, the input has %d", list, len(list), len(in.Dims))
	}
	return o.setRepeated(c, list)
}

func (o *Tile) setRepeated(c *op.Infer, repeats graph.Dims) (err error) {
	in := c.In[0]
	out := make(graph.Dims, len(repeats))
	for i, r := range repeats {
		if n, ok := r.Value(); ok && n < 0 {
			return graph.Errorf(graph.ErrShape, "repeats %v has a negative count", repeats)
		}
		if out[i], err = kit.MulDim(in.Dims[i], r); err != nil {
			return err
		}
	}
	c.Set(0, in.DType, out)
	return nil
}

// Copies adds an axis of repetitions before every axis.
func (o *Tile) Copies(c *op.Infer) ([]Copy, error) {
	second, err := intsOf(c, 1)
	if err != nil {
		return nil, err
	}
	var third []int
	if o.oneAxis {
		if third, err = intsOf(c, 2); err != nil {
			return nil, err
		}
	}
	in := c.In[0].Dims
	repeats, err := o.repeats(len(in), second, third)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(in)
	for i, r := range repeats {
		if out[i], err = kit.MulDim(in[i], graph.Known(r)); err != nil {
			return nil, err
		}
	}
	if err := wantDims(c, 0, out); err != nil {
		return nil, err
	}
	from, to := kit.StridesOf(in), kit.StridesOf(out)
	axes := make([]CopyAxis, 0, 2*len(in))
	for i, r := range repeats {
		axes = append(axes, CopyAxis{graph.Known(r), graph.Dim{}, in[i].Mul(to[i])}, CopyAxis{in[i], from[i], to[i]})
	}
	return []Copy{{Axes: axes}}, nil
}

// Run computes the output in Go.
func (o *Tile) Run(c *op.Run) error { return runCopies(o, c) }

var tileRows = []op.Row{
	{Name: "Tile", Since: []int{1, 6, 13}, In: [2]int{3, 3}, Later: []op.Arity{{Since: 6, In: [2]int{2, 2}}}, Out: [2]int{1, 1}, Selects: true, Items: itemsOfExpand, New: newTile},
}

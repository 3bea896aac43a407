package op

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// granularity says which elements share a scale and a zero point: all, those of
// a place along an axis, or those of a block along an axis.
type granularity struct {
	axis, block int  // block is 0 for places
	whole       bool // there is one scale only
}

func readGranularity(n *Node) (granularity, error) {
	if n.Domain == "" && n.Since < 13 {
		return granularity{whole: true}, nil
	}
	g := granularity{axis: n.Int("axis", 1)}
	if n.Since >= 21 {
		g.block = n.Int("block_size", 0)
	}
	if g.block < 0 {
		return g, graph.Mark(graph.ErrFormat, "block_size is %d; it cannot be negative", g.block)
	}
	return g, nil
}

// grid returns where the scales of those extents belong in a value.
func (g granularity) grid(x, scale tensor.Shape) (*bindings.QuantGrid, error) {
	n := x.Len()
	if scale.Len() == 1 {
		return &bindings.QuantGrid{Outer: 1, Axis: n, Inner: 1, Block: max(n, 1)}, nil
	}
	axis := g.axis
	if len(x) == 1 && axis == 1 {
		axis = 0 // the default cannot be meant
	}
	axis, err := normAxis(axis, len(x))
	switch {
	case g.whole:
		return nil, graph.Mark(graph.ErrShape, "scales have shape %v; in this version there is one", scale)
	case err != nil:
		return nil, err
	}
	block, want := 1, tensor.Shape{x[axis]}
	if g.block > 0 {
		block, want = g.block, x.Clone()
		if x[axis] > 0 {
			want[axis] = (x[axis]-1)/block + 1
		}
	}
	if !scale.Equal(want) {
		return nil, graph.Mark(graph.ErrShape, "scales have shape %v where a value of shape %v needs %v along axis %d in blocks of %d", scale, x, want, axis, block)
	}
	grid := &bindings.QuantGrid{Outer: x[:axis].Len(), Axis: x[axis], Inner: x[axis+1:].Len(), Block: block, PerAxis: 1}
	if g.block > 0 {
		grid.PerAxis, grid.PerOuter = grid.Inner, grid.Inner*want[axis]
		if grid.Inner > 1 {
			grid.PerInner = 1
		}
	}
	return grid, nil
}

// check reports, as far as is known, inputs 1 and 2, scales and zero points,
// that do not suit input 0 or each other.
func (g granularity) check(c *Infer) error {
	scale, ok := c.In[1].Dims.Concrete()
	if !ok || c.In[1].Dims == nil {
		return nil
	}
	if c.Has(2) && c.In[2].Dims != nil {
		zero, ok := c.In[2].Dims.Concrete()
		if ok && !zero.Equal(scale) && (zero.Len() != 1 || scale.Len() != 1) {
			return graph.Mark(graph.ErrShape, "zero points have shape %v and scales %v", zero, scale)
		}
	}
	x, ok := c.In[0].Dims.Concrete()
	if !ok || c.In[0].Dims == nil {
		return nil
	}
	_, err := g.grid(x, scale)
	return err
}

// stretches calls f for elements that follow each other and have one scale, or
// with step 1 scales that follow each other.
func stretches(g *bindings.QuantGrid, f func(at, n, scale, step int)) {
	for o := range g.Outer {
		for a := 0; a < g.Axis; a += g.Block {
			n, at, scale := min(g.Block, g.Axis-a), (o*g.Axis+a)*g.Inner, o*g.PerOuter+a/g.Block*g.PerAxis
			if g.PerInner == 0 {
				f(at, n*g.Inner, scale, 0)
				continue
			}
			for row := range n {
				f(at+row*g.Inner, g.Inner, scale, 1)
			}
		}
	}
}

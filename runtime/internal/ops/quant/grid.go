package quant

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Granularity says which elements share a scale and a zero point: all, the ones at one index of an
// axis, or the ones in one block along an axis.
type Granularity struct {
	axis, block int  // block is 0 for one scale per index
	whole       bool // there is one scale only
}

// maxBlock bounds block_size. No axis is as long, and sums with extents stay within an int.
const maxBlock = math.MaxInt / 2

func readGranularity(n *op.Node) (Granularity, error) {
	if n.Domain == "" && n.Since < 13 {
		return Granularity{whole: true}, nil
	}
	g := Granularity{axis: n.Int("axis", 1)}
	if n.Since >= 21 {
		g.block = min(n.Int("block_size", 0), maxBlock)
	}
	if g.block < 0 {
		return g, graph.Errorf(graph.ErrFormat, "block_size is %d; it cannot be negative", g.block)
	}
	return g, nil
}

// Grid divides a value [Outer,Axis,Inner] among scales. Element (o,a,i) has scale and zero point
// number o*PerOuter + a/Block*PerAxis + i*PerInner. PerInner is 0 or 1.
type Grid struct {
	Outer, Axis, Inner, Block   graph.Dim
	PerOuter, PerAxis, PerInner graph.Dim
}

// Grid returns the Grid of a value with extents x and scales with extents scale.
func (g Granularity) Grid(x, scale graph.Dims) (*Grid, error) {
	zero, one := graph.Known(0), graph.Known(1)
	if scale.Len().Is(1) {
		n := x.Len()
		return &Grid{Outer: one, Axis: n, Inner: one, Block: n.Max(one), PerOuter: zero, PerAxis: zero, PerInner: zero}, nil
	}
	axis := g.axis
	if len(x) == 1 && axis == 1 {
		axis = 0 // the default, which a vector lacks
	}
	axis, err := op.NormAxis(axis, len(x))
	switch {
	case g.whole:
		return nil, graph.Errorf(graph.ErrShape, "scales have shape %v; in this version there is one", scale)
	case err != nil:
		return nil, err
	}
	block, want := one, graph.Dims{x[axis]}
	if g.block > 0 {
		block, want = graph.Known(g.block), slices.Clone(x)
		want[axis] = x[axis].Add(graph.Known(g.block - 1)).Div(block)
	}
	if !sameExtents(scale, want) {
		return nil, graph.Errorf(graph.ErrShape,
			"scales have shape %v where a value of shape %v needs %v along axis %d in blocks of %v", scale, x, want, axis, block)
	}
	grid := &Grid{Outer: x[:axis].Len(), Axis: x[axis], Inner: x[axis+1:].Len(), Block: block, PerOuter: zero,
		PerAxis: one, PerInner: zero}
	if g.block > 0 {
		grid.PerAxis, grid.PerOuter = grid.Inner, grid.Inner.Mul(want[axis])
		if !grid.Inner.Is(1) {
			grid.PerInner = one
		}
	}
	return grid, nil
}

// sameExtents reports whether the extents that are known agree.
func sameExtents(a, b graph.Dims) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].IsKnown() && b[i].IsKnown() && !a[i].Same(b[i]) {
			return false
		}
	}
	return true
}

// check returns an error if inputs 1 and 2, scales and zero points, are known not to suit input 0
// or each other.
func (g Granularity) check(c *op.Infer) error {
	scale, ok := c.In[1].Dims.Concrete()
	if !ok || c.In[1].Dims == nil {
		return nil
	}
	if c.Has(2) && c.In[2].Dims != nil {
		zero, ok := c.In[2].Dims.Concrete()
		if ok && !zero.Equal(scale) && (zero.Len() != 1 || scale.Len() != 1) {
			return graph.Errorf(graph.ErrShape, "zero points have shape %v and scales %v", zero, scale)
		}
	}
	if c.In[0].Dims == nil {
		return nil
	}
	_, err := g.Grid(c.In[0].Dims, graph.DimsOf(scale))
	return err
}

// stretches calls f for runs of neighbouring elements. With step 0 they share a scale; with step 1
// each has the next scale. All extents must be known.
func stretches(pace *op.Pace, g *Grid, f func(at, n, scale, step int)) {
	known := func(d graph.Dim) int { n, _ := d.Value(); return n }
	s := kit.Stretches{Outer: known(g.Outer), Axis: known(g.Axis), Inner: known(g.Inner), Block: known(g.Block),
		PerOuter: known(g.PerOuter), PerAxis: known(g.PerAxis), PerInner: known(g.PerInner)}
	s.Each(func(at, n, scale, step int) {
		pace.Work(8 * n)
		f(at, n, scale, step)
	})
}

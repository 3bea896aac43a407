package openinfer

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// cast makes integers wider, and floats of integers. Floats become the nearest integer
// that there is, after round; a NaN becomes 0.
type cast struct {
	to    tensor.DType
	round func(float64) float64
}

// castTypes are the types that a cast makes.
var castTypes = slices.Concat(op.Integers, singleTypes, doubleTypes)

var castRows = []op.Row{
	{Domain: Domain, Name: "cast", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: numberTypes, New: newCast},
}

// roundings are the ways to make a float a whole number.
var roundings = map[string]func(float64) float64{"trunc": math.Trunc, "floor": math.Floor, "ceil": math.Ceil, "nearest": math.Round}

func newCast(n *op.Node) (op.Op, error) {
	to, err := typeNamed(n, "to", castTypes)
	if err != nil {
		return nil, err
	}
	mode := n.Str("rounding_mode", "trunc")
	if roundings[mode] == nil {
		return nil, graph.Errorf(graph.ErrFormat, "attribute rounding_mode is %q; it must be trunc, floor, ceil or nearest", mode)
	}
	return &cast{to, roundings[mode]}, nil
}

// Infer keeps the extents.
func (o *cast) Infer(c *op.Infer) error {
	if d := c.In[0].DType; d.IsInteger() && o.to.IsInteger() && (d.Kind() != o.to.Kind() || d.Bits() >= o.to.Bits()) {
		return graph.Errorf(graph.ErrUnsupported, "no cast from %v to %v; integers become floats and wider integers of the same sign", d, o.to)
	}
	c.Set(0, o.to, c.In[0].Dims)
	return nil
}

// Run converts block by block.
func (o *cast) Run(c *op.Run) error {
	t, y := c.In[0].Aligned(), c.Out[0]
	return c.Parallel(t.Len(), share, func(from, to int) error {
		var b castBuffers
		for at := from; at < to; at += block {
			if c.Stopped() {
				return op.ErrStopped
			}
			o.convert(y, t, at, min(block, to-at), &b)
		}
		return nil
	})
}

// castBuffers is a block of elements in each type to compute with.
type castBuffers struct {
	x [block]float64
	i [block]int64
	u [block]uint64
}

// convert makes n elements, from the one numbered at on.
func (o *cast) convert(y, t *tensor.Tensor, at, n int, b *castBuffers) {
	x, i, u := b.x[:n], b.i[:n], b.u[:n]
	switch from, to := t.DType().Kind(), o.to.Kind(); {
	case to == tensor.Float:
		load(x, t, at)
		store(y, at, x)
	case from == tensor.Signed:
		load(i, t, at)
		store(y, at, i)
	case from == tensor.Unsigned:
		load(u, t, at)
		store(y, at, u)
	case to == tensor.Signed:
		load(x, t, at)
		low, high := bounds[int64](o.to)
		for k, v := range x {
			i[k] = min(max(toInt(o.round(v)), low), high)
		}
		store(y, at, i)
	default:
		load(x, t, at)
		_, high := bounds[uint64](o.to)
		for k, v := range x {
			u[k] = min(toUint(o.round(v)), high)
		}
		store(y, at, u)
	}
}

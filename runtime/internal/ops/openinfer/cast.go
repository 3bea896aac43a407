package openinfer

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Cast widens integers and converts between integers and floats. A float is rounded, then clamped
// to the integer type. A NaN becomes 0.
type Cast struct {
	to   tensor.DType
	Mode Rounding
}

// Rounding says how a float is rounded to a whole number.
type Rounding int

// The roundings.
const (
	Trunc Rounding = iota
	Floor
	Ceil
	Nearest // the nearest, with ties away from 0
)

// castTypes lists the types that a cast can produce.
var castTypes = slices.Concat(op.Integers, singleTypes, doubleTypes)

var castRows = []op.Row{
	{Domain: Domain, Name: "cast", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: numberTypes, New: newCast},
}

// roundings maps names to roundings, and round maps roundings to functions.
var (
	roundings = map[string]Rounding{"trunc": Trunc, "floor": Floor, "ceil": Ceil, "nearest": Nearest}
	round     = map[Rounding]func(float64) float64{Trunc: math.Trunc, Floor: math.Floor, Ceil: math.Ceil,
		Nearest: math.Round}
)

func newCast(n *op.Node) (op.Op, error) {
	to, err := typeNamed(n, "to", castTypes)
	if err != nil {
		return nil, err
	}
	name := n.Str("rounding_mode", "trunc")
	mode, ok := roundings[name]
	if !ok {
		return nil, graph.Errorf(graph.ErrFormat, "attribute rounding_mode is %q; it must be trunc, floor, ceil or nearest",
			name)
	}
	return &Cast{to, mode}, nil
}

// Infer keeps the extents.
func (o *Cast) Infer(c *op.Infer) error {
	if d := c.In[0].DType; d.IsInteger() && o.to.IsInteger() && (d.Kind() != o.to.Kind() || d.Bits() >= o.to.Bits()) {
		return graph.Errorf(graph.ErrUnsupported,
			"no cast from %v to %v; integers become floats and wider integers of the same sign", d, o.to)
	}
	c.Set(0, o.to, c.In[0].Dims)
	return nil
}

// Run converts block by block.
func (o *Cast) Run(c *op.Run) error {
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

// castBuffers holds a block of elements in each computed type.
type castBuffers struct {
	x [block]float64
	i [block]int64
	u [block]uint64
}

// convert converts n elements from element at on.
func (o *Cast) convert(y, t *tensor.Tensor, at, n int, b *castBuffers) {
	x, i, u, whole := b.x[:n], b.i[:n], b.u[:n], round[o.Mode]
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
	default:
		load(x, t, at)
		for k, v := range x {
			x[k] = whole(v)
		}
		elements.PutClamped(y, at, x)
	}
}

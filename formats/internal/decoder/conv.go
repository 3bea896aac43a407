package decoder

import (
	"fmt"
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// taps returns the number of tokens that a result of the convolution is computed from.
func (c *ShortConv) taps() int {
	shape := c.Taps.Tensor.Shape()
	return shape[len(shape)-1]
}

// shortConv adds the convolution of block i. It reads the block's state, and appends the present
// one to m.presents.
func (m *maker) shortConv(i int, x string) string {
	c, n := m.c.Layers[i].Conv, m.c.Hidden
	parts := m.split(m.trace(i, "conv_in", m.linear(c.In, x)), n, n, n)
	gated := m.sequences(m.Op("Mul", []string{parts[0], parts[2]}), n)
	columns := m.Op("Transpose", []string{gated}, graph.IntsAttr("perm", 0, 2, 1))
	taps := int64(c.taps())
	if taps > 1 {
		columns = m.Op("Concat", []string{m.pasts[i].conv, columns}, graph.IntAttr("axis", 2))
		tail := m.Op("Slice", []string{columns, m.Ints(1 - taps), m.Ints(math.MaxInt64), m.Ints(2)})
		m.presents = append(m.presents, present{tail, fmt.Sprintf("present_conv.%d", i), m.convType(c)})
	}
	in := []string{columns, m.Op("Reshape", []string{m.float32s(c.Taps), m.Ints(int64(n), 1, taps)})}
	if c.Bias != nil {
		in = append(in, m.float32s(c.Bias))
	}
	y := m.Op("Conv", in, graph.IntAttr("group", int64(n)))
	y = m.Op("Transpose", []string{y}, graph.IntsAttr("perm", 0, 2, 1))
	y = m.Op("Mul", []string{m.Op("Reshape", []string{y, m.Ints(-1, int64(n))}), parts[1]})
	return m.trace(i, "conv", m.linear(c.Out, y))
}

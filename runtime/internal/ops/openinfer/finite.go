package openinfer

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Finite reports whether all elements are finite.
type Finite struct{}

var finiteRows = []op.Row{
	{Domain: Domain, Name: "is_finite", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: slices.Concat(singleTypes, doubleTypes),
		New: func(*op.Node) (op.Op, error) { return &Finite{}, nil }},
}

// Infer sets one bool without axes.
func (*Finite) Infer(c *op.Infer) error {
	c.Set(0, tensor.Bool, graph.Dims{})
	return nil
}

// Run inspects elements until one is not finite.
func (*Finite) Run(c *op.Run) error {
	t, x, all := c.In[0].Aligned(), make([]float64, block), true
	for at := 0; at < t.Len() && all; at += block {
		if c.Stopped() {
			return op.ErrStopped
		}
		x = x[:min(block, t.Len()-at)]
		load(x, t, at)
		for _, v := range x {
			all = all && v-v == 0
		}
	}
	tensor.View[bool](c.Out[0])[0] = all
	return nil
}

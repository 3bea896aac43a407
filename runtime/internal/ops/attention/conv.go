package attention

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// CausalConv is a depthwise convolution of each element and the elements before it. It returns the
// last elements as the state for the next call.
type CausalConv struct {
	SiLU     bool // outputs are multiplied by their logistic function
	Dilation int
}

func newCausalConv(n *op.Node) (op.Op, error) {
	o := &CausalConv{Dilation: 1}
	switch a := n.Str("activation", "none"); a {
	case "none":
	case "silu", "swish":
		o.SiLU = true
	default:
		return nil, graph.Errorf(graph.ErrFormat, "activation is %q; it takes none, silu, swish", a)
	}
	if n.Domain != kit.Microsoft {
		return o, nil
	}
	if o.Dilation = n.Int("dilation", 1); o.Dilation < 1 {
		return nil, graph.Errorf(graph.ErrFormat, "dilation is %d; it takes 1 or more", o.Dilation)
	}
	for name, def := range map[string]int{"ndim": 1, "channels_last": 0, "state_window": 0} {
		if v := n.Int(name, def); v != def {
			return nil, graph.Errorf(graph.ErrUnsupported, "%s is %d; only %d is computed", name, v, def)
		}
	}
	return o, nil
}

// maxLook limits the distance to the earliest element that a convolution reads.
const maxLook = 1 << 30

// Infer keeps the shape. The state has as many elements as the taps reach back.
func (o *CausalConv) Infer(c *op.Infer) error {
	x, w := c.In[0].Dims, c.In[1].Dims
	if x != nil && len(x) != 3 || w != nil && len(w) != 3 {
		return graph.Errorf(graph.ErrShape, "input %v is not [batch,channels,length] or weight %v not [channels,1,taps]",
			c.In[0].Type, c.In[1].Type)
	}
	for i, v := range c.In {
		if v != nil && v.DType != c.In[0].DType {
			return graph.Errorf(graph.ErrShape, "input %d has element type %v, input 0 has %v", i, v.DType, c.In[0].DType)
		}
	}
	if x != nil && w != nil && (differ(w[0], x[1]) || differ(w[1], graph.Known(1))) {
		return graph.Errorf(graph.ErrShape, "input %v is not [batch,channels,length] or weight %v not [channels,1,taps]",
			c.In[0].Type, c.In[1].Type)
	}
	state := graph.UnknownDims(3)
	if x != nil {
		state[0], state[1] = x[0], x[1]
	}
	if w != nil {
		if n, ok := w[2].Value(); ok && (n < 1 || n > maxLook/o.Dilation) {
			return graph.Errorf(graph.ErrShape, "weight %v has %d taps, %d apart", c.In[1].Type, n, o.Dilation)
		}
		state[2] = w[2].Sub(graph.Known(1)).Mul(graph.Known(o.Dilation))
	}
	c.Set(0, c.In[0].DType, x)
	c.Set(1, c.In[0].DType, state)
	if c.Has(2) && c.In[2].Dims != nil && (len(c.In[2].Dims) != 1 || differ(c.In[2].Dims[0], state[1])) {
		return graph.Errorf(graph.ErrShape, "bias is %v, not of [%v]", c.In[2].Type, state[1])
	}
	if c.Has(3) && c.In[3].Dims != nil && !kit.MayEqual(c.In[3].Dims, state) {
		return graph.Errorf(graph.ErrShape, "past_state is %v, not of %v", c.In[3].Type, state)
	}
	return nil
}

var causalConvRows = []op.Row{
	{Name: "CausalConvWithState", Since: []int{27}, In: [2]int{2, 4}, Out: [2]int{1, 2}, Types: kit.ComputedInF32, New: newCausalConv},
	{Domain: kit.Microsoft, Name: "CausalConvWithState", Since: []int{1}, In: [2]int{2, 4}, Out: [2]int{1, 2}, Types: kit.ComputedInF32, New: newCausalConv},
}

package op

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// causalConv is a depthwise convolution over the elements up to each, with the
// last of them passed on as the state for the next call.
type causalConv struct {
	silu   bool
	step   int // between taps
	kernel bindings.Kernel
}

func newCausalConv(n *Node) (Op, error) {
	o := &causalConv{step: 1}
	switch a := n.Str("activation", "none"); a {
	case "none":
	case "silu", "swish":
		o.silu = true
	default:
		return nil, graph.Mark(graph.ErrFormat, "activation is %q; it takes none, silu, swish", a)
	}
	if n.Domain != microsoft {
		return o, nil
	}
	if o.step = n.Int("dilation", 1); o.step < 1 {
		return nil, graph.Mark(graph.ErrFormat, "dilation is %d; it takes 1 or more", o.step)
	}
	for name, def := range map[string]int{"ndim": 1, "channels_last": 0, "state_window": 0} {
		if v := n.Int(name, def); v != def {
			return nil, graph.Mark(graph.ErrUnsupported, "%s is %d; only %d is computed", name, v, def)
		}
	}
	return o, nil
}

// maxLook bounds how far back a convolution looks.
const maxLook = 1 << 30

// Infer keeps the shape; the state has as many elements as the taps look back.
func (o *causalConv) Infer(c *Infer) error {
	x, w := c.In[0].Dims, c.In[1].Dims
	if x != nil && len(x) != 3 || w != nil && len(w) != 3 {
		return graph.Mark(graph.ErrShape, "input %v is not [batch,channels,length] or weight %v not [channels,1,taps]", c.In[0].Type, c.In[1].Type)
	}
	for i, v := range c.In {
		if v != nil && v.DType != c.In[0].DType {
			return graph.Mark(graph.ErrShape, "input %d has element type %v, input 0 has %v", i, v.DType, c.In[0].DType)
		}
	}
	state := graph.UnknownDims(3)
	if x != nil {
		state[0], state[1] = x[0], x[1]
	}
	if w != nil {
		if n, ok := w[2].Value(); ok && (n < 1 || n > maxLook/o.step) {
			return graph.Mark(graph.ErrShape, "weight %v has %d taps, %d apart", c.In[1].Type, n, o.step)
		}
		state[2] = w[2].Sub(graph.Known(1)).Mul(graph.Known(o.step))
	}
	c.Set(0, c.In[0].DType, x)
	c.Set(1, c.In[0].DType, state)
	return nil
}

// Prepare chooses the kernel.
func (o *causalConv) Prepare(c *Prepare) (err error) {
	o.kernel, err = c.Kernel("f32_causal_conv")
	return err
}

// Describe names the kernel.
func (o *causalConv) Describe() string { return describe(o.kernel) }

// Run computes the outputs.
func (o *causalConv) Run(c *Run) error {
	x, w := c.In[0].Shape(), c.In[1].Shape()
	if len(x) != 3 || len(w) != 3 || w[0] != x[1] || w[1] != 1 || w[2] < 1 {
		return graph.Mark(graph.ErrShape, "input %v is not [batch,channels,length] or weight %v not [channels,1,taps]", x, w)
	}
	v := bindings.CausalConv{Kernel: o.kernel, Batch: x[0], Channels: x[1], N: x[2], Taps: w[2], Step: o.step, SiLU: o.silu}
	state := tensor.Shape{x[0], x[1], (w[2] - 1) * o.step}
	if c.Has(2) && !c.In[2].Shape().Equal(tensor.Shape{x[1]}) {
		return graph.Mark(graph.ErrShape, "bias is %v, not of [%d]", c.In[2], x[1])
	}
	if c.Has(3) && !c.In[3].Shape().Equal(state) {
		return graph.Mark(graph.ErrShape, "past_state is %v, not of %v", c.In[3], state)
	}
	lists := []*[]float32{&v.X, &v.W, &v.Bias, &v.Past}
	for i, t := range c.In {
		list, err := c.floats(t)
		if err != nil {
			return err
		}
		*lists[i] = list
	}
	present := c.Out[1]
	var err error
	if v.Out, err = c.floatsFor(c.Out[0]); err != nil {
		return err
	}
	if v.Present, err = c.floatsFor(present); err != nil {
		return err
	}
	scratch, err := c.scratchFloats(2 * state[2] * c.Pool.Threads())
	if err != nil {
		return err
	}
	v.Run(c.Pool, scratch)
	c.putFloats(c.Out[0], v.Out)
	c.putFloats(present, v.Present)
	return nil
}

var causalConvRows = []Row{
	{Name: "CausalConvWithState", Since: []int{27}, In: [2]int{2, 4}, Out: [2]int{1, 2}, Types: narrowTypes, New: newCausalConv},
	{Domain: microsoft, Name: "CausalConvWithState", Since: []int{1}, In: [2]int{2, 4}, Out: [2]int{1, 2}, Types: narrowTypes, New: newCausalConv},
}

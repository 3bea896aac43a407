package op

import (
	"math"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// linearAttention is attention as a recurrence over tokens, whose state is one
// matrix per head of keys.
type linearAttention struct {
	heads, kvHeads int
	decays, deltas bool
	scale          float32
	window         int  // states that the outer inputs and outputs hold; 0 for one, without an axis
	inverse        bool // there may be more heads of keys than of queries
	kernel         bindings.Kernel
}

func newLinearAttention(n *Node) (Op, error) {
	n.Ignore("chunk_size")
	o := &linearAttention{heads: n.Int("q_num_heads", 0), kvHeads: n.Int("kv_num_heads", 0), scale: n.Float("scale", 0)}
	if n.Domain == microsoft {
		o.window, o.inverse = n.Int("state_window", 0), true
	}
	switch rule := n.Str("update_rule", "gated_delta"); rule {
	case "linear":
	case "gated":
		o.decays = true
	case "delta":
		o.deltas = true
	case "gated_delta":
		o.decays, o.deltas = true, true
	default:
		return nil, graph.Mark(graph.ErrFormat, "update_rule is %q; it takes linear, gated, delta, gated_delta", rule)
	}
	ok := o.heads > 0 && o.kvHeads > 0 && (o.heads%o.kvHeads == 0 || o.inverse && o.kvHeads%o.heads == 0)
	if !ok {
		return nil, graph.Mark(graph.ErrFormat, "%d heads of queries cannot share %d of keys", o.heads, o.kvHeads)
	}
	if o.window < 0 || o.window > 8 {
		return nil, graph.Mark(graph.ErrFormat, "state_window is %d; it takes 0 to 8", o.window)
	}
	if n.HasIn(4) != o.decays || n.HasIn(5) != o.deltas {
		return nil, graph.Mark(graph.ErrFormat, "decay or beta is there, or is not, against the update rule")
	}
	return o, nil
}

// Infer sets what follows from the operands.
func (o *linearAttention) Infer(c *Infer) error {
	q, k, v := c.In[0].Dims, c.In[1].Dims, c.In[2].Dims
	for i, d := range []graph.Dims{q, k, v} {
		if d != nil && len(d) != 3 {
			return graph.Mark(graph.ErrShape, "input %d, %v, is not [batch,tokens,heads*size]", i, c.In[i].Type)
		}
		if c.In[i].DType != c.In[0].DType {
			return graph.Mark(graph.ErrShape, "queries, keys and values have element types %v and %v", c.In[0].DType, c.In[i].DType)
		}
	}
	size := func(d graph.Dims, heads int) graph.Dim {
		if d == nil {
			return graph.Unknown()
		}
		return d[2].Div(graph.Known(heads))
	}
	dk, dv := size(k, o.kvHeads), size(v, o.kvHeads)
	out := graph.UnknownDims(3)
	if q != nil {
		out[0], out[1] = q[0], q[1]
	}
	out[2] = dv.Mul(graph.Known(max(o.heads, o.kvHeads)))
	state := graph.Dims{out[0], graph.Known(o.kvHeads), dk, dv}
	if o.window > 0 {
		state = append(graph.Dims{graph.Known(o.window)}, state...)
	}
	d := c.In[0].DType
	c.Set(0, d, out)
	if c.Has(3) {
		if d = c.In[3].DType; !isNarrow(d) {
			return graph.Mark(graph.ErrUnsupported, "past_state has element type %v; it takes %v", d, narrowTypes)
		}
	}
	c.Set(1, d, state)
	return nil
}

// Prepare chooses the kernel.
func (o *linearAttention) Prepare(c *Prepare) (err error) {
	o.kernel, err = c.Kernel("f32_recur")
	return err
}

// Describe names the kernel.
func (o *linearAttention) Describe() string { return describe(o.kernel) }

// Run computes the outputs.
func (o *linearAttention) Run(c *Run) error {
	a, err := o.setUp(c)
	if err != nil {
		return err
	}
	if a.Q, err = c.floats(c.In[0]); err != nil {
		return err
	}
	if a.K, err = c.floats(c.In[1]); err != nil {
		return err
	}
	if a.V, err = c.floats(c.In[2]); err != nil {
		return err
	}
	if a.Out, err = c.floatsFor(c.Out[0]); err != nil {
		return err
	}
	if o.decays {
		if a.Decay, err = c.floats(c.In[4]); err != nil {
			return err
		}
	}
	if o.deltas {
		if a.Beta, err = c.floats(c.In[5]); err != nil {
			return err
		}
	}
	return o.compute(c, a)
}

// setUp checks the operands against each other.
func (o *linearAttention) setUp(c *Run) (*bindings.LinearAttention, error) {
	q, k, v := c.In[0].Shape(), c.In[1].Shape(), c.In[2].Shape()
	if len(q) != 3 || len(k) != 3 || len(v) != 3 {
		return nil, graph.Mark(graph.ErrShape, "queries %v, keys %v or values %v are not [batch,tokens,heads*size]", q, k, v)
	}
	a := &bindings.LinearAttention{
		Kernel: o.kernel, Batch: q[0], Tokens: q[1], Heads: o.heads, KVHeads: o.kvHeads,
		DK: k[2] / o.kvHeads, DV: v[2] / o.kvHeads, Scale: o.scale, Window: o.window,
	}
	if !k.Equal(tensor.Shape{a.Batch, a.Tokens, o.kvHeads * a.DK}) || !v.Equal(tensor.Shape{a.Batch, a.Tokens, o.kvHeads * a.DV}) || q[2] != o.heads*a.DK {
		return nil, graph.Mark(graph.ErrShape, "queries %v of %d heads, keys %v and values %v of %d do not go together", q, o.heads, k, v, o.kvHeads)
	}
	if a.Scale == 0 {
		a.Scale = float32(1 / math.Sqrt(float64(max(a.DK, 1))))
	}
	perToken := func(i int, what string, cols ...int) (int, error) {
		s := c.In[i].Shape()
		for _, n := range cols {
			if s.Equal(tensor.Shape{a.Batch, a.Tokens, n}) && isNarrow(c.In[i].DType()) {
				return n, nil
			}
		}
		return 0, graph.Mark(graph.ErrShape, "%s %v is not [%d,%d,n] with n one of %v", what, c.In[i], a.Batch, a.Tokens, cols)
	}
	var err error
	if o.decays {
		if a.DecayCols, err = perToken(4, "decay", o.kvHeads, o.kvHeads*a.DK); err != nil {
			return nil, err
		}
	}
	if o.deltas {
		a.BetaCols, err = perToken(5, "beta", o.kvHeads, 1)
	}
	return a, err
}

// compute runs the recurrence from the state that there is.
func (o *linearAttention) compute(c *Run, a *bindings.LinearAttention) error {
	n := a.Batch * a.KVHeads * a.DK * a.DV
	want := tensor.Shape{a.Batch, a.KVHeads, a.DK, a.DV}
	if o.window > 0 {
		want = append(tensor.Shape{o.window}, want...)
	}
	present := c.Out[1]
	slots, err := c.floatsFor(present)
	if err != nil {
		return err
	}
	if o.window == 0 && present != nil {
		a.State = slots
	} else if a.State, err = c.scratchFloats(n); err != nil {
		return err
	}
	if o.window > 0 {
		if a.Slots = slots; present == nil {
			a.Window = 0
		}
	}
	if c.Has(3) {
		if !c.In[3].Shape().Equal(want) {
			return graph.Mark(graph.ErrShape, "past_state is %v, not of %v", c.In[3], want)
		}
		past, err := c.floats(c.In[3])
		if err != nil {
			return err
		}
		copy(a.State, past[max(o.window-1, 0)*n:])
	} else {
		clear(a.State)
	}
	scratch, err := c.scratchFloats(a.DK * c.Pool.Threads())
	if err != nil {
		return err
	}
	if n > 0 {
		a.Run(c.Pool, scratch)
	}
	c.putFloats(c.Out[0], a.Out)
	c.putFloats(present, slots)
	return nil
}

var linearAttentionRows = []Row{
	{Name: "LinearAttention", Since: []int{27}, In: [2]int{3, 6}, Out: [2]int{1, 2}, Types: narrowTypes, New: newLinearAttention},
	{Domain: microsoft, Name: "LinearAttention", Since: []int{1}, In: [2]int{3, 6}, Out: [2]int{1, 2}, Types: narrowTypes, New: newLinearAttention},
}

package attention

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// LinearAttention is attention as a recurrence over tokens. Its state is one matrix per head of
// keys.
type LinearAttention struct {
	Heads, KVHeads int
	decays, deltas bool
	Scale          float32 // 0 for 1/sqrt(size)
	Window         int     // number of states in the input and output of states; 0 for one, without an axis
	inverse        bool    // heads of keys may outnumber heads of queries
}

func newLinearAttention(n *op.Node) (op.Op, error) {
	n.Ignore("chunk_size")
	o := &LinearAttention{Heads: n.Int("q_num_heads", 0), KVHeads: n.Int("kv_num_heads", 0), Scale: n.Float("scale", 0)}
	if n.Domain == kit.Microsoft {
		o.Window, o.inverse = n.Int("state_window", 0), true
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
		return nil, graph.Errorf(graph.ErrFormat, "update_rule is %q; it takes linear, gated, delta, gated_delta", rule)
	}
	ok := o.Heads > 0 && o.KVHeads > 0 && (o.Heads%o.KVHeads == 0 || o.inverse && o.KVHeads%o.Heads == 0)
	if !ok {
		return nil, graph.Errorf(graph.ErrFormat, "%d heads of queries cannot share %d of keys", o.Heads, o.KVHeads)
	}
	if o.Window < 0 || o.Window > 8 {
		return nil, graph.Errorf(graph.ErrFormat, "state_window is %d; it takes 0 to 8", o.Window)
	}
	if n.HasIn(4) != o.decays || n.HasIn(5) != o.deltas {
		return nil, graph.Errorf(graph.ErrFormat, "decay or beta is there, or is not, against the update rule")
	}
	return o, nil
}

// Infer sets the types and extents of the outputs.
func (o *LinearAttention) Infer(c *op.Infer) error {
	q, k, v := c.In[0].Dims, c.In[1].Dims, c.In[2].Dims
	for i, d := range []graph.Dims{q, k, v} {
		if d != nil && len(d) != 3 {
			return graph.Errorf(graph.ErrShape, "input %d, %v, is not [batch,tokens,heads*size]", i, c.In[i].Type)
		}
		if c.In[i].DType != c.In[0].DType {
			return graph.Errorf(graph.ErrShape, "queries, keys and values have element types %v and %v", c.In[0].DType,
				c.In[i].DType)
		}
	}
	size := func(d graph.Dims) graph.Dim {
		if d == nil {
			return graph.Unknown()
		}
		return d[2].Div(graph.Known(o.KVHeads))
	}
	dk, dv := size(k), size(v)
	out := graph.UnknownDims(3)
	if q != nil {
		out[0], out[1] = q[0], q[1]
	}
	out[2] = dv.Mul(graph.Known(max(o.Heads, o.KVHeads)))
	state := graph.Dims{out[0], graph.Known(o.KVHeads), dk, dv}
	if o.Window > 0 {
		state = append(graph.Dims{graph.Known(o.Window)}, state...)
	}
	d := c.In[0].DType
	c.Set(0, d, out)
	if c.Has(3) {
		if d = c.In[3].DType; !kit.ComputedInF32.Has(d) {
			return graph.Errorf(graph.ErrUnsupported, "past_state has element type %v; it takes %v", d, kit.ComputedInF32)
		}
	}
	c.Set(1, d, state)
	return o.check(c, out, state, dk, dv)
}

// check returns an error if the operands do not match each other.
func (o *LinearAttention) check(c *op.Infer, out, state graph.Dims, dk, dv graph.Dim) error {
	for i, n := range []graph.Dim{dk.Mul(graph.Known(o.Heads)), dk.Mul(graph.Known(o.KVHeads)),
		dv.Mul(graph.Known(o.KVHeads))} {
		if d := c.In[i].Dims; d != nil && !kit.MayEqual(d, graph.Dims{out[0], out[1], n}) {
			return graph.Errorf(graph.ErrShape, "queries %v of %d heads, keys %v and values %v of %d do not go together",
				c.In[0].Type, o.Heads, c.In[1].Type, c.In[2].Type, o.KVHeads)
		}
	}
	if c.Has(3) && c.In[3].Dims != nil && !kit.MayEqual(c.In[3].Dims, state) {
		return graph.Errorf(graph.ErrShape, "past_state is %v, not of %v", c.In[3].Type, state)
	}
	kvHeads := graph.Known(o.KVHeads)
	if err := o.perToken(c, 4, "decay", out, kvHeads, kvHeads.Mul(dk)); err != nil {
		return err
	}
	return o.perToken(c, 5, "beta", out, kvHeads, graph.Known(1))
}

// perToken returns an error if an input is present and has neither n nor m elements for each token.
func (o *LinearAttention) perToken(c *op.Infer, i int, what string, out graph.Dims, n, m graph.Dim) error {
	if !c.Has(i) || c.In[i].Dims == nil {
		return nil
	}
	d := c.In[i].Dims
	if !kit.ComputedInF32.Has(c.In[i].DType) ||
		!kit.MayEqual(d, graph.Dims{out[0], out[1], n}) && !kit.MayEqual(d, graph.Dims{out[0], out[1], m}) {
		return graph.Errorf(graph.ErrShape, "%s %v is not [%v,%v,n] with n one of %v and %v", what, c.In[i].Type, out[0],
			out[1], n, m)
	}
	return nil
}

var linearAttentionRows = []op.Row{
	{Name: "LinearAttention", Since: []int{27}, In: [2]int{3, 6}, Out: [2]int{1, 2}, Types: kit.ComputedInF32, New: newLinearAttention},
	{Domain: kit.Microsoft, Name: "LinearAttention", Since: []int{1}, In: [2]int{3, 6}, Out: [2]int{1, 2}, Types: kit.ComputedInF32, New: newLinearAttention},
}

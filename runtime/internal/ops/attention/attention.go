package attention

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Stages of the scores that attention can output.
const (
	ScoresProduct = iota // scaled products
	ScoresCapped         // after the cap
	ScoresBiased         // after the mask; -Inf where a query does not attend
	ScoresWeights        // after the softmax
)

// Attention is scaled dot-product attention with a cache of keys and values, in the standard's
// domain. A query that attends to no key yields zeros.
type Attention struct {
	Narrow
	NaN            NaN
	Heads, KVHeads int      // 0 if the operands have an axis of heads
	Scale          *float32 // nil for 1/sqrt(size)
	Softcap        float32  // 0 for none
	Causal         bool
	Window         int  // largest number of keys that a query sees; 0 for all
	Stage          int  // of the scores in output 3
	Doubles        bool // the softmax must be computed in float64
}

// The inputs of Attention.
const (
	Query = iota
	Key
	Value
	Mask
	PastKey
	PastValue
	Lengths
)

// NaN selects the result for a query with a softmax of NaN, because all its scores are -Inf.
type NaN int

const (
	NaNNone   NaN = iota // zeros, as in the standard
	NaNKept              // NaN
	NaNZeroed            // zeros, also for a query with a NaN score
)

// newComposed returns Attention of version 23 that replaces a softmax between two products. If
// attribute zeroed is set, the graph replaces NaN weights by zeros.
func newComposed(n *op.Node) (op.Op, error) {
	made, err := newAttention(n)
	if err != nil {
		return nil, err
	}
	o := made.(*Attention)
	o.Narrow, o.NaN = true, NaNKept
	if n.Bool("zeroed", false) {
		o.NaN = NaNZeroed
	}
	return o, nil
}

func newAttention(n *op.Node) (op.Op, error) {
	o := &Attention{
		Heads: n.Int("q_num_heads", 0), KVHeads: n.Int("kv_num_heads", 0),
		Softcap: n.Float("softcap", 0), Causal: n.Bool("is_causal", false), Stage: n.Int("qk_matmul_output_mode", 0),
	}
	o.Scale = optionalFloat(n, "scale")
	if n.Since >= 25 {
		o.Window = max(n.Int("local_window_size", -1), 0)
	}
	switch p := n.Int("softmax_precision", 1); p {
	case 1, 10, 16:
	case 11:
		o.Doubles = true
	default:
		return nil, graph.Errorf(graph.ErrUnsupported,
			"softmax_precision is %d; it takes 1 (float32), 10 (float16), 11 (float64), 16 (bfloat16)", p)
	}
	if o.Stage < ScoresProduct || o.Stage > ScoresWeights {
		return nil, graph.Errorf(graph.ErrFormat, "qk_matmul_output_mode is %d; it takes 0 to 3", o.Stage)
	}
	if o.Heads < 0 || o.KVHeads < 0 || o.Softcap < 0 {
		return nil, graph.Errorf(graph.ErrFormat, "q_num_heads, kv_num_heads or softcap is negative")
	}
	if o.Window > 0 && !o.Causal {
		return nil, graph.Errorf(graph.ErrFormat, "local_window_size is given without is_causal")
	}
	return o, nil
}

// optionalFloat returns an attribute, or nil if it is missing.
func optionalFloat(n *op.Node, name string) *float32 {
	if !n.Has(name) {
		return nil
	}
	v := n.Float(name, 0)
	return &v
}

// Operands returns the views of queries, keys and values.
func (o *Attention) Operands(in []*op.Value) (q, k, v HeadRows, err error) {
	if q, err = headsOf("Q", in[Query], o.Heads); err != nil {
		return q, k, v, err
	}
	if k, err = headsOf("K", in[Key], o.KVHeads); err != nil {
		return q, k, v, err
	}
	v, err = headsOf("V", in[Value], o.KVHeads)
	return q, k, v, err
}

// Infer sets the types and extents of the outputs. The cache grows by the new rows.
func (o *Attention) Infer(c *op.Infer) error {
	for i := range 3 {
		if !op.Floats.Has(c.In[i].DType) && (i == Query || !o.takesCodes(c, i, PastKey)) {
			return graph.Errorf(graph.ErrUnsupported, "input %d has element type %v; it takes %v", i, c.In[i].DType, op.Floats)
		}
		c.Set(i, c.In[i].DType, nil)
	}
	c.Set(3, c.In[0].DType, nil)
	if c.Has(PastKey) != c.Has(PastValue) {
		return graph.Errorf(graph.ErrFormat, "past_key and past_value come together or not at all")
	}
	var cache [2]tensor.DType
	for i := range cache {
		var err error
		if cache[i], err = o.cacheType(c, PastKey+i, c.In[Key+i].DType); err != nil {
			return err
		}
		c.Set(1+i, cache[i], nil)
	}
	if !ranksKnown(c, 0, 1, 2, 3) {
		if rank, ok := c.In[0].Rank(); ok {
			c.Set(0, c.In[0].DType, graph.UnknownDims(rank))
		}
		return nil
	}
	q, k, v, err := o.Operands(c.In)
	if err != nil {
		return err
	}
	if k.Rows, err = o.grown(c, PastKey, k); err != nil {
		return err
	}
	if v.Rows, err = o.grown(c, PastValue, v); err != nil {
		return err
	}
	if err := o.check(c, q, k, v); err != nil {
		return err
	}
	out := graph.Dims{q.Batch, q.Heads, q.Rows, v.Size}
	if len(c.In[0].Dims) == 3 {
		out = graph.Dims{q.Batch, q.Rows, v.Size.Mul(q.Heads)}
	}
	c.Set(0, c.In[0].DType, out)
	c.Set(1, cache[0], cacheDims(cache[0], k))
	c.Set(2, cache[1], cacheDims(cache[1], v))
	c.Set(3, c.In[0].DType, graph.Dims{q.Batch, q.Heads, q.Rows, k.Rows})
	return nil
}

func (o *Attention) check(c *op.Infer, q, k, v HeadRows) error {
	if err := checkAttention(q, k, v); err != nil {
		return err
	}
	if err := checkScores(c, Mask, q); err != nil {
		return err
	}
	if mask := Mask; c.Has(mask) {
		if d := c.In[mask].Dims; len(d) > 0 && d[len(d)-1].Exceeds(k.Rows) {
			return graph.Errorf(graph.ErrShape, "mask %v is for more than %v keys", c.In[mask].Type, k.Rows)
		}
	}
	if c.Has(Lengths) && c.In[Lengths].Dims != nil && differ(c.In[Lengths].Dims.Len(), q.Batch) {
		return graph.Errorf(graph.ErrShape, "lengths of keys %v are not for a batch of %v", c.In[Lengths].Type, q.Batch)
	}
	return checkCounts(c, Lengths, "nonpad_kv_seqlen")
}

// grown returns the rows of an operand plus the rows of the past in input i, if any.
func (o *Attention) grown(c *op.Infer, i int, x HeadRows) (graph.Dim, error) {
	if !c.Has(i) {
		return x.Rows, nil
	}
	past, err := checkPast("the past", c.In[i], x)
	return past.Add(x.Rows), err
}

// InFloat64 reports whether scores are computed in float64.
func (o *Attention) InFloat64(in []*op.Value) bool {
	return o.Doubles || in[0].DType == tensor.F64 || in[1].DType == tensor.F64 || in[2].DType == tensor.F64
}

var attentionRows = []op.Row{
	{Name: "Attention", Since: []int{23, 24, 25}, In: [2]int{3, 7}, Out: [2]int{1, 4}, Types: op.Floats, Items: itemsOfAttention, New: newAttention},
	{Domain: kit.Internal, Name: "ComposedAttention", Since: []int{1}, In: [2]int{3, 4}, Out: [2]int{1, 1}, Types: op.Floats, Items: itemsOfAttention, New: newComposed},
}

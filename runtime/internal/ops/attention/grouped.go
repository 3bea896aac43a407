package attention

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// GroupQueryAttention is causal attention with a cache that is filled to a different length for
// each batch. It includes rotary embeddings and normalisations of queries and keys.
type GroupQueryAttention struct {
	Narrow
	Heads, KVHeads int
	Scale          *float32 // nil for 1/sqrt(size)
	Softcap        float32  // 0 for none
	Causal         bool
	Window         int  // largest number of keys that a query sees; 0 for all
	Smooth         bool // the softmax includes a score of 0 without a key
	Rotary         bool
	Interleaved    bool
	Stage          int // of the scores in output 3; -1 for none
	Epsilon        float32
}

// The inputs of GroupQueryAttention.
const (
	GroupQuery = iota
	GroupKey
	GroupValue
	GroupPastKey
	GroupPastValue
	GroupLast // position of the last key of each batch
	GroupTotal
	GroupCos
	GroupSin
	GroupPositions
	GroupScores
	GroupSink
	GroupKeyScale
	GroupValueScale
	GroupQueryNorm
	GroupKeyNorm
)

func newGroupQueryAttention(n *op.Node) (op.Op, error) {
	n.Ignore("kv_cache_bit_width")
	o := &GroupQueryAttention{
		Heads: n.Int("num_heads", 0), KVHeads: n.Int("kv_num_heads", 0), Scale: microsoftScale(n),
		Softcap: n.Float("softcap", 0),
		Causal:  n.Bool("causal", true), Window: max(n.Int("local_window_size", -1), 0),
		Smooth: n.Int("smooth_softmax", -1) > 0,
		Rotary: n.Bool("do_rotary", false), Interleaved: n.Bool("rotary_interleaved", false),
		Epsilon: n.Float("qk_norm_epsilon", 1e-6),
		Stage:   -1,
	}
	switch v := n.Int("qk_output", 0); v {
	case 0:
	case 1:
		o.Stage = ScoresBiased
	case 2:
		o.Stage = ScoresWeights
	default:
		return nil, graph.Errorf(graph.ErrFormat, "qk_output is %d; it takes 0, 1, 2", v)
	}
	for _, name := range []string{"k_quant_type", "v_quant_type"} {
		if v := n.Str(name, "NONE"); v != "NONE" {
			return nil, graph.Errorf(graph.ErrUnsupported, "%s is %s; export the model with a cache of floats", name, v)
		}
	}
	if n.Bool("sliding_window_cache", false) {
		return nil, graph.Errorf(graph.ErrUnsupported, "sliding_window_cache; export the model with a cache of full length")
	}
	return o, o.checkNode(n)
}

func (o *GroupQueryAttention) checkNode(n *op.Node) error {
	switch {
	case o.Heads < 1 || o.KVHeads < 1 || o.Heads%o.KVHeads != 0:
		return graph.Errorf(graph.ErrFormat, "num_heads is %d and kv_num_heads %d, which does not divide it", o.Heads,
			o.KVHeads)
	case n.HasIn(GroupKey) != n.HasIn(GroupValue), n.HasIn(GroupPastKey) != n.HasIn(GroupPastValue),
		n.HasIn(GroupCos) != n.HasIn(GroupSin), n.HasIn(GroupQueryNorm) != n.HasIn(GroupKeyNorm):
		return graph.Errorf(graph.ErrFormat, "of two inputs that come together one is left out")
	case o.Rotary && !n.HasIn(GroupCos):
		return graph.Errorf(graph.ErrFormat, "do_rotary is set and the caches of cosines and sines are left out")
	case o.Window > 0 && !o.Causal || o.Softcap < 0:
		return graph.Errorf(graph.ErrFormat, "local_window_size is given without causal, or softcap is negative")
	case n.HasIn(GroupKeyScale) || n.HasIn(GroupValueScale):
		return graph.Errorf(graph.ErrUnsupported, "scales of a quantised cache; export the model with a cache of floats")
	case len(n.Outputs) > 3 && n.Outputs[3] != "" && o.Stage < 0:
		return graph.Errorf(graph.ErrFormat, "the node has an output of scores and qk_output is 0")
	}
	return nil
}

// Operands returns the views of queries, keys and values, which may be side by side in the first
// input.
func (o *GroupQueryAttention) Operands(in []*op.Value) (q, k, v HeadRows, err error) {
	query := in[GroupQuery]
	if len(query.Dims) != 3 {
		return q, k, v, graph.Errorf(graph.ErrShape, "query %v is not [batch,tokens,hidden]", query.Type)
	}
	if in[GroupKey] != nil {
		if q, err = headsOf("query", query, o.Heads); err != nil {
			return q, k, v, err
		}
		if k, err = headsOf("key", in[GroupKey], o.KVHeads); err != nil {
			return q, k, v, err
		}
		if v, err = headsOf("value", in[GroupValue], o.KVHeads); err != nil {
			return q, k, v, err
		}
	} else {
		n := o.Heads + 2*o.KVHeads
		if !mayDivide(n, query.Dims[2]) {
			return q, k, v, graph.Errorf(graph.ErrShape, "query %v is not of %d heads", query.Type, n)
		}
		d := query.Dims[2].Div(graph.Known(n))
		after := func(heads int) graph.Dim { return d.Mul(graph.Known(heads)) }
		q = HeadsSideBySide(query.Dims, after(0), o.Heads, d)
		k = HeadsSideBySide(query.Dims, after(o.Heads), o.KVHeads, d)
		v = HeadsSideBySide(query.Dims, after(o.Heads+o.KVHeads), o.KVHeads, d)
	}
	if differ(k.Rows, q.Rows) || differ(v.Size, q.Size) {
		return q, k, v, graph.Errorf(graph.ErrShape, "query %v, key and value are not of one length and size", query.Type)
	}
	return q, k, v, checkAttention(q, k, v)
}

// Infer sets [batch,tokens,hidden] and the cache, which has room for the past and for all tokens.
func (o *GroupQueryAttention) Infer(c *op.Infer) error {
	q := c.In[GroupQuery].DType
	cache := q
	if c.Has(GroupPastKey) {
		cache = c.In[GroupPastKey].DType
	}
	if !kit.ComputedInF32.Has(cache) && !o.has(cache) {
		return graph.Errorf(graph.ErrUnsupported, "a cache of %v elements; export the model with one of floats", cache)
	}
	if c.Has(GroupPastValue) && c.In[GroupPastValue].DType != cache {
		return graph.Errorf(graph.ErrShape, "past_key has element type %v, past_value %v", cache,
			c.In[GroupPastValue].DType)
	}
	for _, i := range []int{GroupKey, GroupValue, GroupCos, GroupSin, GroupScores, GroupSink, GroupQueryNorm,
		GroupKeyNorm} {
		if c.Has(i) && c.In[i].DType != q {
			return graph.Errorf(graph.ErrShape, "input %d has element type %v, the query %v", i, c.In[i].DType, q)
		}
	}
	c.Set(0, q, graph.UnknownDims(3))
	c.Set(1, cache, graph.UnknownDims(4))
	c.Set(2, cache, graph.UnknownDims(4))
	c.Set(3, q, graph.UnknownDims(4))
	if !ranksKnown(c, GroupQuery, GroupKey, GroupValue) {
		return nil
	}
	x, k, v, err := o.Operands(inputs(c.In, GroupKeyNorm))
	if err != nil {
		return err
	}
	past := graph.Known(0)
	if c.Has(GroupPastKey) {
		if past, err = checkPast("past_key", c.In[GroupPastKey], k); err != nil {
			return err
		}
		values, err := checkPast("past_value", c.In[GroupPastValue], v)
		if err != nil {
			return err
		}
		if differ(past, values) {
			return graph.Errorf(graph.ErrShape, "past_key has %v rows and past_value %v", past, values)
		}
	}
	if err := o.check(c, x); err != nil {
		return err
	}
	total := intOf(c, GroupTotal)
	if !c.Has(GroupPastKey) && differ(total, x.Rows) {
		return graph.Errorf(graph.ErrShape, "there are %v new tokens of %v and no past", x.Rows, total)
	}
	present := graph.Dims{k.Batch, k.Heads, total.Max(past), kit.CacheWidth(cache, k.Size)}
	c.Set(0, q, graph.Dims{x.Batch, x.Rows, x.Heads.Mul(x.Size)})
	c.Set(1, cache, present)
	c.Set(2, cache, present)
	c.Set(3, q, graph.Dims{x.Batch, x.Heads, x.Rows, total})
	return nil
}

// inputs returns the list padded with nil up to input last.
func inputs(list []*op.Value, last int) []*op.Value {
	all := make([]*op.Value, max(last+1, len(list)))
	copy(all, list)
	return all
}

// check returns an error if inputs other than the operands do not match q.
func (o *GroupQueryAttention) check(c *op.Infer, q HeadRows) error {
	for _, i := range []int{GroupLast, GroupTotal, GroupPositions} {
		if err := checkCounts(c, i, fmt.Sprintf("input %d", i)); err != nil {
			return err
		}
	}
	if differ(c.In[GroupLast].Dims.Len(), q.Batch) || differ(c.In[GroupTotal].Dims.Len(), graph.Known(1)) {
		return graph.Errorf(graph.ErrShape,
			"seqlens_k %v and total_sequence_length %v are not for a batch of %v and one number", c.In[GroupLast].Type,
			c.In[GroupTotal].Type, q.Batch)
	}
	for _, i := range []int{GroupQueryNorm, GroupKeyNorm} {
		if c.Has(i) && differ(c.In[i].Dims.Len(), q.Size) {
			return graph.Errorf(graph.ErrShape, "weight %v of a normalisation is not of [%v]", c.In[i].Type, q.Size)
		}
	}
	if c.Has(GroupSink) && differ(c.In[GroupSink].Dims.Len(), q.Heads) {
		return graph.Errorf(graph.ErrShape, "head_sink %v is not of [%v]", c.In[GroupSink].Type, q.Heads)
	}
	if o.Rotary {
		if err := o.checkAngles(c, q); err != nil {
			return err
		}
	}
	return checkScores(c, GroupScores, q)
}

func (o *GroupQueryAttention) checkAngles(c *op.Infer, q HeadRows) error {
	cos, sin := c.In[GroupCos].Dims, c.In[GroupSin].Dims
	if cos == nil || sin == nil {
		return nil
	}
	if len(cos) != 2 || len(sin) != 2 || differ(cos[0], sin[0]) || differ(cos[1], sin[1]) ||
		cos[1].Mul(graph.Known(2)).Exceeds(q.Size) {
		return graph.Errorf(graph.ErrShape, "caches of cosines %v and sines %v are not [positions,half of %v or less]",
			c.In[GroupCos].Type, c.In[GroupSin].Type, q.Size)
	}
	if !c.Has(GroupPositions) {
		return nil
	}
	return checkPositions(c.In[GroupPositions], true, q)
}

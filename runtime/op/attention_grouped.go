package op

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// groupedAttention is GroupQueryAttention: causal attention with a cache whose
// filling differs among the batches, and with the rotary embeddings and
// normalisations of queries and keys that come before.
type groupedAttention struct {
	heads, kvHeads int
	scale          *float32
	cap            float32
	causal         bool
	window         int // 0 for none
	smooth         bool
	rotary         bool
	interleaved    bool
	stage          int
	epsilon        float32
	kernels        attender
	rotate         bindings.Kernel
	norm           bindings.Kernel
}

// The inputs of groupedAttention.
const (
	groupQuery = iota
	groupKey
	groupValue
	groupPastKey
	groupPastValue
	groupLengths
	groupTotal
	groupCos
	groupSin
	groupPlaces
	groupScores
	groupSink
	groupKeyScale
	groupValueScale
	groupQueryNorm
	groupKeyNorm
)

func newGroupedAttention(n *Node) (Op, error) {
	n.Ignore("kv_cache_bit_width")
	o := &groupedAttention{
		heads: n.Int("num_heads", 0), kvHeads: n.Int("kv_num_heads", 0), scale: microsoftScale(n), cap: n.Float("softcap", 0),
		causal: n.Bool("causal", true), window: max(n.Int("local_window_size", -1), 0), smooth: n.Int("smooth_softmax", -1) > 0,
		rotary: n.Bool("do_rotary", false), interleaved: n.Bool("rotary_interleaved", false), epsilon: n.Float("qk_norm_epsilon", 1e-6),
		stage: bindings.QKNone,
	}
	switch v := n.Int("qk_output", 0); v {
	case 0:
	case 1:
		o.stage = bindings.QKBiased
	case 2:
		o.stage = bindings.QKWeights
	default:
		return nil, graph.Mark(graph.ErrFormat, "qk_output is %d; it takes 0, 1, 2", v)
	}
	for _, name := range []string{"k_quant_type", "v_quant_type"} {
		if v := n.Str(name, "NONE"); v != "NONE" {
			return nil, graph.Mark(graph.ErrUnsupported, "%s is %s; export the model with a cache of floats", name, v)
		}
	}
	if n.Bool("sliding_window_cache", false) {
		return nil, graph.Mark(graph.ErrUnsupported, "sliding_window_cache; export the model with a cache of full length")
	}
	return o, o.check(n)
}

func (o *groupedAttention) check(n *Node) error {
	switch {
	case o.heads < 1 || o.kvHeads < 1 || o.heads%o.kvHeads != 0:
		return graph.Mark(graph.ErrFormat, "num_heads is %d and kv_num_heads %d, which does not divide it", o.heads, o.kvHeads)
	case n.HasIn(groupKey) != n.HasIn(groupValue), n.HasIn(groupPastKey) != n.HasIn(groupPastValue),
		n.HasIn(groupCos) != n.HasIn(groupSin), n.HasIn(groupQueryNorm) != n.HasIn(groupKeyNorm):
		return graph.Mark(graph.ErrFormat, "of two inputs that come together one is left out")
	case !n.HasIn(groupLengths) || !n.HasIn(groupTotal):
		return graph.Mark(graph.ErrFormat, "seqlens_k or total_sequence_length is left out")
	case o.rotary && !n.HasIn(groupCos):
		return graph.Mark(graph.ErrFormat, "do_rotary is set and the caches of cosines and sines are left out")
	case o.window > 0 && !o.causal || o.cap < 0:
		return graph.Mark(graph.ErrFormat, "local_window_size is given without causal, or softcap is negative")
	case n.HasIn(groupKeyScale) || n.HasIn(groupValueScale):
		return graph.Mark(graph.ErrUnsupported, "scales of a quantised cache; export the model with a cache of floats")
	}
	return nil
}

// Infer sets [batch,tokens,hidden] and the cache.
func (o *groupedAttention) Infer(c *Infer) error {
	q := c.In[groupQuery]
	cache := q.DType
	if c.Has(groupPastKey) {
		cache = c.In[groupPastKey].DType
	}
	if !isNarrow(cache) {
		return graph.Mark(graph.ErrUnsupported, "a cache of %v elements; export the model with one of floats", cache)
	}
	for _, i := range []int{groupKey, groupValue, groupCos, groupSin, groupScores, groupSink, groupQueryNorm, groupKeyNorm} {
		if c.Has(i) && c.In[i].DType != q.DType {
			return graph.Mark(graph.ErrShape, "input %d has element type %v, the query %v", i, c.In[i].DType, q.DType)
		}
	}
	out, present := graph.UnknownDims(3), graph.UnknownDims(4)
	if d := q.Dims; d != nil {
		if len(d) != 3 {
			return graph.Mark(graph.ErrShape, "query %v is not [batch,tokens,hidden]", q.Type)
		}
		copy(out, d[:2])
		n := o.heads
		if !c.Has(groupKey) {
			n += 2 * o.kvHeads
		}
		if w, ok := d[2].Value(); ok && w%n != 0 {
			return graph.Mark(graph.ErrShape, "query %v is not of %d heads", q.Type, n)
		}
		present[3] = d[2].Div(graph.Known(n))
		out[2] = present[3].Mul(graph.Known(o.heads))
	}
	present[0], present[1] = out[0], graph.Known(o.kvHeads)
	total := graph.Unknown()
	if list, ok := c.In[groupTotal].IntVec(); ok && len(list) == 1 {
		total = list[0]
	}
	past := graph.Known(0)
	if c.Has(groupPastKey) {
		past = graph.Unknown()
		if p := c.In[groupPastKey].Dims; p != nil {
			if len(p) != 4 {
				return graph.Mark(graph.ErrShape, "past_key %v is not [batch,heads,tokens,size]", c.In[groupPastKey].Type)
			}
			past = p[2]
		}
	}
	n, ok := total.Value()
	m, known := past.Value()
	switch {
	case ok && known:
		present[2] = graph.Known(max(n, m))
	case known && m == 0:
		present[2] = total
	}
	c.Set(0, q.DType, out)
	c.Set(1, cache, present)
	c.Set(2, cache, present)
	c.Set(3, q.DType, graph.Dims{out[0], graph.Known(o.heads), out[1], total})
	return nil
}

// Prepare chooses the kernels.
func (o *groupedAttention) Prepare(c *Prepare) (err error) {
	if err = o.kernels.prepare(c); err != nil {
		return err
	}
	if o.norm, err = c.Kernel("f32_layer_norm"); err != nil {
		return err
	}
	o.rotate, err = c.Kernel("f32_rotate")
	return err
}

// Describe names the kernels.
func (o *groupedAttention) Describe() string { return o.kernels.describe() }

// lengths is how many tokens each batch has in all and how many before those
// that are new.
func (o *groupedAttention) lengths(c *Run, batch, tokens int) (total int, valid, past []int64, err error) {
	list, err := Ints(c.In[groupLengths])
	if err != nil {
		return 0, nil, nil, err
	}
	totals, err := Ints(c.In[groupTotal])
	if err != nil {
		return 0, nil, nil, err
	}
	if len(list) != batch || len(totals) != 1 || totals[0] < 0 {
		return 0, nil, nil, graph.Mark(graph.ErrShape, "seqlens_k is %v and total_sequence_length %v; they are for a batch of %d and one number", c.In[groupLengths], c.In[groupTotal], batch)
	}
	total = totals[0]
	valid, past = make([]int64, batch), make([]int64, batch)
	for b, n := range list {
		if n < 0 || n >= total {
			return 0, nil, nil, graph.Mark(graph.ErrShape, "seqlens_k has %d, which is not below total_sequence_length, %d", n, total)
		}
		valid[b] = int64(n) + 1
		// With as many tokens as there are in all these are the first; batches
		// with fewer have padding behind them.
		if tokens != total {
			if past[b] = valid[b] - int64(tokens); past[b] < 0 {
				return 0, nil, nil, graph.Mark(graph.ErrShape, "batch %d has %d tokens in all and %d new ones", b, valid[b], tokens)
			}
		}
	}
	return total, valid, past, nil
}

// Run computes the outputs.
func (o *groupedAttention) Run(c *Run) error {
	q, k, v, err := o.operands(c)
	if err != nil {
		return err
	}
	total, valid, past, err := o.lengths(c, q.batch, q.rows)
	if err != nil {
		return err
	}
	if q, err = o.shape(c, q, groupQueryNorm, past); err != nil {
		return err
	}
	if k, err = o.shape(c, k, groupKeyNorm, past); err != nil {
		return err
	}
	if k, err = o.grow(c, 1, groupPastKey, k, past, total); err != nil {
		return err
	}
	if v, err = o.grow(c, 2, groupPastValue, v, past, total); err != nil {
		return err
	}
	k.rows, v.rows = total, total
	a, err := newAttending(q, k, v)
	if err != nil {
		return err
	}
	if o.scale != nil {
		a.Scale = *o.scale
	}
	a.Cap, a.Causal, a.Window, a.First, a.Valid = o.cap, o.causal, o.window, past, valid
	if q.rows == total {
		// Padding behind short prompts sees itself, as its queries do not count.
		for b := range a.Valid {
			a.Valid[b] = int64(total)
		}
	}
	if err := o.extras(c, a); err != nil {
		return err
	}
	if a.out, err = c.output(0, c.In[0].DType(), tensor.Shape{q.batch, q.rows, q.heads * q.d}); err != nil {
		return err
	}
	if c.Wants(3) && o.stage != bindings.QKNone {
		if a.qk, err = c.output(3, c.In[0].DType(), tensor.Shape{q.batch, q.heads, q.rows, total}); err != nil {
			return err
		}
		a.QKStage, a.blank = o.stage, true
	}
	return a.run(c, &o.kernels)
}

// operands are queries, keys and values, which may lie side by side.
func (o *groupedAttention) operands(c *Run) (q, k, v heads, err error) {
	query := c.In[groupQuery]
	if len(query.Shape()) != 3 {
		return q, k, v, graph.Mark(graph.ErrShape, "query %v is not [batch,tokens,hidden]", query)
	}
	if c.Has(groupKey) && c.Has(groupValue) {
		if q, err = headsOf("query", query, o.heads); err != nil {
			return q, k, v, err
		}
		if k, err = headsOf("key", c.In[groupKey], o.kvHeads); err != nil {
			return q, k, v, err
		}
		v, err = headsOf("value", c.In[groupValue], o.kvHeads)
	} else {
		n := o.heads + 2*o.kvHeads
		if query.Shape()[2]%n != 0 {
			return q, k, v, graph.Mark(graph.ErrShape, "query %v is not of %d heads", query, n)
		}
		d := query.Shape()[2] / n
		q, k, v = sideBySide(query, 0, o.heads, d), sideBySide(query, o.heads*d, o.kvHeads, d), sideBySide(query, (o.heads+o.kvHeads)*d, o.kvHeads, d)
	}
	if err == nil && (k.rows != q.rows || v.rows != q.rows || k.d != q.d || v.d != q.d || k.batch != q.batch || v.batch != q.batch) {
		err = graph.Mark(graph.ErrShape, "query %v, key and value are not of one batch, length and size", query)
	}
	return q, k, v, err
}

// shape normalises and turns queries or keys.
func (o *groupedAttention) shape(c *Run, x heads, norm int, past []int64) (heads, error) {
	weight := given(c, norm)
	if !o.rotary && weight == nil {
		return x, nil
	}
	wide, err := c.floats(x.t)
	if err != nil {
		return x, err
	}
	// The result is [batch,tokens,heads,size] without gaps.
	t, err := c.scratchTensor(tensor.F32, tensor.Shape{x.batch, x.rows, x.heads * x.d})
	if err != nil || t.Len() == 0 {
		return x, err
	}
	out := tensor.View[float32](t)
	y := sideBySide(t, 0, x.heads, x.d)
	r := bindings.Rotary{
		Kernel: o.rotate, Batch: x.batch, Heads: x.heads, Tokens: x.rows, D: x.d, Interleaved: o.interleaved,
		XBatch: x.perBatch, XHead: x.perHead, XRow: x.perRow, OutBatch: y.perBatch, OutHead: y.perHead, OutRow: y.perRow,
	}
	wide = wide[x.start:]
	if weight != nil {
		r.Index = make([]int64, x.batch*x.rows)
		r.Run(c.Pool, wide, out) // a copy without gaps, as no pair turns
		scale, err := c.floats(weight)
		if err != nil {
			return x, err
		}
		if len(scale) != x.d {
			return x, graph.Mark(graph.ErrShape, "weight %v of a normalisation is not of [%d]", weight, x.d)
		}
		bindings.LayerNormF32(o.norm, c.Pool, out, t.Len()/x.d, x.d, scale, nil, o.epsilon, false, out)
		if !o.rotary {
			return y, nil
		}
		wide, r.XBatch, r.XHead, r.XRow = out, y.perBatch, y.perHead, y.perRow
	}
	if err := o.angles(c, &r, past); err != nil {
		return x, err
	}
	r.Run(c.Pool, wide, out)
	return y, nil
}

// angles sets the caches and which of their rows each token uses.
func (o *groupedAttention) angles(c *Run, r *bindings.Rotary, past []int64) (err error) {
	cos, sin := c.In[groupCos], c.In[groupSin]
	if s := cos.Shape(); len(s) != 2 || !s.Equal(sin.Shape()) || 2*s[1] > r.D {
		return graph.Mark(graph.ErrShape, "caches of cosines %v and sines %v are not [positions,half of %d or less]", cos, sin, r.D)
	}
	r.Pairs = cos.Shape()[1]
	if r.Cos, err = c.floats(cos); err != nil {
		return err
	}
	if r.Sin, err = c.floats(sin); err != nil {
		return err
	}
	if c.Has(groupPlaces) {
		return setPositions(c.In[groupPlaces], true, cos.Shape()[0], r)
	}
	r.Index, r.IndexBatch, r.IndexRow = make([]int64, r.Batch*r.Tokens), r.Tokens, 1
	for i := range r.Index {
		p := past[i/r.Tokens] + int64(i%r.Tokens)
		if p >= int64(cos.Shape()[0]) {
			return graph.Mark(graph.ErrShape, "position %d is not in the caches, which have %d", p, cos.Shape()[0])
		}
		r.Index[i] = p
	}
	return nil
}

// grow writes the past and what is new to output i, or to scratch.
func (o *groupedAttention) grow(c *Run, i, input int, x heads, past []int64, total int) (heads, error) {
	d, rows := c.In[0].DType(), total
	var old *heads
	if t := given(c, input); t != nil {
		h, err := headsOf("past", t, 0)
		if err != nil {
			return x, err
		}
		if h.batch != x.batch || h.heads != x.heads || h.d != x.d {
			return x, graph.Mark(graph.ErrShape, "past %v is not of a batch of %d, %d heads of %d", t, x.batch, x.heads, x.d)
		}
		old, d, rows = &h, t.DType(), max(rows, h.rows)
	} else if total != x.rows {
		return x, graph.Mark(graph.ErrShape, "there are %d new tokens of %d and no past", x.rows, total)
	}
	x, err := c.asType(x, d)
	if err != nil {
		return x, err
	}
	cache, err := c.outputOrScratch(i, d, tensor.Shape{x.batch, x.heads, rows, x.d})
	if err != nil {
		return x, err
	}
	return cached(cache, old, x, past)
}

// extras are what is added to scores and to the sums of weights.
func (o *groupedAttention) extras(c *Run, a *attending) (err error) {
	if c.Has(groupScores) {
		if err := a.addMask(c, c.In[groupScores]); err != nil {
			return err
		}
	}
	if c.Has(groupSink) {
		if a.Sink, err = c.floats(c.In[groupSink]); err != nil {
			return err
		}
		if len(a.Sink) != a.Heads {
			return graph.Mark(graph.ErrShape, "head_sink %v is not of [%d]", c.In[groupSink], a.Heads)
		}
		return nil
	}
	if o.smooth {
		a.Sink = make([]float32, a.Heads)
	}
	return nil
}

package op

import (
	"math"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// multiHead is MultiHeadAttention: queries, keys and values that are projected
// already, but for a bias, side by side or each by itself.
type multiHead struct {
	heads   int
	scale   *float32
	causal  bool
	filter  float32 // what a masked key's score has added
	kernels attender
	add     bindings.Kernel
}

// The inputs of multiHead.
const (
	multiQuery = iota
	multiKey
	multiValue
	multiBias
	multiMask
	multiScores
	multiPastKey
	multiPastValue
	multiPastLength
	multiIndirection
)

func newMultiHead(n *Node) (Op, error) {
	o := &multiHead{heads: n.Int("num_heads", 0), scale: microsoftScale(n), causal: n.Bool("unidirectional", false), filter: n.Float("mask_filter_value", -10000)}
	switch {
	case o.heads < 1:
		return nil, graph.Mark(graph.ErrFormat, "num_heads is %d; it takes 1 or more", o.heads)
	case n.HasIn(multiIndirection):
		return nil, graph.Mark(graph.ErrUnsupported, "cache_indirection; reorder the cache with Gather after each step of a beam search")
	case n.HasIn(multiPastKey) != n.HasIn(multiPastValue):
		return nil, graph.Mark(graph.ErrFormat, "past_key and past_value come together or not at all")
	}
	return o, nil
}

// microsoftScale is the attribute scale, which 0 leaves to the size of heads.
func microsoftScale(n *Node) *float32 {
	if s := n.Float("scale", 0); s != 0 {
		return &s
	}
	return nil
}

// Infer sets [batch,tokens,hidden] and the cache.
func (o *multiHead) Infer(c *Infer) error {
	d := c.In[0].DType
	for _, i := range []int{multiKey, multiValue, multiBias, multiScores, multiPastKey, multiPastValue} {
		if c.Has(i) && c.In[i].DType != d {
			return graph.Mark(graph.ErrShape, "input %d has element type %v, the query %v", i, c.In[i].DType, d)
		}
	}
	out, key, value := graph.UnknownDims(3), graph.UnknownDims(4), graph.UnknownDims(4)
	key[1], value[1] = graph.Known(o.heads), graph.Known(o.heads)
	switch q := c.In[multiQuery].Dims; {
	case q == nil:
	case len(q) == 3:
		out[0], out[1] = q[0], q[1]
		key[3] = q[2].Div(key[1])
	case len(q) == 5:
		out[0], out[1], out[2] = q[0], q[1], q[2].Mul(q[4])
		key[3], value[3] = q[4], q[4]
		key[2], value[2] = q[1], q[1]
	default:
		return graph.Mark(graph.ErrShape, "query %v is neither [batch,tokens,hidden] nor [batch,tokens,heads,3,size]", c.In[multiQuery].Type)
	}
	if c.Has(multiKey) && c.In[multiKey].Dims != nil {
		k := c.In[multiKey].Dims
		switch len(k) {
		case 3:
			key[2] = k[1]
		case 4:
			key[2] = k[2]
		case 5:
			key[2], value[3] = k[1], k[4]
		default:
			return graph.Mark(graph.ErrShape, "key %v has neither three axes nor four nor five", c.In[multiKey].Type)
		}
		value[2] = key[2]
	}
	if c.Has(multiValue) && c.In[multiValue].Dims != nil {
		switch v := c.In[multiValue].Dims; len(v) {
		case 3:
			out[2], value[3] = v[2], v[2].Div(key[1])
		case 4:
			out[2], value[3] = v[3].Mul(key[1]), v[3]
		default:
			return graph.Mark(graph.ErrShape, "value %v has neither three axes nor four", c.In[multiValue].Type)
		}
	} else if n, ok := value[3].Value(); ok {
		out[2] = graph.Known(n).Mul(key[1])
	}
	key[0], value[0] = out[0], out[0]
	if c.Has(multiPastKey) {
		rows := graph.Unknown()
		if p := c.In[multiPastKey].Dims; p != nil {
			if len(p) != 4 {
				return graph.Mark(graph.ErrShape, "past_key %v is not [batch,heads,tokens,size]", c.In[multiPastKey].Type)
			}
			if rows = p[2]; !c.Has(multiPastLength) {
				rows = p[2].Add(key[2])
			}
		}
		key[2], value[2] = rows, rows
	}
	c.Set(0, d, out)
	c.Set(1, d, key)
	c.Set(2, d, value)
	c.Set(3, d, graph.Dims{out[0], key[1], out[1], graph.Unknown()})
	return nil
}

// Prepare chooses the kernels.
func (o *multiHead) Prepare(c *Prepare) (err error) {
	if err = o.kernels.prepare(c); err == nil {
		o.add, err = c.Kernel("f32_add")
	}
	return err
}

// Describe names the kernels.
func (o *multiHead) Describe() string { return o.kernels.describe() }

// Run computes the outputs.
func (o *multiHead) Run(c *Run) error {
	q, k, v, err := o.operands(c)
	if err != nil {
		return err
	}
	batch, tokens := q.batch, q.rows
	past := 0
	if c.Has(multiPastLength) && c.Has(multiPastKey) {
		list, err := Ints(c.In[multiPastLength])
		if err != nil || len(list) != 1 {
			return graph.Mark(graph.ErrShape, "past_sequence_length is %v, not one integer", c.In[multiPastLength])
		}
		past = list[0]
		if k, err = o.intoBuffer(c, 1, multiPastKey, k, past); err != nil {
			return err
		}
		if v, err = o.intoBuffer(c, 2, multiPastValue, v, past); err != nil {
			return err
		}
	} else {
		var pastKey, pastValue *tensor.Tensor
		if c.Has(multiPastKey) && c.Has(multiPastValue) {
			pastKey, pastValue = c.In[multiPastKey], c.In[multiPastValue]
			if len(pastKey.Shape()) == 4 {
				past = pastKey.Shape()[2]
			}
		}
		if k, err = o.join(c, 1, "past_key", pastKey, k); err != nil {
			return err
		}
		if v, err = o.join(c, 2, "past_value", pastValue, v); err != nil {
			return err
		}
	}
	a, err := newAttending(q, k, v)
	if err != nil {
		return err
	}
	if o.scale != nil {
		a.Scale = *o.scale
	}
	if err := o.mask(c, a, past); err != nil {
		return err
	}
	if a.out, err = c.output(0, c.In[0].DType(), tensor.Shape{batch, tokens, a.Heads * a.DV}); err != nil {
		return err
	}
	if c.Wants(3) {
		if a.qk, err = c.output(3, c.In[0].DType(), tensor.Shape{batch, a.Heads, tokens, a.KVLen}); err != nil {
			return err
		}
		a.QKStage = bindings.QKBiased
	}
	return a.run(c, &o.kernels)
}

// join is Run.join of an operand that may have become float32 with its bias.
func (o *multiHead) join(c *Run, i int, what string, past *tensor.Tensor, x heads) (heads, error) {
	if past != nil || c.Wants(i) {
		var err error
		if x, err = c.asType(x, c.In[0].DType()); err != nil {
			return x, err
		}
	}
	return c.join(i, what, past, x)
}

// intoBuffer writes new rows into a copy of a cache that has room for them.
func (o *multiHead) intoBuffer(c *Run, i, input int, x heads, past int) (heads, error) {
	old, err := headsOf("cache", c.In[input], 0)
	if err != nil {
		return x, err
	}
	if old.batch != x.batch || old.heads != x.heads || old.d != x.d {
		return x, graph.Mark(graph.ErrShape, "cache %v does not take [%d,%d,%d,%d]", c.In[input], x.batch, x.heads, x.rows, x.d)
	}
	if x, err = c.asType(x, c.In[0].DType()); err != nil {
		return x, err
	}
	cache, err := c.outputOrScratch(i, c.In[input].DType(), c.In[input].Shape())
	if err != nil {
		return x, err
	}
	rows := make([]int64, x.batch)
	for b := range rows {
		rows[b] = int64(past)
	}
	all, err := cached(cache, &old, x, rows)
	all.rows = past + x.rows
	return all, err
}

// operands are queries, keys and values with their bias.
func (o *multiHead) operands(c *Run) (q, k, v heads, err error) {
	bias, err := c.floats(given(c, multiBias))
	if err != nil {
		return q, k, v, err
	}
	query, n := c.In[multiQuery], o.heads
	if s := query.Shape(); len(s) == 5 {
		if s[2] != n || s[3] != 3 {
			return q, k, v, graph.Mark(graph.ErrShape, "query %v is not [batch,tokens,%d,3,size]", query, n)
		}
		if query, err = o.biased(c, query, mixed(bias, n, 3, s[4])); err != nil {
			return q, k, v, err
		}
		part := func(i int) heads {
			h := sideBySide(query, i*s[4], n, s[4])
			h.perHead = 3 * s[4]
			return h
		}
		return part(0), part(1), part(2), nil
	}
	key, value := given(c, multiKey), given(c, multiValue)
	if key == nil {
		return q, k, v, graph.Mark(graph.ErrFormat, "key is left out and the query %v is not [batch,tokens,heads,3,size]", query)
	}
	hidden := fromEnd(query.Shape(), 1)
	if bias != nil && len(bias) < 2*hidden {
		return q, k, v, graph.Mark(graph.ErrShape, "bias has %d elements, the query rows of %d", len(bias), hidden)
	}
	part := func(from, to int) []float32 {
		if bias == nil {
			return nil
		}
		return bias[from:to]
	}
	if query, err = o.biased(c, query, part(0, hidden)); err != nil {
		return q, k, v, err
	}
	if q, err = headsOf("query", query, n); err != nil {
		return q, k, v, err
	}
	if s := key.Shape(); len(s) == 5 && value == nil {
		if s[2] != n || s[3] != 2 {
			return q, k, v, graph.Mark(graph.ErrShape, "key %v is not [batch,tokens,%d,2,size]", key, n)
		}
		if key, err = o.biased(c, key, mixed(part(hidden, len(bias)), n, 2, s[4])); err != nil {
			return q, k, v, err
		}
		k, v = sideBySide(key, 0, n, s[4]), sideBySide(key, s[4], n, s[4])
		k.perHead, v.perHead = 2*s[4], 2*s[4]
		return q, k, v, nil
	}
	if value == nil {
		return q, k, v, graph.Mark(graph.ErrFormat, "value is left out and the key %v is not [batch,tokens,heads,2,size]", key)
	}
	// Keys and values with an axis of heads have their bias already.
	if len(key.Shape()) == 3 {
		if key, err = o.biased(c, key, part(hidden, 2*hidden)); err != nil {
			return q, k, v, err
		}
		if value, err = o.biased(c, value, part(2*hidden, len(bias))); err != nil {
			return q, k, v, err
		}
	}
	if k, err = headsOf("key", key, n); err != nil {
		return q, k, v, err
	}
	v, err = headsOf("value", value, n)
	return q, k, v, err
}

func (o *multiHead) biased(c *Run, t *tensor.Tensor, bias []float32) (*tensor.Tensor, error) {
	if bias == nil {
		return t, nil
	}
	if n := t.Shape()[2:].Len(); n != len(bias) || n == 0 {
		return nil, graph.Mark(graph.ErrShape, "a bias of %d does not go with %v", len(bias), t)
	}
	return c.plusBias(o.add, t, bias)
}

// mixed puts the biases of parts that follow each other into the order of
// operands whose heads have all parts side by side.
func mixed(bias []float32, n, parts, d int) []float32 {
	if len(bias) != n*parts*d {
		return bias
	}
	out := make([]float32, len(bias))
	for p := range parts {
		for h := range n {
			copy(out[(h*parts+p)*d:][:d], bias[(p*n+h)*d:])
		}
	}
	return out
}

// mask adds the key padding mask and the scores that are given.
func (o *multiHead) mask(c *Run, a *attending, past int) error {
	m := given(c, multiMask)
	scores := given(c, multiScores)
	for i := range a.First {
		a.First[i] = int64(past)
	}
	if m == nil {
		a.Causal = o.causal
		if scores == nil {
			return nil
		}
		return a.addMask(c, scores)
	}
	p := keyMask{filter: o.filter, past: past, causal: o.causal}
	return p.apply(c, a, m, scores)
}

// keyMask is the masks of this domain: integers that say which keys are there,
// in forms that the shape tells apart. They add to scores what does not forbid a
// key altogether, so that a query all of whose keys are masked still has weights.
type keyMask struct {
	filter float32
	past   int
	causal bool
}

// apply makes mask and scores the bias of a.
func (p *keyMask) apply(c *Run, a *attending, m, scores *tensor.Tensor) error {
	list, err := Ints(m)
	if err != nil {
		return err
	}
	if scores != nil {
		if err := a.addMask(c, scores); err != nil {
			return err
		}
		if a.BiasCols != a.KVLen {
			return graph.Mark(graph.ErrShape, "attention_bias %v is not for %d keys", scores, a.KVLen)
		}
	}
	there, err := p.keys(a, m, list)
	if err != nil {
		return err
	}
	heads := 1
	if a.Bias != nil && a.BiasHead != 0 {
		heads = a.Heads
	}
	bias, err := c.scratchFloats(a.Batch * heads * a.QLen * a.KVLen)
	if err != nil {
		return err
	}
	i := 0
	for b := range a.Batch {
		for h := range heads {
			for q := range a.QLen {
				for k := range a.KVLen {
					v := float32(0)
					if !there(b, q, k) {
						v = p.filter
					}
					if p.causal && k > p.past+q {
						v = -math.MaxFloat32
					}
					if a.Bias != nil {
						v += a.Bias[b*a.BiasBatch+h*a.BiasHead+q*a.BiasRow+k]
					}
					bias[i] = v
					i++
				}
			}
		}
	}
	a.setBias(bias, tensor.Shape{a.Batch, heads, a.QLen, a.KVLen})
	return nil
}

// keys tells the forms of masks apart and returns whether a query of a batch
// sees a key.
func (p *keyMask) keys(a *attending, m *tensor.Tensor, list []int) (func(b, q, k int) bool, error) {
	s := m.Shape()
	total := a.KVLen
	switch {
	case s.Equal(tensor.Shape{a.Batch}), s.Equal(tensor.Shape{3*a.Batch + 2}):
		return func(b, _, k int) bool { return k < list[b] }, nil
	case s.Equal(tensor.Shape{2 * a.Batch}): // ends, then starts
		return func(b, _, k int) bool { return k < list[b] && k >= list[a.Batch+b] }, nil
	case s.Equal(tensor.Shape{a.Batch, total}):
		return func(b, _, k int) bool { return list[b*total+k] > 0 }, nil
	case p.past > 0 && s.Equal(tensor.Shape{a.Batch, total - p.past}):
		return func(b, _, k int) bool { return k < p.past || list[b*(total-p.past)+k-p.past] > 0 }, nil
	case s.Equal(tensor.Shape{a.Batch, a.QLen, total}):
		return func(b, q, k int) bool { return list[(b*a.QLen+q)*total+k] > 0 }, nil
	case len(s) == 4 && s[0] == a.Batch && s[1] == 1 && s[2] == s[3] && s[2] >= total && p.past+a.QLen <= s[2]:
		return func(b, q, k int) bool { return list[(b*s[2]+p.past+q)*s[2]+k] > 0 }, nil
	}
	return nil, graph.Mark(graph.ErrShape, "mask %v has none of the forms for a batch of %d, %d queries and %d keys", m, a.Batch, a.QLen, total)
}

var multiHeadRows = []Row{
	{Domain: microsoft, Name: "MultiHeadAttention", Since: []int{1}, In: [2]int{1, 10}, Out: [2]int{1, 4}, Types: narrowTypes, New: newMultiHead},
	{Domain: microsoft, Name: "Attention", Since: []int{1}, In: [2]int{2, 7}, Out: [2]int{1, 2}, Types: narrowTypes, New: newMergedAttention},
	{Domain: microsoft, Name: "GroupQueryAttention", Since: []int{1}, In: [2]int{7, 16}, Optional: these(1, 2, 3, 4), Out: [2]int{1, 4}, Types: narrowTypes, New: newGroupedAttention},
}

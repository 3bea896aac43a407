package op

import (
	"math"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// mergedAttention is attention with its own projection: one matrix and one bias
// make queries, keys and values of the input. Keys and values of the past stand
// in one value, one behind the other.
type mergedAttention struct {
	heads      int
	sizes      []int // of queries, keys and values; nil for equal ones
	scale      *float32
	masks      keyMask
	shared     bool // past and present have room for more than is there
	rotary     bool
	rotarySize int // elements of each head that turn; 0 for all
	kernels    attender
	product    multiplier
	rotate     bindings.Kernel
}

// The inputs of mergedAttention.
const (
	mergedInput = iota
	mergedWeights
	mergedBias
	mergedMask
	mergedPast
	mergedScores
	mergedPastLength
)

func newMergedAttention(n *Node) (Op, error) {
	o := &mergedAttention{
		heads: n.Int("num_heads", 0), sizes: n.Ints("qkv_hidden_sizes"), scale: microsoftScale(n),
		masks:  keyMask{filter: n.Float("mask_filter_value", -10000), causal: n.Bool("unidirectional", false)},
		shared: n.Bool("past_present_share_buffer", false), rotary: n.Bool("do_rotary", false), rotarySize: n.Int("rotary_embedding_dim", 0),
	}
	if o.heads < 1 {
		return nil, graph.Mark(graph.ErrFormat, "num_heads is %d; it takes 1 or more", o.heads)
	}
	if len(o.sizes) == 0 {
		o.sizes = nil
	} else if s := o.sizes; len(s) != 3 || s[0] != s[1] || s[0] < 1 || s[2] < 1 || s[0]%o.heads != 0 || s[2]%o.heads != 0 {
		return nil, graph.Mark(graph.ErrFormat, "qkv_hidden_sizes are %v; they are three multiples of num_heads, %d, the first two equal", s, o.heads)
	}
	if o.rotarySize < 0 || o.rotarySize%2 != 0 {
		return nil, graph.Mark(graph.ErrFormat, "rotary_embedding_dim is %d; it takes even numbers", o.rotarySize)
	}
	if o.shared && (!n.HasIn(mergedPast) || !n.HasIn(mergedPastLength)) {
		return nil, graph.Mark(graph.ErrFormat, "past_present_share_buffer is given without past and its length")
	}
	return o, nil
}

// parts is the sizes of queries and keys and of values, given all together.
func (o *mergedAttention) parts(all graph.Dim) (qk, v graph.Dim, err error) {
	n, ok := all.Value()
	if o.sizes != nil {
		if ok && n != 2*o.sizes[0]+o.sizes[2] {
			return qk, v, graph.Mark(graph.ErrShape, "the weights have %d columns and qkv_hidden_sizes are %v", n, o.sizes)
		}
		return graph.Known(o.sizes[0]), graph.Known(o.sizes[2]), nil
	}
	if ok && n%(3*o.heads) != 0 {
		return qk, v, graph.Mark(graph.ErrShape, "%d columns of weights are not three times %d heads", n, o.heads)
	}
	return all.Div(graph.Known(3)), all.Div(graph.Known(3)), nil
}

// Infer sets [batch,tokens,hidden] and the cache.
func (o *mergedAttention) Infer(c *Infer) error {
	x, w := c.In[mergedInput], c.In[mergedWeights]
	for _, i := range []int{mergedWeights, mergedBias, mergedPast, mergedScores} {
		if c.Has(i) && c.In[i].DType != x.DType {
			return graph.Mark(graph.ErrShape, "input %d has element type %v, the first %v", i, c.In[i].DType, x.DType)
		}
	}
	if x.Dims != nil && len(x.Dims) != 3 || w.Dims != nil && len(w.Dims) != 2 {
		return graph.Mark(graph.ErrShape, "input %v is not [batch,tokens,hidden] or weights %v no matrix", x.Type, w.Type)
	}
	out, present := graph.UnknownDims(3), graph.UnknownDims(5)
	if x.Dims != nil {
		copy(out, x.Dims[:2])
	}
	qk := graph.Unknown()
	if w.Dims != nil {
		var err error
		if qk, out[2], err = o.parts(w.Dims[1]); err != nil {
			return err
		}
	}
	n := graph.Known(o.heads)
	present[0], present[1], present[2], present[3], present[4] = graph.Known(2), out[0], n, out[1], qk.Div(n)
	if c.Has(mergedPast) {
		present[3] = graph.Unknown()
		if p := c.In[mergedPast].Dims; p != nil {
			if len(p) != 5 {
				return graph.Mark(graph.ErrShape, "past %v is not [2,batch,heads,tokens,size]", c.In[mergedPast].Type)
			}
			if present[3] = p[3]; !o.shared {
				present[3] = p[3].Add(out[1])
			}
		}
	}
	c.Set(0, x.DType, out)
	c.Set(1, x.DType, present)
	return nil
}

// Prepare chooses the kernels and packs the weights.
func (o *mergedAttention) Prepare(c *Prepare) (err error) {
	if err = o.kernels.prepare(c); err != nil {
		return err
	}
	if o.rotate, err = c.Kernel("f32_rotate"); err != nil {
		return err
	}
	if err = o.product.prepare(c); err != nil {
		return err
	}
	return o.product.packRight(c, mergedWeights, false)
}

// Describe names the kernels.
func (o *mergedAttention) Describe() string { return o.kernels.describe() }

// Run computes the outputs.
func (o *mergedAttention) Run(c *Run) error {
	qk, v, err := o.project(c, func(c *Run, s *products, a, b *tensor.Tensor, col, dst []float32) error {
		return o.product.runFloats(c, s, a.Pointer(), b.Pointer(), 1, col, dst)
	})
	if err != nil {
		return err
	}
	return o.attend(c, qk, v, c.In[mergedInput].DType())
}

// attend computes the outputs, of type d, from what project returned.
func (o *mergedAttention) attend(c *Run, qk, v heads, d tensor.DType) error {
	x := c.In[mergedInput].Shape()
	all, n := qk.t, o.heads
	q, k := sideBySide(all, 0, n, qk.d), sideBySide(all, n*qk.d, n, qk.d)
	v = sideBySide(all, 2*n*qk.d, n, v.d)
	past, err := o.pastLength(c)
	if err != nil {
		return err
	}
	if o.rotary {
		if err := o.turn(c, all, []heads{q, k}, past); err != nil {
			return err
		}
	}
	if k, v, err = o.grow(c, k, v, past, d); err != nil {
		return err
	}
	a, err := newAttending(q, k, v)
	if err != nil {
		return err
	}
	if o.scale != nil {
		a.Scale = *o.scale
	}
	for i := range a.First {
		a.First[i] = int64(past)
	}
	if c.Has(mergedMask) {
		p := o.masks
		p.past = past
		err = p.apply(c, a, c.In[mergedMask], given(c, mergedScores))
	} else {
		a.Causal = o.masks.causal
		if c.Has(mergedScores) {
			err = a.addMask(c, c.In[mergedScores])
		}
	}
	if err != nil {
		return err
	}
	if a.out, err = c.output(0, d, tensor.Shape{x[0], x[1], n * v.d}); err != nil {
		return err
	}
	return a.run(c, &o.kernels)
}

// project makes queries, keys and values, side by side, as float32, by a function
// that multiplies a by b and adds a vector to all rows. Of the heads returned only
// tensor and size count.
func (o *mergedAttention) project(c *Run, multiply func(c *Run, s *products, a, b *tensor.Tensor, col, dst []float32) error) (qk, v heads, err error) {
	x, w := c.In[mergedInput], c.In[mergedWeights]
	if len(x.Shape()) != 3 || len(w.Shape()) != 2 || x.Shape()[2] != w.Shape()[0] {
		return qk, v, graph.Mark(graph.ErrShape, "input %v and weights %v do not multiply", x, w)
	}
	cols := w.Shape()[1]
	qkSize, vSize, err := o.parts(graph.Known(cols))
	if err != nil {
		return qk, v, err
	}
	nqk, _ := qkSize.Value()
	nv, _ := vSize.Value()
	bias, err := c.floats(given(c, mergedBias))
	if err != nil {
		return qk, v, err
	}
	if c.Has(mergedBias) && len(bias) != cols {
		return qk, v, graph.Mark(graph.ErrShape, "bias %v is not of [%d]", c.In[mergedBias], cols)
	}
	out, err := c.scratchTensor(tensor.F32, tensor.Shape{x.Shape()[0], x.Shape()[1], cols})
	if err != nil {
		return qk, v, err
	}
	if out.Len() > 0 {
		m, k := x.Shape()[:2].Len(), x.Shape()[2]
		if err := multiply(c, &products{m: m, n: cols, k: k, aRow: k, aCol: 1, bRow: cols, bCol: 1}, x, w, bias, tensor.View[float32](out)); err != nil {
			return qk, v, err
		}
	}
	return heads{t: out, d: nqk / o.heads}, heads{t: out, d: nv / o.heads}, nil
}

// pastLength is the number of tokens that the cache has.
func (o *mergedAttention) pastLength(c *Run) (int, error) {
	if !c.Has(mergedPast) {
		return 0, nil
	}
	p := c.In[mergedPast].Shape()
	if len(p) != 5 || p[0] != 2 {
		return 0, graph.Mark(graph.ErrShape, "past %v is not [2,batch,heads,tokens,size]", c.In[mergedPast])
	}
	if !o.shared {
		return p[3], nil
	}
	list, err := Ints(c.In[mergedPastLength])
	if err != nil || len(list) != 1 {
		return 0, graph.Mark(graph.ErrShape, "past_sequence_length is %v, not one integer", c.In[mergedPastLength])
	}
	return list[0], nil
}

// grow writes the past and what is new to the present, or to scratch.
func (o *mergedAttention) grow(c *Run, k, v heads, past int, d tensor.DType) (heads, heads, error) {
	if !c.Has(mergedPast) && !c.Wants(1) {
		return k, v, nil
	}
	if k.d != v.d {
		return k, v, graph.Mark(graph.ErrShape, "keys of %d and values of %d elements do not stand in one cache", k.d, v.d)
	}
	rows := past + k.rows
	if o.shared {
		rows = c.In[mergedPast].Shape()[3]
	}
	all, err := c.outputOrScratch(1, d, tensor.Shape{2, k.batch, k.heads, rows, k.d})
	if err != nil {
		return k, v, err
	}
	counts := make([]int64, k.batch)
	for i := range counts {
		counts[i] = int64(past)
	}
	var list [2]heads
	for i, x := range []heads{k, v} {
		if x, err = c.asType(x, d); err != nil {
			return k, v, err
		}
		half, err := halfOf(all, i)
		if err != nil {
			return k, v, err
		}
		var old *heads
		if c.Has(mergedPast) {
			t, err := halfOf(c.In[mergedPast], i)
			if err != nil {
				return k, v, err
			}
			h, err := headsOf("past", t, 0)
			if err != nil {
				return k, v, err
			}
			if h.batch != k.batch || h.heads != k.heads || h.d != k.d {
				return k, v, graph.Mark(graph.ErrShape, "past %v is not of a batch of %d, %d heads of %d", c.In[mergedPast], k.batch, k.heads, k.d)
			}
			old = &h
		}
		if list[i], err = cached(half, old, x, counts); err != nil {
			return k, v, err
		}
		list[i].rows = past + k.rows
	}
	return list[0], list[1], nil
}

// halfOf is one half of a value along its first axis of 2.
func halfOf(t *tensor.Tensor, i int) (*tensor.Tensor, error) {
	n := len(t.Bytes()) / 2
	return tensor.FromBytes(t.DType(), t.Shape()[1:], t.Bytes()[i*n:][:n])
}

// turn applies rotary embeddings of base 10000 to heads of a scratch tensor.
func (o *mergedAttention) turn(c *Run, all *tensor.Tensor, list []heads, past int) error {
	size := o.rotarySize
	if size == 0 {
		size = list[0].d
	}
	if size > list[0].d || size%2 != 0 || past < 0 {
		return graph.Mark(graph.ErrShape, "%d elements of heads of %d are to turn", size, list[0].d)
	}
	pairs, tokens := size/2, list[0].rows
	cos, sin := make([]float32, tokens*pairs), make([]float32, tokens*pairs)
	for i := range cos {
		angle := float64(past+i/pairs) / math.Pow(10000, float64(2*(i%pairs))/float64(size))
		cos[i], sin[i] = float32(math.Cos(angle)), float32(math.Sin(angle))
	}
	index := make([]int64, tokens)
	for i := range index {
		index[i] = int64(i)
	}
	for _, h := range list {
		r := bindings.Rotary{
			Kernel: o.rotate, Batch: h.batch, Heads: h.heads, Tokens: tokens, D: h.d, Pairs: pairs, Cos: cos, Sin: sin, Index: index, IndexRow: 1,
			XBatch: h.perBatch, XHead: h.perHead, XRow: h.perRow, OutBatch: h.perBatch, OutHead: h.perHead, OutRow: h.perRow,
		}
		x := tensor.View[float32](all)[h.start:]
		r.Run(c.Pool, x, x)
	}
	return nil
}

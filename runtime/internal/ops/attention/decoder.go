package attention

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// DecoderAttention is DecoderMaskedMultiHeadAttention: attention of one new token. It reads a cache
// with room, to which it adds the token's key and value, or the keys and values of an encoder.
type DecoderAttention struct {
	Heads   int
	Scale   *float32 // nil for 1/sqrt(size)
	Filter  float32  // added to the score of a masked key
	Scores  bool     // output 3 shows scores before masks
	Encoder bool     // keys and values are those of an encoder
}

// The inputs of DecoderAttention.
const (
	DecoderQuery = iota
	DecoderKey
	DecoderValue
	DecoderMask
	DecoderScores
	DecoderPastKey
	DecoderPastValue
	DecoderPastLength
	DecoderBeams
	DecoderIndirection
	DecoderBias
)

func newDecoderAttention(n *op.Node) (op.Op, error) {
	o := &DecoderAttention{Heads: n.Int("num_heads", 0), Scale: microsoftScale(n),
		Filter: n.Float("mask_filter_value", -10000), Scores: n.Bool("output_qk", false), Encoder: !n.HasIn(DecoderPastKey)}
	shares := n.Bool("past_present_share_buffer", false)
	switch {
	case o.Heads < 1:
		return nil, graph.Errorf(graph.ErrFormat, "num_heads is %d", o.Heads)
	case n.HasIn(DecoderPastKey) != n.HasIn(DecoderPastValue):
		return nil, graph.Errorf(graph.ErrFormat, "past_key and past_value come together or not at all")
	case !o.Encoder && !(shares && n.HasIn(DecoderPastLength)):
		return nil, graph.Errorf(graph.ErrUnsupported, "a past without past_present_share_buffer and past_sequence_length")
	case o.Encoder && !(n.HasIn(DecoderKey) && n.HasIn(DecoderValue)), o.Encoder && n.HasIn(DecoderScores):
		return nil, graph.Errorf(graph.ErrFormat, "keys and values of an encoder are left out, or have an attention_bias")
	case !o.Encoder && !hasOutputs(n, 1, 2):
		return nil, graph.Errorf(graph.ErrUnsupported, "the outputs present_key and present_value are left out")
	case n.HasIn(DecoderKey) != n.HasIn(DecoderValue):
		return nil, graph.Errorf(graph.ErrFormat, "key and value come together or not at all")
	}
	return o, nil
}

// hasOutputs reports whether the node has all listed outputs.
func hasOutputs(n *op.Node, list ...int) bool {
	for _, i := range list {
		if i >= len(n.Outputs) || n.Outputs[i] == "" {
			return false
		}
	}
	return true
}

// Infer sets [batch,1,hidden], the caches and the weights of the keys.
func (o *DecoderAttention) Infer(c *op.Infer) error {
	q := c.In[DecoderQuery]
	for i, v := range c.In {
		want := tensor.F32
		switch i {
		case DecoderMask, DecoderPastLength, DecoderBeams, DecoderIndirection:
			want = tensor.I32
		}
		if v != nil && v.DType != want {
			return graph.Errorf(graph.ErrUnsupported, "input %d is %v; it takes %v", i, v.Type, want)
		}
	}
	out := graph.UnknownDims(3)
	if q.Dims != nil {
		if len(q.Dims) != 3 || q.Dims[1].IsKnown() && !q.Dims[1].Is(1) {
			return graph.Errorf(graph.ErrShape, "query %v is not [batch,1,hidden]", q.Type)
		}
		copy(out, q.Dims)
		if !c.Has(DecoderKey) {
			out[2] = q.Dims[2].Div(graph.Known(3))
		}
	}
	c.Set(0, q.DType, out)
	if !o.Encoder {
		for i := range 2 {
			past := c.In[DecoderPastKey+i]
			if past.Dims != nil && (len(past.Dims) != 4 || differ(past.Dims[1], graph.Known(o.Heads))) {
				return graph.Errorf(graph.ErrShape, "cache %v is not [batch,%d,room,size]", past.Type, o.Heads)
			}
			c.Set(1+i, q.DType, past.Dims)
		}
	}
	c.Set(3, q.DType, graph.Dims{out[0], graph.Known(o.Heads), graph.Known(1), graph.Unknown()})
	return nil
}

// Token returns the view of input i, the query or the new token's key or value, and which input it
// lies in: all three are side by side in the query if keys are left out.
func (o *DecoderAttention) Token(in []*op.Value, i int) (x HeadRows, input int) {
	d, n := in[DecoderQuery].Dims, graph.Known(o.Heads)
	if in[DecoderKey] == nil {
		hidden := d[2].Div(graph.Known(3))
		return HeadsSideBySide(d, hidden.Mul(graph.Known(i)), o.Heads, hidden.Div(n)), DecoderQuery
	}
	return HeadsSideBySide(d, graph.Known(0), o.Heads, d[2].Div(n)), i
}

// decoderRun has the operands of one run.
type decoderRun struct {
	*DecoderAttention
	batch, size, room, total int
	query                    []float32 // [batch,heads,size]
	keys, values             []float32 // [batch,heads,room,size]
	mask                     []int32   // [batch,total]
	bias                     []float32 // added to scores, [1 or batch,1 or heads,1,total]
	biasBatch, biasHeads     int
	beams                    int
	indirection              []int32 // [batch/beams,beams,most]
	most                     int
}

// Run adds the token to the caches and computes its attention.
func (o *DecoderAttention) Run(c *op.Run) error {
	r, err := o.operands(c)
	if err != nil {
		return err
	}
	out := tensor.View[float32](c.Out[0])
	weights := make([]float32, o.Heads*r.total)
	var all []float32
	if o.Scores && c.Wants(3) {
		t, err := c.Output(3, tensor.F32, tensor.Shape{r.batch, o.Heads, 1, r.total})
		if err != nil {
			return err
		}
		all = tensor.View[float32](t)
	}
	for b := range r.batch {
		for h := range o.Heads {
			if c.Stopped() {
				return op.ErrStopped
			}
			row := weights[h*r.total:][:r.total]
			var scaled []float32
			if all != nil {
				scaled = all[(b*o.Heads+h)*r.total:][:r.total]
			}
			r.attend(b, h, row, scaled, out[(b*o.Heads+h)*r.size:][:r.size])
		}
	}
	return nil
}

// operands reads the inputs.
func (o *DecoderAttention) operands(c *op.Run) (*decoderRun, error) {
	q := c.In[DecoderQuery].Shape()
	hidden := c.Out[0].Shape()[2]
	if hidden%o.Heads != 0 || q[1] != 1 {
		return nil, graph.Errorf(graph.ErrShape, "query %v is not one token of %d heads", c.In[DecoderQuery], o.Heads)
	}
	r := &decoderRun{DecoderAttention: o, batch: q[0], size: hidden / o.Heads, beams: 1}
	bias := make([]float32, 3*hidden)
	if t := c.Given(DecoderBias); t != nil {
		if t.Len() != len(bias) {
			return nil, graph.Errorf(graph.ErrShape, "bias %v is not of [%d]", t, len(bias))
		}
		copy(bias, tensor.View[float32](t))
	}
	r.query = make([]float32, r.batch*hidden)
	width := q[2]
	for i := range r.query {
		r.query[i] = tensor.View[float32](c.In[DecoderQuery])[i/hidden*width+i%hidden] + bias[i%hidden]
	}
	if o.Encoder {
		return r, r.overEncoder(c)
	}
	return r, r.overCache(c, bias, hidden)
}

// overEncoder sets the keys and values to those from an encoder.
func (r *decoderRun) overEncoder(c *op.Run) error {
	shape := c.In[DecoderKey].Shape()
	if len(shape) != 4 || shape[0] != r.batch || shape[1] != r.Heads || shape[3] != r.size ||
		!shape.Equal(c.In[DecoderValue].Shape()) {
		return graph.Errorf(graph.ErrShape, "keys %v and values %v are not [%d,%d,tokens,%d]", c.In[DecoderKey],
			c.In[DecoderValue], r.batch, r.Heads, r.size)
	}
	r.keys, r.values = tensor.View[float32](c.In[DecoderKey]), tensor.View[float32](c.In[DecoderValue])
	r.room, r.total = shape[2], shape[2]
	return r.conditions(c)
}

// overCache adds the key and the value of the token to the caches.
func (r *decoderRun) overCache(c *op.Run, bias []float32, hidden int) error {
	past, err := op.ScalarInt(c.In[DecoderPastLength], "past_sequence_length")
	if err != nil {
		return err
	}
	shape := c.In[DecoderPastKey].Shape()
	if len(shape) != 4 || shape[0] != r.batch || shape[1] != r.Heads || shape[3] != r.size ||
		!shape.Equal(c.In[DecoderPastValue].Shape()) {
		return graph.Errorf(graph.ErrShape, "caches %v and %v are not [%d,%d,room,%d]", c.In[DecoderPastKey],
			c.In[DecoderPastValue], r.batch, r.Heads, r.size)
	}
	if r.room = shape[2]; past < 0 || past >= r.room {
		return graph.Errorf(graph.ErrShape, "token %d is beyond a cache of %d", past, r.room)
	}
	r.total = past + 1
	for i, list := range []*[]float32{&r.keys, &r.values} {
		*list = tensor.View[float32](c.Out[1+i])
		copy(*list, tensor.View[float32](c.In[DecoderPastKey+i]))
		from, width, at := c.Given(DecoderKey+i), hidden, 0
		if from == nil {
			from, width, at = c.In[DecoderQuery], 3*hidden, (1+i)*hidden
		}
		if from.Len() != r.batch*width {
			return graph.Errorf(graph.ErrShape, "input %d, %v, is not [%d,1,%d]", DecoderKey+i, from, r.batch, hidden)
		}
		x := tensor.View[float32](from)
		for j := range r.batch * hidden {
			b, e := j/hidden, j%hidden
			(*list)[((b*r.Heads+e/r.size)*r.room+past)*r.size+e%r.size] = x[b*width+at+e] + bias[(1+i)*hidden+e]
		}
	}
	return r.conditions(c)
}

// conditions reads the mask, the bias of the scores and the origins of the beams.
func (r *decoderRun) conditions(c *op.Run) error {
	if t := c.Given(DecoderMask); t != nil {
		if t.Len() != r.batch*r.total {
			return graph.Errorf(graph.ErrShape, "mask %v is not of [%d,%d]", t, r.batch, r.total)
		}
		r.mask = tensor.View[int32](t)
	}
	if t := c.Given(DecoderScores); t != nil {
		s := t.Shape()
		if len(s) != 4 || s[0] != 1 && s[0] != r.batch || s[1] != 1 && s[1] != r.Heads || s[2] != 1 || s[3] != r.total {
			return graph.Errorf(graph.ErrShape, "attention_bias %v is not of [%d,%d,1,%d]", t, r.batch, r.Heads, r.total)
		}
		r.bias, r.biasBatch, r.biasHeads = tensor.View[float32](t), s[0], s[1]
	}
	t := c.Given(DecoderIndirection)
	if c.Has(DecoderBeams) {
		var err error
		if r.beams, err = op.ScalarInt(c.In[DecoderBeams], "beam_width"); err != nil {
			return err
		}
		if r.beams > 1 && t == nil {
			return graph.Errorf(graph.ErrShape, "beam_width is %d and cache_indirection is left out", r.beams)
		}
	}
	if t == nil || r.Encoder {
		return nil
	}
	s := t.Shape()
	if len(s) != 3 || r.beams < 1 || s[0]*s[1] != r.batch || s[1] != r.beams || s[2] < r.total {
		return graph.Errorf(graph.ErrShape, "cache_indirection %v is not of %d texts in beams of %d", t, r.batch, r.beams)
	}
	r.indirection, r.most = tensor.View[int32](t), s[2]
	for _, v := range r.indirection {
		if v < 0 || int(v) >= r.beams {
			return graph.Errorf(graph.ErrShape, "cache_indirection has beam %d of %d", v, r.beams)
		}
	}
	return nil
}

// row returns the index in the caches of the key of token t.
func (r *decoderRun) row(b, h, t int) int {
	if r.indirection != nil && t < r.total-1 {
		b = b/r.beams*r.beams + int(r.indirection[b*r.most+t])
	}
	return ((b*r.Heads+h)*r.room + t) * r.size
}

// attend computes the attention of one head of a query. If scaled is not nil, it gets the scores
// before masks.
func (r *decoderRun) attend(b, h int, weights, scaled, out []float32) {
	scale := float32(1 / math.Sqrt(float64(r.size)))
	if r.Scale != nil {
		scale = *r.Scale
	}
	query := r.query[(b*r.Heads+h)*r.size:][:r.size]
	most := float32(math.Inf(-1))
	for t := range weights {
		sum := kit.Dot(query, r.keys[r.row(b, h, t):]) * scale
		if scaled != nil {
			scaled[t] = sum
		}
		if r.mask != nil && r.mask[b*r.total+t] == 0 {
			sum += r.Filter
		}
		if r.bias != nil {
			sum += r.bias[(b%r.biasBatch*r.biasHeads+h%r.biasHeads)*r.total+t]
		}
		weights[t] = sum
		most = max(most, sum)
	}
	total := float32(0)
	for t, v := range weights {
		weights[t] = float32(math.Exp(float64(v - most)))
		total += weights[t]
	}
	clear(out)
	t := 0
	for ; t+4 <= len(weights); t += 4 {
		w := [4]float32{weights[t] / total, weights[t+1] / total, weights[t+2] / total, weights[t+3] / total}
		v0, v1 := r.values[r.row(b, h, t):][:len(out)], r.values[r.row(b, h, t+1):][:len(out)]
		v2, v3 := r.values[r.row(b, h, t+2):][:len(out)], r.values[r.row(b, h, t+3):][:len(out)]
		for i := range out {
			out[i] += (w[0]*v0[i] + w[1]*v1[i]) + (w[2]*v2[i] + w[3]*v3[i])
		}
	}
	for ; t < len(weights); t++ {
		w := weights[t] / total
		for i, x := range r.values[r.row(b, h, t):][:r.size] {
			out[i] += w * x
		}
	}
}

var decoderRows = []op.Row{
	{Domain: kit.Microsoft, Name: "DecoderMaskedMultiHeadAttention", Since: []int{1}, In: [2]int{1, 11}, Out: [2]int{1, 4}, Types: op.Types{tensor.F32}, New: newDecoderAttention},
}

package op

import (
	"slices"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// attention is scaled dot-product attention with a cache of keys and values, of
// the standard's own domain. A query that attends to no key gives zeros.
type attention struct {
	qHeads, kvHeads int // 0 where the operands have an axis of heads
	scale           *float32
	cap             float32
	causal          bool
	window          int // 0 for none
	stage           int
	doubles         bool // the softmax is asked for in float64
	kernels         attender
}

func newAttention(n *Node) (Op, error) {
	o := &attention{
		qHeads: n.Int("q_num_heads", 0), kvHeads: n.Int("kv_num_heads", 0),
		cap: n.Float("softcap", 0), causal: n.Bool("is_causal", false), stage: n.Int("qk_matmul_output_mode", 0),
	}
	o.scale = optionalFloat(n, "scale")
	if n.Since >= 25 {
		o.window = max(n.Int("local_window_size", -1), 0)
	}
	switch p := n.Int("softmax_precision", 1); p {
	case 1, 10, 16:
	case 11:
		o.doubles = true
	default:
		return nil, graph.Mark(graph.ErrUnsupported, "softmax_precision is %d; it takes 1 (float32), 10 (float16), 11 (float64), 16 (bfloat16)", p)
	}
	if o.stage < bindings.QKProduct || o.stage > bindings.QKWeights {
		return nil, graph.Mark(graph.ErrFormat, "qk_matmul_output_mode is %d; it takes 0 to 3", o.stage)
	}
	if o.qHeads < 0 || o.kvHeads < 0 || o.cap < 0 {
		return nil, graph.Mark(graph.ErrFormat, "q_num_heads, kv_num_heads or softcap is negative")
	}
	if o.window > 0 && !o.causal {
		return nil, graph.Mark(graph.ErrFormat, "local_window_size is given without is_causal")
	}
	return o, nil
}

// optionalFloat returns an attribute, nil if it is not there.
func optionalFloat(n *Node, name string) *float32 {
	if !n.Has(name) {
		return nil
	}
	v := n.Float(name, 0)
	return &v
}

// headDims is [batch,heads,rows,size] of an operand; nil if it has unknown axes.
func headDims(what string, v *Value, n int) (graph.Dims, error) {
	switch d := v.Dims; {
	case d == nil:
		return nil, nil
	case len(d) == 4:
		return d, nil
	case len(d) == 3 && n > 0:
		return graph.Dims{d[0], graph.Known(n), d[1], d[2].Div(graph.Known(n))}, nil
	default:
		return nil, graph.Mark(graph.ErrShape, "%s %v is neither [batch,heads,sequence,size] nor, with the number of heads given, [batch,sequence,hidden]", what, v.Type)
	}
}

// Infer sets what follows from the operands: the cache grows by the new rows.
func (o *attention) Infer(c *Infer) error {
	q, err := headDims("Q", c.In[0], o.qHeads)
	if err != nil {
		return err
	}
	k, err := headDims("K", c.In[1], o.kvHeads)
	if err != nil {
		return err
	}
	v, err := headDims("V", c.In[2], o.kvHeads)
	if err != nil {
		return err
	}
	for i := range 3 {
		if !floats.Has(c.In[i].DType) {
			return graph.Mark(graph.ErrUnsupported, "input %d has element type %v; it takes %v", i, c.In[i].DType, floats)
		}
	}
	if c.Has(4) != c.Has(5) {
		return graph.Mark(graph.ErrFormat, "past_key and past_value come together or not at all")
	}
	if k, err = grownDims(k, c, 4); err != nil {
		return err
	}
	if v, err = grownDims(v, c, 5); err != nil {
		return err
	}
	var out, qk graph.Dims
	switch {
	case q == nil || v == nil:
		if rank, ok := c.In[0].Rank(); ok {
			out = graph.UnknownDims(rank)
		}
	case len(c.In[0].Dims) == 3:
		out = graph.Dims{q[0], q[2], v[3].Mul(q[1])}
	default:
		out = graph.Dims{q[0], q[1], q[2], v[3]}
	}
	if q != nil && k != nil {
		qk = graph.Dims{q[0], q[1], q[2], k[2]}
	}
	c.Set(0, c.In[0].DType, out)
	c.Set(1, c.In[1].DType, k)
	c.Set(2, c.In[2].DType, v)
	c.Set(3, c.In[0].DType, qk)
	return nil
}

// grownDims adds the rows of the cache in input i, if it is there.
func grownDims(x graph.Dims, c *Infer, i int) (graph.Dims, error) {
	if !c.Has(i) || x == nil {
		return x, nil
	}
	past := c.In[i].Dims
	if past == nil {
		return graph.Dims{x[0], x[1], graph.Unknown(), x[3]}, nil
	}
	if len(past) != 4 {
		return nil, graph.Mark(graph.ErrShape, "input %d, %v, is not [batch,heads,sequence,size]", i, c.In[i].Type)
	}
	return graph.Dims{x[0], x[1], past[2].Add(x[2]), x[3]}, nil
}

// Prepare chooses the kernels.
func (o *attention) Prepare(c *Prepare) error { return o.kernels.prepare(c) }

// Describe names the kernels.
func (o *attention) Describe() string { return o.kernels.describe() }

// Run computes the outputs.
func (o *attention) Run(c *Run) error {
	a, err := o.setUp(c)
	if err != nil {
		return err
	}
	shape := tensor.Shape{a.Batch, a.Heads, a.QLen, a.DV}
	if len(c.In[0].Shape()) == 3 {
		shape = tensor.Shape{a.Batch, a.QLen, a.Heads * a.DV}
	}
	if a.out, err = c.output(0, c.In[0].DType(), shape); err != nil {
		return err
	}
	if c.Wants(3) {
		if a.qk, err = c.output(3, c.In[0].DType(), tensor.Shape{a.Batch, a.Heads, a.QLen, a.KVLen}); err != nil {
			return err
		}
		a.QKStage = o.stage
	}
	var mask *tensor.Tensor
	if c.Has(3) {
		mask = c.In[3]
		if err := a.addMask(c, mask); err != nil {
			return err
		}
	}
	if !o.doubles && !slices.ContainsFunc(c.In[:3], func(t *tensor.Tensor) bool { return t.DType() == tensor.F64 }) {
		return a.run(c, &o.kernels)
	}
	bias := converted(a.Bias, func(v float32) float64 { return float64(v) })
	if mask != nil && mask.DType() == tensor.F64 && mask.Len() == len(bias) {
		bias = tensor.View[float64](mask)
	}
	a.runWide(bias)
	return nil
}

// setUp reads the operands and joins the cache with what is new.
func (o *attention) setUp(c *Run) (*attending, error) {
	q, err := headsOf("Q", c.In[0], o.qHeads)
	if err != nil {
		return nil, err
	}
	k, err := headsOf("K", c.In[1], o.kvHeads)
	if err != nil {
		return nil, err
	}
	v, err := headsOf("V", c.In[2], o.kvHeads)
	if err != nil {
		return nil, err
	}
	past := [2]*tensor.Tensor{}
	if c.Has(4) && c.Has(5) {
		past = [2]*tensor.Tensor{c.In[4], c.In[5]}
	}
	if k, err = c.join(1, "past_key", past[0], k); err != nil {
		return nil, err
	}
	if v, err = c.join(2, "past_value", past[1], v); err != nil {
		return nil, err
	}
	a, err := newAttending(q, k, v)
	if err != nil {
		return nil, err
	}
	if o.scale != nil {
		a.Scale = *o.scale
	}
	a.Cap, a.Causal, a.Window = o.cap, o.causal, o.window
	for i := range a.First {
		if past[0] != nil {
			a.First[i] = int64(past[0].Shape()[2])
		}
	}
	if c.Has(6) {
		err = a.setLengths(c.In[6], past[0] == nil)
	}
	return a, err
}

// setLengths reads how many keys of each batch are there. Without a cache that
// grows here they end with the queries'.
func (a *attending) setLengths(t *tensor.Tensor, ends bool) error {
	list, err := Ints(t)
	if err != nil {
		return err
	}
	if len(list) != a.Batch {
		return graph.Mark(graph.ErrShape, "%d lengths of keys for a batch of %d", len(list), a.Batch)
	}
	for i, n := range list {
		if n < 0 || n > a.KVLen {
			return graph.Mark(graph.ErrShape, "batch %d has %d keys of %d", i, n, a.KVLen)
		}
		a.Valid[i] = int64(n)
		if ends {
			a.First[i] = int64(n - a.QLen)
		}
	}
	return nil
}

var attentionRows = []Row{
	{Name: "Attention", Since: []int{23, 24, 25}, In: [2]int{3, 7}, Out: [2]int{1, 4}, Types: floats, New: newAttention},
}

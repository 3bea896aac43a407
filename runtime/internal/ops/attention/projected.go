package attention

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// ProjectedAttention is attention with its own projection: one matrix and one bias make queries,
// keys and values from the input. Past keys and values are in one tensor, one after the other.
type ProjectedAttention struct {
	Heads      int
	Sizes      []int    // of queries, keys and values; nil if equal
	Scale      *float32 // nil for 1/sqrt(size)
	Filter     float32  // added to the score of a masked key
	Causal     bool
	Shared     bool // past and present have room for more rows than are in use
	Rotary     bool
	RotarySize int // elements of each head that are rotated; 0 for all
}

// The inputs of ProjectedAttention.
const (
	ProjectedInput = iota
	ProjectedWeights
	ProjectedBias
	ProjectedMask
	ProjectedPast
	ProjectedScores
	ProjectedPastLength
)

// NewProjectedAttention returns Attention of com.microsoft with the attributes of n.
func NewProjectedAttention(n *op.Node) (op.Op, error) {
	o := &ProjectedAttention{
		Heads: n.Int("num_heads", 0), Sizes: n.Ints("qkv_hidden_sizes"), Scale: microsoftScale(n),
		Filter: n.Float("mask_filter_value", -10000), Causal: n.Bool("unidirectional", false),
		Shared: n.Bool("past_present_share_buffer", false), Rotary: n.Bool("do_rotary", false),
		RotarySize: n.Int("rotary_embedding_dim", 0),
	}
	if o.Heads < 1 {
		return nil, graph.Errorf(graph.ErrFormat, "num_heads is %d; it takes 1 or more", o.Heads)
	}
	if len(o.Sizes) == 0 {
		o.Sizes = nil
	} else if s := o.Sizes; len(s) != 3 || s[0] != s[1] || s[0] < 1 || s[2] < 1 || s[0]%o.Heads != 0 || s[2]%o.Heads != 0 {
		return nil, graph.Errorf(graph.ErrFormat,
			"qkv_hidden_sizes are %v; they are three multiples of num_heads, %d, the first two equal", s, o.Heads)
	}
	if o.RotarySize < 0 || o.RotarySize%2 != 0 {
		return nil, graph.Errorf(graph.ErrFormat, "rotary_embedding_dim is %d; it takes even numbers", o.RotarySize)
	}
	if o.Shared && (!n.HasIn(ProjectedPast) || !n.HasIn(ProjectedPastLength)) {
		return nil, graph.Errorf(graph.ErrFormat, "past_present_share_buffer is given without past and its length")
	}
	return o, nil
}

// parts returns the size of queries and of keys, and the size of values, given the sum of all
// three.
func (o *ProjectedAttention) parts(all graph.Dim) (qk, v graph.Dim, err error) {
	n, ok := all.Value()
	if o.Sizes != nil {
		if ok && n != 2*o.Sizes[0]+o.Sizes[2] {
			return qk, v, graph.Errorf(graph.ErrShape, "the weights have %d columns and qkv_hidden_sizes are %v", n, o.Sizes)
		}
		return graph.Known(o.Sizes[0]), graph.Known(o.Sizes[2]), nil
	}
	if ok && n%(3*o.Heads) != 0 {
		return qk, v, graph.Errorf(graph.ErrShape, "%d columns of weights are not three times %d heads", n, o.Heads)
	}
	return all.Div(graph.Known(3)), all.Div(graph.Known(3)), nil
}

// Operands returns the views of queries, keys and values in the result of the projection,
// [batch,tokens,columns].
func (o *ProjectedAttention) Operands(in []*op.Value) (q, k, v HeadRows, err error) {
	x, w := in[ProjectedInput], in[ProjectedWeights]
	if len(x.Dims) != 3 || len(w.Dims) != 2 || differ(x.Dims[2], w.Dims[0]) {
		return q, k, v, graph.Errorf(graph.ErrShape, "input %v and weights %v do not multiply", x.Type, w.Type)
	}
	qk, size, err := o.parts(w.Dims[1])
	if err != nil {
		return q, k, v, err
	}
	n, all := graph.Known(o.Heads), graph.Dims{x.Dims[0], x.Dims[1], w.Dims[1]}
	q = HeadsSideBySide(all, graph.Known(0), o.Heads, qk.Div(n))
	k = HeadsSideBySide(all, qk, o.Heads, qk.Div(n))
	v = HeadsSideBySide(all, qk.Add(qk), o.Heads, size.Div(n))
	return q, k, v, nil
}

// Pairs returns the number of pairs that are rotated in each head of the given size.
func (o *ProjectedAttention) Pairs(size int) int {
	if o.RotarySize > 0 {
		return o.RotarySize / 2
	}
	return size / 2
}

// Infer sets [batch,tokens,hidden] and the cache.
func (o *ProjectedAttention) Infer(c *op.Infer) error {
	d := c.In[ProjectedInput].DType
	for _, i := range []int{ProjectedWeights, ProjectedBias, ProjectedPast, ProjectedScores} {
		if c.Has(i) && c.In[i].DType != d {
			return graph.Errorf(graph.ErrShape, "input %d has element type %v, the first %v", i, c.In[i].DType, d)
		}
	}
	c.Set(0, d, graph.UnknownDims(3))
	c.Set(1, d, graph.UnknownDims(5))
	if !ranksKnown(c, ProjectedInput, ProjectedWeights) {
		return nil
	}
	q, k, v, err := o.Operands(c.In)
	if err != nil {
		return err
	}
	if err := o.check(c, q); err != nil {
		return err
	}
	if (c.Has(ProjectedPast) || len(c.Out) > 1) && differ(k.Size, v.Size) {
		return graph.Errorf(graph.ErrShape, "keys of %v and values of %v elements do not stand in one cache", k.Size, v.Size)
	}
	rows := k.Rows
	if c.Has(ProjectedPast) {
		if rows, err = o.grown(c, k); err != nil {
			return err
		}
	}
	c.Set(0, d, graph.Dims{q.Batch, q.Rows, q.Heads.Mul(v.Size)})
	c.Set(1, d, graph.Dims{graph.Known(2), k.Batch, k.Heads, rows, k.Size})
	return nil
}

// grown returns the rows of the present.
func (o *ProjectedAttention) grown(c *op.Infer, k HeadRows) (graph.Dim, error) {
	past := c.In[ProjectedPast]
	if past.Dims == nil {
		return graph.Unknown(), nil
	}
	if p := past.Dims; len(p) != 5 || differ(p[0], graph.Known(2)) || differ(p[1], k.Batch) || differ(p[2], k.Heads) ||
		differ(p[4], k.Size) {
		return k.Rows, graph.Errorf(graph.ErrShape, "past %v is not [2,%v,%v,tokens,%v]", past.Type, k.Batch, k.Heads, k.Size)
	}
	if o.Shared {
		return past.Dims[3], nil
	}
	return past.Dims[3].Add(k.Rows), nil
}

func (o *ProjectedAttention) check(c *op.Infer, q HeadRows) error {
	if b := ProjectedBias; c.Has(b) && c.In[b].Dims != nil && differ(c.In[b].Dims.Len(), c.In[ProjectedWeights].Dims[1]) {
		return graph.Errorf(graph.ErrShape, "bias %v is not of [%v]", c.In[b].Type, c.In[ProjectedWeights].Dims[1])
	}
	if d, ok := q.Size.Value(); o.Rotary && ok && (2*o.Pairs(d) > d || o.RotarySize == 0 && d%2 != 0) {
		return graph.Errorf(graph.ErrShape, "%d elements of heads of %d are to be rotated", o.RotarySize, d)
	}
	if o.Shared {
		n := c.In[ProjectedPastLength]
		if err := checkCounts(c, ProjectedPastLength, "past_sequence_length"); err != nil {
			return err
		}
		if n.Dims != nil && differ(n.Dims.Len(), graph.Known(1)) {
			return graph.Errorf(graph.ErrShape, "past_sequence_length is %v, not one integer", n.Type)
		}
	}
	if err := checkKeyMask(c, ProjectedMask, q); err != nil {
		return err
	}
	return checkScores(c, ProjectedScores, q)
}

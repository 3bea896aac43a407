package attention

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// MultiHeadAttention is attention of queries, keys and values that are already projected, except
// for a bias. They are side by side in one input or separate.
type MultiHeadAttention struct {
	Narrow
	Heads  int
	Scale  *float32 // nil for 1/sqrt(size)
	Causal bool
	Filter float32 // added to the score of a masked key
}

// The inputs of MultiHeadAttention.
const (
	MultiQuery = iota
	MultiKey
	MultiValue
	MultiBias
	MultiMask
	MultiScores
	MultiPastKey
	MultiPastValue
	MultiPastLength
	multiIndirection
)

func newMultiHead(n *op.Node) (op.Op, error) {
	o := &MultiHeadAttention{Heads: n.Int("num_heads", 0), Scale: microsoftScale(n),
		Causal: n.Bool("unidirectional", false), Filter: n.Float("mask_filter_value", -10000)}
	switch {
	case o.Heads < 1:
		return nil, graph.Errorf(graph.ErrFormat, "num_heads is %d; it takes 1 or more", o.Heads)
	case n.HasIn(multiIndirection):
		return nil, graph.Errorf(graph.ErrUnsupported,
			"cache_indirection; reorder the cache with Gather after each step of a beam search")
	case n.HasIn(MultiPastKey) != n.HasIn(MultiPastValue):
		return nil, graph.Errorf(graph.ErrFormat, "past_key and past_value come together or not at all")
	case n.HasIn(MultiPastLength) && !n.HasIn(MultiPastKey):
		return nil, graph.Errorf(graph.ErrFormat, "past_sequence_length is given without a past")
	}
	return o, nil
}

// microsoftScale returns attribute scale, or nil if it is 0, which means that the size of heads
// sets it.
func microsoftScale(n *op.Node) *float32 {
	if s := n.Float("scale", 0); s != 0 {
		return &s
	}
	return nil
}

// MultiHeadOperand is the view of queries, keys or values, and the part of the bias that is added
// to them.
type MultiHeadOperand struct {
	HeadRows
	Input  int
	Biased bool
	Bias   graph.Dim // the first element; the parts of the heads follow each other
}

// Operands returns the views of queries, keys and values, with their biases.
func (o *MultiHeadAttention) Operands(in []*op.Value) (q, k, v MultiHeadOperand, err error) {
	query, key, value, bias := in[MultiQuery], in[MultiKey], in[MultiValue], in[MultiBias]
	n, has := graph.Known(o.Heads), bias != nil
	if d := query.Dims; len(d) == 5 {
		if differ(d[2], n) || differ(d[3], graph.Known(3)) {
			return q, k, v, graph.Errorf(graph.ErrShape, "query %v is not [batch,tokens,%d,3,size]", query.Type, o.Heads)
		}
		all := [3]MultiHeadOperand{}
		for i := range all {
			all[i] = MultiHeadOperand{o.mixed(d, i), MultiQuery, has, graph.Known(i).Mul(n).Mul(d[4])}
		}
		return all[0], all[1], all[2], checkProjectionBias(bias, all[0].Bias.Add(n.Mul(d[4]).Mul(graph.Known(3))))
	}
	if key == nil {
		return q, k, v, graph.Errorf(graph.ErrFormat, "key is left out and the query %v is not [batch,tokens,heads,3,size]",
			query.Type)
	}
	if q.HeadRows, err = headsOf("query", query, o.Heads); err != nil {
		return q, k, v, err
	}
	hidden := q.Heads.Mul(q.Size)
	q.Biased, k.Bias, v.Bias = has, hidden, hidden.Mul(graph.Known(2))
	k.Input, v.Input = MultiKey, MultiValue
	switch d := key.Dims; {
	case len(d) == 5 && value == nil:
		if differ(d[2], n) || differ(d[3], graph.Known(2)) {
			return q, k, v, graph.Errorf(graph.ErrShape, "key %v is not [batch,tokens,%d,2,size]", key.Type, o.Heads)
		}
		k = MultiHeadOperand{o.mixed(d, 0), MultiKey, has, hidden}
		v = MultiHeadOperand{o.mixed(d, 1), MultiKey, has, hidden.Add(n.Mul(d[4]))}
		return q, k, v, checkProjectionBias(bias, v.Bias.Add(n.Mul(d[4])))
	case value == nil:
		return q, k, v, graph.Errorf(graph.ErrFormat, "value is left out and the key %v is not [batch,tokens,heads,2,size]",
			key.Type)
	}
	if k.HeadRows, err = headsOf("key", key, o.Heads); err != nil {
		return q, k, v, err
	}
	if v.HeadRows, err = headsOf("value", value, o.Heads); err != nil {
		return q, k, v, err
	}
	// Keys and values with an axis of heads already include their bias.
	if k.Biased, v.Biased = has && len(key.Dims) == 3, has && len(key.Dims) == 3; k.Biased {
		err = checkProjectionBias(bias, v.Bias.Add(v.Heads.Mul(v.Size)))
	}
	return q, k, v, err
}

// mixed returns part i of an operand [batch,tokens,heads,parts,size].
func (o *MultiHeadAttention) mixed(d graph.Dims, i int) HeadRows {
	h := HeadsSideBySide(d, d[4].Mul(graph.Known(i)), o.Heads, d[4])
	h.PerHead = d[3].Mul(d[4])
	return h
}

// checkProjectionBias checks that the bias, if any, has n elements.
func checkProjectionBias(bias *op.Value, n graph.Dim) error {
	if bias != nil && bias.Dims != nil && differ(bias.Dims.Len(), n) {
		return graph.Errorf(graph.ErrShape, "bias %v is not of [%v]", bias.Type, n)
	}
	return nil
}

// Infer sets [batch,tokens,hidden] and the cache.
func (o *MultiHeadAttention) Infer(c *op.Infer) error {
	d := c.In[0].DType
	cache, err := o.cacheType(c, MultiPastKey, d)
	if err != nil {
		return err
	}
	if c.Has(MultiPastValue) && c.In[MultiPastValue].DType != cache {
		return graph.Errorf(graph.ErrShape, "past_key has element type %v, past_value %v", cache, c.In[MultiPastValue].DType)
	}
	for _, i := range []int{MultiKey, MultiValue, MultiBias, MultiScores} {
		codes := (i == MultiKey || i == MultiValue) && o.takesCodes(c, i, MultiPastKey)
		if codes && c.Has(MultiBias) && len(c.In[i].Dims) == 3 {
			return graph.Errorf(graph.ErrUnsupported, "input %d is codes, and a bias is added to it", i)
		}
		if c.Has(i) && c.In[i].DType != d && !codes {
			return graph.Errorf(graph.ErrShape, "input %d has element type %v, the query %v", i, c.In[i].DType, d)
		}
	}
	c.Set(0, d, graph.UnknownDims(3))
	c.Set(1, cache, graph.UnknownDims(4))
	c.Set(2, cache, graph.UnknownDims(4))
	c.Set(3, d, graph.UnknownDims(4))
	if !ranksKnown(c, MultiQuery, MultiKey, MultiValue) {
		return nil
	}
	q, k, v, err := o.Operands(inputs(c.In, MultiPastLength))
	if err != nil {
		return err
	}
	total, err := o.grow(c, &k, &v)
	if err != nil {
		return err
	}
	if err := o.check(c, q, k, v); err != nil {
		return err
	}
	c.Set(0, d, graph.Dims{q.Batch, q.Rows, q.Heads.Mul(v.Size)})
	c.Set(1, cache, cacheDims(cache, k.HeadRows))
	c.Set(2, cache, cacheDims(cache, v.HeadRows))
	c.Set(3, d, graph.Dims{q.Batch, q.Heads, q.Rows, total})
	return nil
}

// grow sets the rows of keys and values to the rows of the cache, and returns the number of rows in
// use.
func (o *MultiHeadAttention) grow(c *op.Infer, k, v *MultiHeadOperand) (total graph.Dim, err error) {
	if !c.Has(MultiPastKey) {
		return k.Rows, nil
	}
	pastKey, err := checkPast("past_key", c.In[MultiPastKey], k.HeadRows)
	if err != nil {
		return total, err
	}
	pastValue, err := checkPast("past_value", c.In[MultiPastValue], v.HeadRows)
	if err != nil {
		return total, err
	}
	if c.Has(MultiPastLength) {
		total = intOf(c, MultiPastLength).Add(k.Rows)
		k.Rows, v.Rows = pastKey, pastValue
		return total, nil
	}
	k.Rows, v.Rows = pastKey.Add(k.Rows), pastValue.Add(v.Rows)
	return k.Rows, nil
}

func (o *MultiHeadAttention) check(c *op.Infer, q, k, v MultiHeadOperand) error {
	if err := checkAttention(q.HeadRows, k.HeadRows, v.HeadRows); err != nil {
		return err
	}
	if err := checkCounts(c, MultiPastLength, "past_sequence_length"); err != nil {
		return err
	}
	if n := MultiPastLength; c.Has(n) && differ(c.In[n].Dims.Len(), graph.Known(1)) {
		return graph.Errorf(graph.ErrShape, "past_sequence_length is %v, not one integer", c.In[n].Type)
	}
	if err := checkKeyMask(c, MultiMask, q.HeadRows); err != nil {
		return err
	}
	return checkScores(c, MultiScores, q.HeadRows)
}

// KeyMask is the form of a mask of integers that selects keys.
type KeyMask int

// The forms of masks.
const (
	NoMask     KeyMask = iota
	KeyEnds            // [batch]: numbers of keys; or [3*batch+2], which begins with them
	KeyRanges          // [2*batch]: ends, and then starts, of the keys
	KeysThere          // [batch,keys], for all keys or for the new ones
	PairsThere         // [batch,queries,keys]
	SquareOf           // [batch,1,positions,positions]
)

// KeyMaskOf returns the form of a mask. The last extent is the number of columns.
func KeyMaskOf(v *op.Value, batch, queries graph.Dim) (KeyMask, error) {
	switch d := v.Dims; {
	case len(d) == 1 && (d[0].Same(batch) || d[0].Same(batch.Mul(graph.Known(3)).Add(graph.Known(2)))):
		return KeyEnds, nil
	case len(d) == 1 && d[0].Same(batch.Mul(graph.Known(2))):
		return KeyRanges, nil
	case len(d) == 2 && !differ(d[0], batch):
		return KeysThere, nil
	case len(d) == 3 && !differ(d[0], batch) && !differ(d[1], queries):
		return PairsThere, nil
	case len(d) == 4 && !differ(d[0], batch) && d[1].Is(1) && !differ(d[2], d[3]):
		return SquareOf, nil
	}
	return NoMask, graph.Errorf(graph.ErrShape, "mask %v has none of the forms for a batch of %v and %v queries", v.Type,
		batch, queries)
}

// checkKeyMask checks the mask in input i, if present.
func checkKeyMask(c *op.Infer, i int, q HeadRows) error {
	if !c.Has(i) {
		return nil
	}
	if err := checkCounts(c, i, "the mask"); err != nil {
		return err
	}
	if d := c.In[i].Dims; d == nil || len(d) == 1 && (!d[0].IsKnown() || !q.Batch.IsKnown()) {
		return nil
	}
	_, err := KeyMaskOf(c.In[i], q.Batch, q.Rows)
	return err
}

var multiHeadRows = []op.Row{
	{Domain: kit.Microsoft, Name: "MultiHeadAttention", Since: []int{1}, In: [2]int{1, 10}, Out: [2]int{1, 4}, Types: kit.ComputedInF32, Items: itemsOfMultiHead, New: newMultiHead},
	{Domain: kit.Microsoft, Name: "Attention", Since: []int{1}, In: [2]int{2, 7}, Out: [2]int{1, 2}, Types: kit.ComputedInF32, Items: itemsOfProjected, New: NewProjectedAttention},
	{Domain: kit.Microsoft, Name: "GroupQueryAttention", Since: []int{1}, In: [2]int{7, 16}, Optional: kit.Inputs(1, 2, 3, 4), Out: [2]int{1, 4}, Types: kit.ComputedInF32, Items: itemsOfGrouped, New: newGroupQueryAttention},
}

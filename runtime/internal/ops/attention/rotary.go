package attention

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// RotaryEmbedding rotates pairs of elements of heads by angles that depend on positions. The
// operators of the two domains differ in the order of their inputs and in the forms of positions.
type RotaryEmbedding struct {
	Heads, Size         int // heads, 0 if X has an axis of heads; rotated elements of each head, 0 for all
	Interleaved         bool
	Cos, Sin, Positions int  // inputs
	Offset              bool // a single position may be the first of consecutive ones
}

func newRotary(n *op.Node) (op.Op, error) {
	return readRotary(n, &RotaryEmbedding{Cos: 1, Sin: 2, Positions: 3})
}

func newMicrosoftRotary(n *op.Node) (op.Op, error) {
	// A ragged batch has a batch of 1 and a position for each token, like others.
	n.Ignore("is_packed_batching")
	if s := n.Float("scale", 1); s != 1 {
		return nil, graph.Errorf(graph.ErrUnsupported, "scale is %v; only 1 is computed", s)
	}
	return readRotary(n, &RotaryEmbedding{Positions: 1, Cos: 2, Sin: 3, Offset: true})
}

func readRotary(n *op.Node, o *RotaryEmbedding) (op.Op, error) {
	o.Heads, o.Size, o.Interleaved = n.Int("num_heads", 0), n.Int("rotary_embedding_dim", 0), n.Bool("interleaved", false)
	if o.Heads < 0 || o.Size < 0 || o.Size%2 != 0 {
		return nil, graph.Errorf(graph.ErrFormat,
			"num_heads is %d and rotary_embedding_dim %d; they cannot be negative, nor the second odd", o.Heads, o.Size)
	}
	return o, nil
}

// Infer keeps type and shape.
func (o *RotaryEmbedding) Infer(c *op.Infer) error {
	for _, i := range []int{o.Cos, o.Sin} {
		if !c.Has(i) || c.In[i].DType != c.In[0].DType {
			return graph.Errorf(graph.ErrShape, "the caches of cosines and sines must be there, with elements of %v",
				c.In[0].DType)
		}
	}
	if err := checkCounts(c, o.Positions, "position_ids"); err != nil {
		return err
	}
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	if !ranksKnown(c, 0, o.Cos, o.Sin, o.Positions) ||
		o.Heads == 0 && len(c.In[0].Dims) == 3 && !headsTold(c.In[0], c.In[o.Cos]) {
		return nil
	}
	x, pairs, err := o.Operands(c.In)
	if err != nil {
		return err
	}
	return o.check(c, x, pairs)
}

// headsTold reports whether the extents that determine the number of heads are known.
func headsTold(x, caches *op.Value) bool {
	d := append(x.Dims[2:len(x.Dims):len(x.Dims)], caches.Dims...)
	return !slices.ContainsFunc(d, func(d graph.Dim) bool { return !d.IsKnown() })
}

// Operands returns the view of the input and the number of pairs that are rotated in each head.
func (o *RotaryEmbedding) Operands(in []*op.Value) (x HeadRows, pairs graph.Dim, err error) {
	n, dims, caches := o.Heads, in[0].Dims, in[o.Cos].Dims
	if len(dims) == 4 {
		n = 0
	} else if n == 0 && o.Offset && len(dims) == 3 && len(caches) == 2 {
		// If the number of heads is not given, whole heads are rotated.
		w, ok := dims[2].Value()
		c, known := caches[1].Value()
		if ok && known && c > 0 {
			n = w / (2 * c)
		}
	}
	if x, err = headsOf("input", in[0], n); err != nil {
		return x, pairs, err
	}
	pairs = graph.Known(o.Size / 2)
	if d, ok := x.Size.Value(); o.Size == 0 {
		if pairs = x.Size.Div(graph.Known(2)); ok && d%2 != 0 {
			return x, pairs, graph.Errorf(graph.ErrShape, "heads of %d elements have no pairs", d)
		}
	} else if ok && o.Size > d {
		return x, pairs, graph.Errorf(graph.ErrShape, "%d elements of heads of %d are to be rotated", o.Size, d)
	}
	return x, pairs, nil
}

func (o *RotaryEmbedding) check(c *op.Infer, x HeadRows, pairs graph.Dim) error {
	cos, sin := c.In[o.Cos], c.In[o.Sin]
	if len(cos.Dims) != len(sin.Dims) || differ(cos.Dims.Len(), sin.Dims.Len()) {
		return graph.Errorf(graph.ErrShape, "caches of cosines %v and sines %v differ", cos.Type, sin.Type)
	}
	if !c.Has(o.Positions) {
		if d := cos.Dims; len(d) != 3 || differ(d[0], x.Batch) || differ(d[1], x.Rows) || differ(d[2], pairs) {
			return graph.Errorf(graph.ErrShape, "caches are %v; without positions they are [%v,%v,%v]", cos.Type, x.Batch,
				x.Rows, pairs)
		}
		return nil
	}
	for _, v := range []*op.Value{cos, sin} {
		if d := v.Dims; len(d) != 2 || differ(d[1], pairs) {
			return graph.Errorf(graph.ErrShape, "caches are %v; with positions they are [positions,%v]", v.Type, pairs)
		}
	}
	return checkPositions(c.In[o.Positions], o.Offset, x)
}

// checkPositions checks that positions are [batch,tokens], or, with offset, a single position.
func checkPositions(v *op.Value, offset bool, x HeadRows) error {
	if d := v.Dims; d != nil && !OffsetPosition(v, offset) &&
		(len(d) != 2 || differ(d[0], x.Batch) || differ(d[1], x.Rows)) {
		return graph.Errorf(graph.ErrShape, "positions are %v, not of [%v,%v]", v.Type, x.Batch, x.Rows)
	}
	return nil
}

// OffsetPosition reports whether v is a single position, the first of consecutive ones. It is false
// unless offset is set.
func OffsetPosition(v *op.Value, offset bool) bool {
	return offset && len(v.Dims) < 2 && v.Dims.Len().Is(1)
}

var rotaryRows = []op.Row{
	{Name: "RotaryEmbedding", Since: []int{23}, In: [2]int{3, 4}, Out: [2]int{1, 1}, Types: kit.ComputedInF32, InPlace: []int{0}, Items: itemsOfRotary(3, 1, 2), New: newRotary},
	{Domain: kit.Microsoft, Name: "RotaryEmbedding", Since: []int{1}, In: [2]int{4, 4}, Out: [2]int{1, 1}, Types: kit.ComputedInF32, InPlace: []int{0}, Items: itemsOfRotary(1, 2, 3), New: newMicrosoftRotary},
}

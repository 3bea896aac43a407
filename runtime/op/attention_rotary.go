package op

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// rotary is RotaryEmbedding of both domains, which differ in the order of their
// inputs and in what positions may look like.
type rotary struct {
	heads, size      int // of heads, 0 where X has an axis of them; and elements of each that turn, 0 for all
	interleaved      bool
	cos, sin, places int  // inputs
	offset           bool // one position may stand for those from it on
	kernel           bindings.Kernel
}

func newRotary(n *Node) (Op, error) {
	return readRotary(n, &rotary{cos: 1, sin: 2, places: 3})
}

func newMicrosoftRotary(n *Node) (Op, error) {
	// Ragged batches have a batch of 1 and a position for each token, as others do.
	n.Ignore("is_packed_batching")
	if s := n.Float("scale", 1); s != 1 {
		return nil, graph.Mark(graph.ErrUnsupported, "scale is %v; only 1 is computed", s)
	}
	return readRotary(n, &rotary{places: 1, cos: 2, sin: 3, offset: true})
}

func readRotary(n *Node, o *rotary) (Op, error) {
	o.heads, o.size, o.interleaved = n.Int("num_heads", 0), n.Int("rotary_embedding_dim", 0), n.Bool("interleaved", false)
	if o.heads < 0 || o.size < 0 || o.size%2 != 0 {
		return nil, graph.Mark(graph.ErrFormat, "num_heads is %d and rotary_embedding_dim %d; they cannot be negative, nor the second odd", o.heads, o.size)
	}
	return o, nil
}

// Infer keeps type and shape.
func (o *rotary) Infer(c *Infer) error {
	for _, i := range []int{o.cos, o.sin} {
		if !c.Has(i) || c.In[i].DType != c.In[0].DType {
			return graph.Mark(graph.ErrShape, "the caches of cosines and sines must be there, with elements of %v", c.In[0].DType)
		}
	}
	if c.Has(o.places) && !c.In[o.places].DType.IsInteger() {
		return graph.Mark(graph.ErrShape, "positions are %v, not integers", c.In[o.places].Type)
	}
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

// Prepare chooses the kernel.
func (o *rotary) Prepare(c *Prepare) (err error) {
	o.kernel, err = c.Kernel("f32_rotate")
	return err
}

// Describe names the kernel.
func (o *rotary) Describe() string { return describe(o.kernel) }

// Run computes the output, which may lie over the input.
func (o *rotary) Run(c *Run) error {
	count, caches := o.heads, c.In[o.cos].Shape()
	if len(c.In[0].Shape()) == 4 {
		count = 0
	} else if count == 0 && o.offset && len(c.In[0].Shape()) == 3 && len(caches) == 2 && caches[1] > 0 {
		// Without a number of heads all of a head turns.
		count = c.In[0].Shape()[2] / (2 * caches[1])
	}
	x, err := headsOf("input", c.In[0], count)
	if err != nil {
		return err
	}
	r := bindings.Rotary{
		Kernel: o.kernel, Batch: x.batch, Heads: x.heads, Tokens: x.rows, D: x.d, Pairs: o.size / 2, Interleaved: o.interleaved,
		XBatch: x.perBatch, XHead: x.perHead, XRow: x.perRow, OutBatch: x.perBatch, OutHead: x.perHead, OutRow: x.perRow,
	}
	if o.size == 0 {
		if r.Pairs = x.d / 2; x.d%2 != 0 {
			return graph.Mark(graph.ErrShape, "heads of %d elements do not turn in pairs", x.d)
		}
	}
	if 2*r.Pairs > x.d {
		return graph.Mark(graph.ErrShape, "%d elements of heads of %d are to turn", 2*r.Pairs, x.d)
	}
	if err := o.positions(c, &r); err != nil {
		return err
	}
	if r.Cos, err = c.floats(c.In[o.cos]); err != nil {
		return err
	}
	if r.Sin, err = c.floats(c.In[o.sin]); err != nil {
		return err
	}
	in, out, err := c.floatsInOut()
	if err != nil {
		return err
	}
	if x.t.Len() > 0 {
		r.Run(c.Pool, in, out)
	}
	c.putFloats(c.Out[0], out)
	return nil
}

// positions checks the caches and sets which of their rows tokens use.
func (o *rotary) positions(c *Run, r *bindings.Rotary) error {
	cos, sin := c.In[o.cos].Shape(), c.In[o.sin].Shape()
	if !cos.Equal(sin) {
		return graph.Mark(graph.ErrShape, "caches of cosines %v and sines %v differ", cos, sin)
	}
	if !c.Has(o.places) {
		if !cos.Equal(tensor.Shape{r.Batch, r.Tokens, r.Pairs}) {
			return graph.Mark(graph.ErrShape, "caches are %v; without positions they are [%d,%d,%d]", cos, r.Batch, r.Tokens, r.Pairs)
		}
		return nil
	}
	if len(cos) != 2 || cos[1] != r.Pairs {
		return graph.Mark(graph.ErrShape, "caches are %v; with positions they are [positions,%d]", cos, r.Pairs)
	}
	return setPositions(c.In[o.places], o.offset, cos[0], r)
}

// setPositions reads positions of [batch,tokens], or if it may be an offset one
// from which all batches start, and checks them against the rows of the caches.
func setPositions(t *tensor.Tensor, offset bool, rows int, r *bindings.Rotary) error {
	list, err := Ints(t)
	if err != nil {
		return err
	}
	switch s := t.Shape(); {
	case offset && len(list) == 1 && len(s) < 2:
		r.Index = make([]int64, r.Tokens)
		for i := range r.Index {
			r.Index[i] = int64(list[0] + i)
		}
		r.IndexRow = 1
	case s.Equal(tensor.Shape{r.Batch, r.Tokens}):
		r.Index = make([]int64, len(list))
		for i, v := range list {
			r.Index[i] = int64(v)
		}
		r.IndexBatch, r.IndexRow = r.Tokens, 1
	default:
		return graph.Mark(graph.ErrShape, "positions are %v, not of [%d,%d]", t, r.Batch, r.Tokens)
	}
	for _, p := range r.Index {
		if p < 0 || p >= int64(rows) {
			return graph.Mark(graph.ErrShape, "position %d is not in the caches, which have %d", p, rows)
		}
	}
	return nil
}

var rotaryRows = []Row{
	{Name: "RotaryEmbedding", Since: []int{23}, In: [2]int{3, 4}, Out: [2]int{1, 1}, Types: narrowTypes, InPlace: []int{0}, New: newRotary},
	{Domain: microsoft, Name: "RotaryEmbedding", Since: []int{1}, In: [2]int{4, 4}, Out: [2]int{1, 1}, Types: narrowTypes, InPlace: []int{0}, New: newMicrosoftRotary},
}

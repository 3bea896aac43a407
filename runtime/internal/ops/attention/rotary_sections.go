package attention

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sectionRotary is MRotaryEmbedding: RotaryEmbedding of tokens with three positions, in time and in
// an image. Each pair of elements turns by the angle of one of them.
type sectionRotary struct {
	rotary RotaryEmbedding
	which  []int // for each pair of a head, the index of its position
}

func newSectionRotary(n *op.Node) (op.Op, error) {
	n.Ignore("is_packed_batching")
	if s := n.Float("scale", 1); s != 1 {
		return nil, graph.Errorf(graph.ErrUnsupported, "scale is %v; only 1 is computed", s)
	}
	inner, err := readRotary(n, &RotaryEmbedding{Positions: 1, Cos: 2, Sin: 3, Offset: true})
	if err != nil {
		return nil, err
	}
	sections, pairs := n.Ints("mrope_section"), 0
	if len(sections) != 3 {
		return nil, graph.Errorf(graph.ErrFormat, "mrope_section is %v; it takes three numbers", sections)
	}
	for _, s := range sections {
		if s < 0 || s > 1<<20 {
			return nil, graph.Errorf(graph.ErrFormat, "mrope_section %v cannot be", sections)
		}
		pairs += s
	}
	o := &sectionRotary{rotary: *inner.(*RotaryEmbedding), which: make([]int, pairs)}
	switch layout := n.Int("mrope_layout", 0); layout {
	case 0:
		at := 0
		for k, s := range sections {
			for range s {
				o.which[at] = k
				at++
			}
		}
	case 1:
		for k := 1; k < 3; k++ {
			for at := k; at < min(3*sections[k], pairs); at += 3 {
				o.which[at] = k
			}
		}
	default:
		return nil, graph.Errorf(graph.ErrFormat, "mrope_layout is %d; it takes 0 or 1", layout)
	}
	return o, nil
}

// Infer keeps type and shape.
func (o *sectionRotary) Infer(c *op.Infer) error {
	for _, i := range []int{2, 3} {
		if c.In[i].DType != c.In[0].DType {
			return graph.Errorf(graph.ErrShape, "the caches have elements of %v, the input of %v", c.In[i].DType, c.In[0].DType)
		}
		if d := c.In[i].Dims; d != nil && (len(d) != 2 || differ(d[1], graph.Known(len(o.which)))) {
			return graph.Errorf(graph.ErrShape, "caches are %v; the sections have %d pairs", c.In[i].Type, len(o.which))
		}
	}
	if p := c.In[1]; p.DType != tensor.I64 || p.Dims != nil && (len(p.Dims) != 3 || differ(p.Dims[0], graph.Known(3))) {
		return graph.Errorf(graph.ErrShape, "positions are %v, not int64 of [3,batch,tokens]", p.Type)
	}
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

// layout returns the extents of the heads in input 0 and the elements from one head or row to the
// next.
func (o *sectionRotary) layout(c *op.Run) (batch, rows, heads, size int, perHead, perRow int, err error) {
	s := c.In[0].Shape()
	switch len(s) {
	case 4:
		batch, heads, rows, size = s[0], s[1], s[2], s[3]
		perHead, perRow = rows*size, size
	case 3:
		batch, rows = s[0], s[1]
		if heads = o.rotary.Heads; heads == 0 {
			heads = s[2] / max(2*len(o.which), 1)
		}
		if heads == 0 || s[2]%heads != 0 {
			return 0, 0, 0, 0, 0, 0, graph.Errorf(graph.ErrShape, "input %v does not divide into %d heads", c.In[0], heads)
		}
		size = s[2] / heads
		perHead, perRow = size, s[2]
	default:
		return 0, 0, 0, 0, 0, 0, graph.Errorf(graph.ErrShape, "input %v has not three or four axes", c.In[0])
	}
	if p := c.In[1].Shape(); p[1] != batch || p[2] != rows || 2*len(o.which) > size {
		err = graph.Errorf(graph.ErrShape, "positions %v and %d pairs do not belong to input %v", c.In[1], len(o.which),
			c.In[0])
	}
	return batch, rows, heads, size, perHead, perRow, err
}

// Run rotates pair by pair in float32.
func (o *sectionRotary) Run(c *op.Run) error {
	batch, rows, heads, size, perHead, perRow, err := o.layout(c)
	if err != nil {
		return err
	}
	x, y, err := c.FloatsInOut()
	if err != nil {
		return err
	}
	cos, err := c.Floats(c.In[2])
	if err != nil {
		return err
	}
	sin, err := c.Floats(c.In[3])
	if err != nil {
		return err
	}
	positions, n := tensor.View[int64](c.In[1]), len(o.which)
	limit := int64(c.In[2].Shape()[0])
	for _, p := range positions {
		if p < 0 || p >= limit || p >= int64(c.In[3].Shape()[0]) {
			return graph.Errorf(graph.ErrShape, "position %d is not in caches of %d", p, limit)
		}
	}
	table, err := c.ScratchFloats(2 * n)
	if err != nil {
		return err
	}
	step, far := 1, n // from a pair to the next, and between the elements of a pair
	if o.rotary.Interleaved {
		step, far = 2, 1
	}
	copy(y, x)
	for token := range batch * rows {
		if c.Stopped() {
			return op.ErrStopped
		}
		for j, k := range o.which {
			angle := int(positions[k*batch*rows+token])*n + j
			table[j], table[n+j] = cos[angle], sin[angle]
		}
		for h := range heads {
			at := token/rows*rows*heads*size + h*perHead + token%rows*perRow
			from, to := x[at:][:size], y[at:][:size]
			for j, v := range table[:n] {
				w, a := table[n+j], j*step
				p, q := from[a], from[a+far]
				to[a], to[a+far] = p*v-q*w, p*w+q*v
			}
		}
	}
	c.PutFloats(c.Out[0], y)
	return nil
}

var sectionRotaryRows = []op.Row{
	{Domain: kit.Microsoft, Name: "MRotaryEmbedding", Since: []int{1}, In: [2]int{4, 4}, Out: [2]int{1, 1}, Types: kit.ComputedInF32, New: newSectionRotary},
}

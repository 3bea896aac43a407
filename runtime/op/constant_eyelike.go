package op

import (
	"slices"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// eyeLike makes a matrix of the input's shape with ones on the diagonal k.
type eyeLike struct {
	mover
	to tensor.DType // Invalid for that of the input
	k  int
}

func newEyeLike(n *Node) (Op, error) {
	o := &eyeLike{k: n.Int("k", 0)}
	if n.Has("dtype") {
		var err error
		if o.to, err = elementType(n.Int("dtype", 0)); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (o *eyeLike) dtype(in tensor.DType) tensor.DType {
	if o.to != tensor.Invalid {
		return o.to
	}
	return in
}

func (o *eyeLike) Prepare(c *Prepare) error { return o.prepare(c, o.dtype(c.DType(0))) }

func (o *eyeLike) Infer(c *Infer) error {
	in := c.In[0]
	if rank, ok := in.Rank(); ok && rank != 2 {
		return graph.Mark(graph.ErrShape, "input is %v; it needs 2 axes", in.Type)
	}
	d := o.dtype(in.DType)
	if oneOf(d) == nil {
		return graph.Mark(graph.ErrUnsupported, "a diagonal of elements of type %v", d)
	}
	c.Set(0, d, in.Dims)
	return nil
}

// oneOf is the number 1, or true, as a tensor; nil for other types.
func oneOf(d tensor.DType) *tensor.Tensor {
	if !numeric.Has(d) && d != tensor.Bool {
		return nil
	}
	t := tensor.New(d, 1)
	switch d {
	case tensor.F32:
		fillWith[float32](t, 1)
	case tensor.F64:
		fillWith[float64](t, 1)
	case tensor.F16:
		fillWith(t, packed.ToF16(1))
	case tensor.BF16:
		fillWith(t, packed.ToBF16(1))
	default: // the lowest byte of an integer comes first
		t.Bytes()[0] = 1
	}
	return t
}

func (o *eyeLike) Run(c *Run) error {
	out := c.Out[0]
	rows, cols := out.Shape()[0], out.Shape()[1]
	clear(out.Bytes())
	k := min(max(o.k, -rows), cols)
	r, q := max(-k, 0), max(k, 0)
	if n := min(rows-r, cols-q); n > 0 {
		copyStrided(stridedCopy{src: oneOf(out.DType()), dst: out, dstAt: r*cols + q, axes: []copyAxis{{n, 0, cols + 1}}})
	}
	return nil
}

var eyeLikeRows = []Row{
	{Name: "EyeLike", Since: []int{9, 22}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: numericOrBool, New: newEyeLike},
}

var numericOrBool = slices.Concat(numeric, boolean)

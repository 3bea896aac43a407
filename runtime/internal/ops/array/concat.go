package array

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Concat joins values along an axis.
type Concat struct {
	Axis int // counted from the end if negative
}

func newConcat(n *op.Node) (op.Op, error) {
	if n.Since >= 4 && !n.Has("axis") {
		return nil, graph.Errorf(graph.ErrFormat, "attribute axis is missing")
	}
	return &Concat{Axis: n.Int("axis", 1)}, nil
}

func (o *Concat) Infer(c *op.Infer) error {
	dims, err := o.Dims(c.In)
	if err != nil {
		return err
	}
	c.Set(0, c.In[0].DType, dims)
	if dims != nil {
		o.inferInts(c)
	}
	return nil
}

// Dims returns the extents of the joined values. If no rank is known, it returns nil.
func (o *Concat) Dims(in []*op.Value) (graph.Dims, error) {
	var out graph.Dims
	for i, v := range in {
		if v.DType != in[0].DType {
			return nil, graph.Errorf(graph.ErrShape, "value %d has elements of type %v, value 0 of %v", i, v.DType, in[0].DType)
		}
		if out == nil && v.Dims != nil {
			out = graph.UnknownDims(len(v.Dims))
		}
	}
	if out == nil {
		return nil, nil
	}
	axis, err := op.NormAxis(o.Axis, len(out))
	if err != nil {
		return nil, err
	}
	sum := graph.Known(0)
	for i, v := range in {
		if v.Dims == nil {
			sum = graph.Unknown()
			continue
		}
		if len(v.Dims) != len(out) {
			return nil, graph.Errorf(graph.ErrShape, "value %d is %v; another has %d axes", i, v.Type, len(out))
		}
		sum = sum.Add(v.Dims[axis])
		for a, d := range v.Dims {
			if a == axis {
				continue
			}
			var ok bool
			if out[a], ok = kit.JoinDim(out[a], d); !ok {
				return nil, graph.Errorf(graph.ErrShape, "value %d is %v; another has %v elements along axis %d", i, v.Type,
					out[a], a)
			}
		}
	}
	out[axis] = sum
	return out, nil
}

// inferInts concatenates the known elements of vectors.
func (o *Concat) inferInts(c *op.Infer) {
	list := []graph.Dim{}
	for _, v := range c.In {
		part, ok := v.IntVec()
		if !ok || len(v.Dims) != 1 {
			return
		}
		list = append(list, part...)
	}
	c.SetInts(0, list)
}

// Copies places the inputs one after the other along the axis.
func (o *Concat) Copies(c *op.Infer) ([]Copy, error) {
	out := c.Out[0].Dims
	axis, err := op.NormAxis(o.Axis, len(out))
	if err != nil {
		return nil, err
	}
	outer, inner := out[:axis].Len(), out[axis+1:].Len()
	list := make([]Copy, len(c.In))
	at := graph.Known(0)
	for i, v := range c.In {
		n := v.Dims[axis].Mul(inner)
		list[i] = Copy{In: i, To: at, Axes: []CopyAxis{{outer, n, out[axis].Mul(inner)}, {n, graph.Known(1), graph.Known(1)}}}
		at = at.Add(n)
	}
	return list, nil
}

// Run computes the output in Go.
func (o *Concat) Run(c *op.Run) error { return runCopies(o, c) }

// Split is the inverse of Concat.
type Split struct {
	Axis  int   // counted from the end if negative
	sizes []int // from the attribute; nil for input 1 or equal parts
	count int   // num_outputs; 0 if left out
	input bool  // input 1 may have the sizes
	even  bool  // parts of unequal size must be given explicitly
	outs  int
}

func newSplit(n *op.Node) (op.Op, error) {
	o := &Split{Axis: n.Int("axis", 0), input: n.Since == 1 || n.Since >= 13, even: n.Since < 18, outs: len(n.Outputs)}
	if n.Since < 13 {
		o.sizes = n.Ints("split")
	}
	if n.Since >= 18 && n.Has("num_outputs") {
		o.count = n.Int("num_outputs", 0)
		if o.count != o.outs {
			return nil, graph.Errorf(graph.ErrFormat, "num_outputs is %d and the node has %d outputs", o.count, o.outs)
		}
		if n.HasIn(1) {
			return nil, graph.Errorf(graph.ErrFormat, "num_outputs and input split are both there")
		}
	}
	if n.HasIn(1) && (!o.input || o.sizes != nil) {
		return nil, graph.Errorf(graph.ErrFormat, "the sizes are given twice, or as an input that version %d does not have",
			n.Since)
	}
	return o, nil
}

// equal divides n elements into one part per output.
func (o *Split) equal(n int) ([]int, error) {
	if o.even && n%o.outs != 0 {
		return nil, graph.Errorf(graph.ErrShape, "%d elements do not split into %d equal parts", n, o.outs)
	}
	size := n/o.outs + kit.Btoi(n%o.outs != 0)
	list := make([]int, o.outs)
	for i := range list {
		list[i] = min(size, n)
		n -= list[i]
	}
	return list, nil
}

// CheckSizes returns an error unless sizes are not negative and add up to n.
func CheckSizes(sizes []int, n int) error {
	sum := 0
	for _, s := range sizes {
		if s < 0 || s > n-sum {
			sum = -1
			break
		}
		sum += s
	}
	if sum != n {
		return graph.Errorf(graph.ErrShape, "sizes %v do not add up to the %d elements of the axis", sizes, n)
	}
	return nil
}

func (o *Split) Infer(c *op.Infer) error {
	in := c.In[0]
	for i := range c.Out {
		c.Set(i, in.DType, nil)
	}
	rank, ok := in.Rank()
	if !ok {
		return nil
	}
	axis, err := op.NormAxis(o.Axis, rank)
	if err != nil {
		return err
	}
	parts, err := o.partDims(c, in.Dims[axis])
	if err != nil {
		return err
	}
	for i := range c.Out {
		dims := slices.Clone(in.Dims)
		dims[axis] = parts[i]
		c.Set(i, in.DType, dims)
		if list, ok := in.IntVec(); ok && rank == 1 {
			if n, ok := parts[i].Value(); ok && n <= len(list) {
				c.SetInts(i, list[:n])
				in = &op.Value{Type: in.Type, Ints: list[n:]}
			}
		}
	}
	return nil
}

// partDims returns the extent of every output along the axis of extent d.
func (o *Split) partDims(c *op.Infer, d graph.Dim) (graph.Dims, error) {
	n, known := d.Value()
	var parts graph.Dims
	switch {
	case o.sizes != nil:
		parts = graph.DimsOf(o.sizes)
	case c.Has(1):
		var err error
		if parts, err = c.In[1].Extents(); err != nil {
			return nil, err
		}
		if parts == nil {
			return graph.UnknownDims(o.outs), nil
		}
	case known:
		sizes, err := o.equal(n)
		return graph.DimsOf(sizes), err
	case o.even:
		return slices.Repeat(graph.Dims{d.Div(graph.Known(o.outs))}, o.outs), nil
	default:
		return graph.UnknownDims(o.outs), nil
	}
	if len(parts) != o.outs {
		return nil, graph.Errorf(graph.ErrShape, "%d sizes for %d outputs", len(parts), o.outs)
	}
	if sizes, ok := parts.Concrete(); ok && known {
		return parts, CheckSizes(sizes, n)
	}
	return parts, nil
}

// Copies copies each part of the axis to its output.
func (o *Split) Copies(c *op.Infer) ([]Copy, error) {
	in := c.In[0].Dims
	axis, err := op.NormAxis(o.Axis, len(in))
	if err != nil {
		return nil, err
	}
	sizes, err := o.parts(c, in[axis])
	if err != nil {
		return nil, err
	}
	outer, inner := in[:axis].Len(), in[axis+1:].Len()
	var list []Copy
	at := graph.Known(0)
	for i, s := range sizes {
		n := s.Mul(inner)
		if wants(c, i) {
			shape := slices.Clone(in)
			shape[axis] = s
			if err := wantDims(c, i, shape); err != nil {
				return nil, err
			}
			list = append(list, Copy{Out: i, From: at,
				Axes: []CopyAxis{{outer, in[axis].Mul(inner), n}, {n, graph.Known(1), graph.Known(1)}}})
		}
		at = at.Add(n)
	}
	return list, nil
}

// parts returns the extents of the parts of an axis of extent d.
func (o *Split) parts(c *op.Infer, d graph.Dim) (sizes graph.Dims, err error) {
	if c.Has(1) && c.In[1].Const == nil && c.In[1].Ints == nil {
		return nil, &ElementsError{1}
	}
	if sizes, err = o.partDims(c, d); err != nil {
		return nil, err
	}
	for _, s := range sizes {
		if s.IsUnknown() {
			return nil, ErrSymbolic
		}
	}
	return sizes, nil
}

// Run computes the outputs in Go.
func (o *Split) Run(c *op.Run) error { return runCopies(o, c) }

var concatRows = []op.Row{
	{Name: "Concat", Since: []int{1, 4, 11, 13}, In: [2]int{1, op.Any}, Out: [2]int{1, 1}, Rowwise: kit.RowsAlongLast(0), Items: itemsOfConcat, New: newConcat},
	{Name: "Split", Since: []int{1, 2, 11, 13, 18}, In: [2]int{1, 2}, Out: [2]int{1, op.Any}, Rowwise: kit.RowsAlongLast(0, 0), Items: itemsOfSplit, New: newSplit},
}

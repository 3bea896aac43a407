package array

import (
	"errors"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// viewed provides Run for operators with one output that has the bytes of input 0.
type viewed struct{}

// Run does nothing: the output is already set.
func (viewed) Run(*op.Run) error { return nil }

type identity struct{ viewed }

func newIdentity(*op.Node) (op.Op, error) { return identity{}, nil }

func (identity) Infer(c *op.Infer) error {
	c.SetType(0, c.In[0].Type)
	list, _ := c.In[0].IntVec()
	c.SetInts(0, list)
	return nil
}

// reshape gives the elements another shape. An extent of 0 is copied from the input unless
// allowZero. An extent of -1 follows from the number of elements.
type reshape struct {
	viewed
	shape     []int // from the attribute; nil if input 1 has it
	allowZero bool
}

func newReshape(n *op.Node) (op.Op, error) {
	if n.Since < 5 {
		return &reshape{shape: append([]int{}, n.Ints("shape")...)}, nil
	}
	return &reshape{allowZero: n.Since >= 14 && n.Bool("allowzero", false)}, nil
}

func (o *reshape) Infer(c *op.Infer) error {
	in := c.In[0]
	want := graph.DimsOf(o.shape)
	if o.shape == nil {
		var err error
		if want, err = c.In[1].Extents(); err != nil {
			return err
		}
	}
	c.Set(0, in.DType, nil)
	if want == nil {
		return nil
	}
	out, err := o.resolve(in.Dims, want)
	if err != nil {
		return err
	}
	c.Set(0, in.DType, out)
	if list, ok := in.IntVec(); ok && len(out) < 2 {
		c.SetInts(0, list)
	}
	return nil
}

// resolve replaces the extents 0 and -1 of want, for an input of extents in.
func (o *reshape) resolve(in, want graph.Dims) (graph.Dims, error) {
	out := slices.Clone(want)
	rest := -1
	all, part := slices.Clone(in), graph.Dims{} // the extents that -1 is a quotient of
	for i, d := range want {
		n, known := d.Value()
		switch {
		case !known || n > 0 || n == 0 && o.allowZero:
		case n == 0 && in == nil:
			out[i] = graph.Unknown()
		case n == 0 && i >= len(in):
			return nil, graph.Errorf(graph.ErrShape, "shape %v takes axis %d from an input with %d axes", want, i, len(in))
		case n == 0: // cancels in the quotient, which even an extent of 0 leaves defined
			out[i], all[i] = in[i], graph.Known(1)
			continue
		case n == -1 && rest < 0:
			rest = i
		case n == -1:
			return nil, graph.Errorf(graph.ErrShape, "shape %v has more than one extent of -1", want)
		default:
			return nil, graph.Errorf(graph.ErrShape, "shape %v has a negative extent", want)
		}
		if i != rest {
			part = append(part, out[i])
		}
	}
	if rest >= 0 {
		d, err := quotient(all, part)
		if err != nil {
			return nil, graph.Errorf(graph.ErrShape, "shape %v does not fit an input of %v", want, in)
		}
		out[rest] = d
		return out, nil
	}
	shape, ok1 := out.Concrete()
	from, ok2 := in.Concrete()
	if ok1 && ok2 && (shape.Check() != nil || shape.Len() != from.Len()) {
		return nil, graph.Errorf(graph.ErrShape, "shape %v does not fit an input of %v", want, in)
	}
	return out, nil
}

// quotient returns the extent x such that x times the product of part is the product of all. If it
// does not follow, x is unknown.
func quotient(all, part graph.Dims) (graph.Dim, error) {
	num, den := all.Len(), part.Len()
	if all == nil || num.IsUnknown() {
		return graph.Unknown(), nil
	}
	x := num.Div(den)
	if _, ok := part.Concrete(); ok && num.IsKnown() && (den.Is(0) || !x.Mul(den).Same(num)) {
		return graph.Dim{}, errNotWhole
	}
	return x, nil
}

var errNotWhole = errors.New("the quotient is not a whole number")

// flatten joins the axes before an axis into one, and the axes from it on into another.
type flatten struct {
	viewed
	axis int
}

func newFlatten(n *op.Node) (op.Op, error) { return &flatten{axis: n.Int("axis", 1)}, nil }

func (o *flatten) Infer(c *op.Infer) error {
	in := c.In[0]
	rank, ok := in.Rank()
	if !ok {
		c.Set(0, in.DType, graph.UnknownDims(2))
		return nil
	}
	axis := o.axis
	if axis != rank {
		var err error
		if axis, err = op.NormAxis(axis, rank); err != nil {
			return err
		}
	}
	c.Set(0, in.DType, graph.Dims{in.Dims[:axis].Len(), in.Dims[axis:].Len()})
	return nil
}

// axesOp is Squeeze or Unsqueeze: it removes or adds axes of extent 1.
type axesOp struct {
	viewed
	axes  []int // from the attribute
	input bool  // input 1 may have the axes
	infer func(o *axesOp, c *op.Infer, axes []int) (graph.Dims, error)
}

func newAxesOp(n *op.Node, infer func(o *axesOp, c *op.Infer, axes []int) (graph.Dims, error)) (*axesOp, error) {
	o := &axesOp{input: n.Since >= 13, infer: infer}
	if o.input {
		return o, nil
	}
	o.axes = n.Ints("axes")
	return o, nil
}

func newSqueeze(n *op.Node) (op.Op, error) { return newAxesOp(n, (*axesOp).squeezed) }

func newUnsqueeze(n *op.Node) (op.Op, error) {
	o, err := newAxesOp(n, (*axesOp).unsqueezed)
	if err == nil && !o.input && o.axes == nil {
		err = graph.Errorf(graph.ErrFormat, "attribute axes is missing")
	}
	return o, err
}

// newExpandDims is Unsqueeze with one axis.
func newExpandDims(n *op.Node) (op.Op, error) {
	return &axesOp{input: true, infer: func(o *axesOp, c *op.Infer, axes []int) (graph.Dims, error) {
		if len(axes) != 1 {
			return nil, graph.Errorf(graph.ErrShape, "axis is %v, not one number", axes)
		}
		return o.unsqueezed(c, axes)
	}}, nil
}

func (o *axesOp) Infer(c *op.Infer) error {
	in := c.In[0]
	c.Set(0, in.DType, nil)
	axes := o.axes
	if c.Has(1) {
		var known bool
		var err error
		if axes, known, err = c.In[1].KnownAxes(); err != nil || !known {
			return err
		}
	}
	if in.Dims == nil {
		return nil
	}
	dims, err := o.infer(o, c, axes)
	if err != nil {
		return err
	}
	c.Set(0, in.DType, dims)
	if list, ok := in.IntVec(); ok && dims != nil && len(dims) < 2 {
		c.SetInts(0, list)
	}
	return nil
}

func (o *axesOp) squeezed(c *op.Infer, axes []int) (graph.Dims, error) {
	in := c.In[0].Dims
	out := graph.Dims{}
	if axes == nil {
		for _, d := range in {
			switch {
			case !d.IsKnown():
				return nil, nil
			case !d.Is(1):
				out = append(out, d)
			}
		}
		return out, nil
	}
	gone := make([]bool, len(in)) // an axis may be named twice
	for _, a := range axes {
		i, err := op.NormAxis(a, len(in))
		if err != nil {
			return nil, err
		}
		gone[i] = true
	}
	for i, d := range in {
		switch {
		case !gone[i]:
			out = append(out, d)
		case d.IsKnown() && !d.Is(1):
			return nil, graph.Errorf(graph.ErrShape, "axis %d of %v has not one element", i, c.In[0].Type)
		}
	}
	return out, nil
}

func (o *axesOp) unsqueezed(c *op.Infer, axes []int) (graph.Dims, error) {
	in := c.In[0].Dims
	if err := kit.CountAxes(len(in)+len(axes), op.MaxInts); err != nil {
		return nil, err
	}
	axes, err := kit.NormAxes(axes, len(in)+len(axes))
	if err != nil {
		return nil, err
	}
	out := make(graph.Dims, len(in)+len(axes))
	for i := range out {
		if slices.Contains(axes, i) {
			out[i] = graph.Known(1)
		} else {
			out[i], in = in[0], in[1:]
		}
	}
	return out, nil
}

// Shape yields the extents of a range of axes of its input.
type Shape struct {
	start, end int
	toEnd      bool
}

func newShape(n *op.Node) (op.Op, error) {
	if n.Since < 15 {
		return &Shape{toEnd: true}, nil
	}
	return &Shape{start: n.Int("start", 0), end: n.Int("end", 0), toEnd: !n.Has("end")}, nil
}

// part returns the range of axes for a value of the given rank.
func (o *Shape) part(rank int) (start, end int) {
	clamp := func(i int) int {
		if i < 0 {
			i += rank
		}
		return min(max(i, 0), rank)
	}
	start, end = clamp(o.start), rank
	if !o.toEnd {
		end = clamp(o.end)
	}
	return start, max(start, end)
}

func (o *Shape) Infer(c *op.Infer) error {
	rank, ok := c.In[0].Rank()
	if !ok {
		c.Set(0, tensor.I64, graph.UnknownDims(1))
		return nil
	}
	start, end := o.part(rank)
	c.Set(0, tensor.I64, graph.Dims{graph.Known(end - start)})
	c.SetInts(0, slices.Clone(c.In[0].Dims[start:end]))
	return nil
}

func (o *Shape) Run(c *op.Run) error {
	shape := c.In[0].Shape()
	start, end := o.part(len(shape))
	kit.PutInts(c.Out[0], shape[start:end])
	return nil
}

// Size yields the number of elements of its input.
type Size struct{}

func newSize(*op.Node) (op.Op, error) { return Size{}, nil }

func (Size) Infer(c *op.Infer) error {
	c.Set(0, tensor.I64, graph.Dims{})
	if d := c.In[0].Dims; d != nil {
		c.SetInts(0, []graph.Dim{d.Len()})
	}
	return nil
}

func (Size) Run(c *op.Run) error {
	kit.PutInts(c.Out[0], []int{c.In[0].Len()})
	return nil
}

var shapeRows = []op.Row{
	{Name: "Identity", Since: []int{1, 13, 14, 16, 19, 21, 23, 24, 25}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Kinds: true, View: true, Elementwise: true, Derivative: sameDerivative, New: newIdentity},
	{Name: "Reshape", Since: []int{1, 5, 13, 14, 19, 21, 23, 24, 25}, In: [2]int{1, 1}, Later: []op.Arity{{Since: 5, In: [2]int{2, 2}}}, Out: [2]int{1, 1}, View: true, Derivative: viewDerivative, Items: itemsOfView, New: newReshape},
	{Name: "Flatten", Since: []int{1, 9, 11, 13, 21, 23, 24, 25}, In: [2]int{1, 1}, Out: [2]int{1, 1}, View: true, Derivative: viewDerivative, Items: itemsOfView, New: newFlatten},
	{Name: "Squeeze", Since: []int{1, 11, 13, 21, 23, 24, 25}, In: [2]int{1, 1}, Later: []op.Arity{{Since: 13, In: [2]int{1, 2}}}, Out: [2]int{1, 1}, View: true, Derivative: viewDerivative, Items: itemsOfView, New: newSqueeze},
	{Name: "Unsqueeze", Since: []int{1, 11, 13, 21, 23, 24, 25}, In: [2]int{1, 1}, Later: []op.Arity{{Since: 13, In: [2]int{2, 2}}}, Out: [2]int{1, 1}, View: true, Derivative: viewDerivative, Items: itemsOfView, New: newUnsqueeze},
	{Domain: kit.Microsoft, Name: "ExpandDims", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1}, View: true, Items: itemsOfView, New: newExpandDims},
	{Name: "Shape", Since: []int{1, 13, 15, 19, 21, 23, 24, 25}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Flat: true, New: newShape},
	{Name: "Size", Since: []int{1, 13, 19, 21, 23, 24, 25}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Flat: true, New: newSize},
}

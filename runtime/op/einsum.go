package op

import (
	"slices"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// einsum is the Einstein summation over any number of operands. They are taken
// in from left to right, each by one batch of matrix products; axes that only
// one of two operands has, and nothing later needs, are summed before. Integers
// are computed in 64 bits and wrap around, 16-bit floats in float32.
type einsum struct {
	equation *equation
	product  multiplier
}

func newEinsum(n *Node) (Op, error) {
	e, err := parseEquation(n.Str("equation", ""))
	if err != nil {
		return nil, err
	}
	if len(e.terms) != len(n.Inputs) {
		return nil, graph.Mark(graph.ErrFormat, "attribute equation has %d terms for %d inputs", len(e.terms), len(n.Inputs))
	}
	return &einsum{equation: e}, nil
}

// Infer looks up the extents of the output's axes.
func (o *einsum) Infer(c *Infer) error {
	if err := sameTypes(c.In); err != nil {
		return err
	}
	c.Set(0, c.In[0].DType, nil)
	dims := make([]graph.Dims, len(c.In))
	for i, v := range c.In {
		if dims[i] = v.Dims; dims[i] == nil {
			return nil
		}
	}
	_, names, extents, err := o.equation.bind(dims)
	if err != nil {
		return err
	}
	out := make(graph.Dims, len(names))
	for i, name := range names {
		out[i] = extents[name]
	}
	c.Set(0, c.In[0].DType, out)
	return nil
}

// sumType is the type in which elements are computed.
func sumType(d tensor.DType) tensor.DType {
	switch {
	case isNarrow(d):
		return tensor.F32
	case d == tensor.F64:
		return tensor.F64
	}
	return tensor.I64
}

// Prepare chooses the kernels.
func (o *einsum) Prepare(c *Prepare) error {
	d := sumType(c.DType(0))
	o.product.dtype = d
	var err error
	o.product.kernel, err = c.Kernel(gemmOps[d])
	return err
}

// Describe names the kernel.
func (o *einsum) Describe() string { return o.product.describe() }

// strided is elements of a tensor as named axes, each of more than one element,
// that may lie in any order.
type strided struct {
	t     *tensor.Tensor // of the type that sums are computed in
	names []rune
	axes  map[rune]stridedAxis
}

type stridedAxis struct{ n, step int }

// Run computes the output.
func (o *einsum) Run(c *Run) error {
	dims := make([]graph.Dims, len(c.In))
	for i, t := range c.In {
		dims[i] = graph.DimsOf(t.Shape())
	}
	names, outNames, extents, err := o.equation.bind(dims)
	if err != nil {
		return err
	}
	shape := make(tensor.Shape, len(outNames))
	for i, name := range outNames {
		shape[i], _ = extents[name].Value()
	}
	out, err := c.output(0, c.In[0].DType(), shape)
	if err != nil || out.Len() == 0 {
		return err
	}
	for _, d := range extents {
		if d.Is(0) { // sums of nothing
			clear(out.Bytes())
			return nil
		}
	}
	var acc *strided
	for i, t := range c.In {
		wide, err := o.widen(c, t)
		if err != nil {
			return err
		}
		x := asStrided(wide, names[i])
		if i == 0 {
			acc = x
			continue
		}
		needed := slices.Concat(append([][]rune{outNames}, names[i+1:]...)...) // by the result and operands to come
		if acc, err = o.contract(c, acc, x, needed); err != nil {
			return err
		}
	}
	if acc, err = o.sum(c, acc, outNames); err != nil {
		return err
	}
	return o.finish(c, acc, outNames, out)
}

// widen returns the elements in the type that sums are computed in.
func (o *einsum) widen(c *Run, t *tensor.Tensor) (*tensor.Tensor, error) {
	d := sumType(t.DType())
	if d == t.DType() {
		return t, nil
	}
	if d == tensor.F32 {
		list, err := c.floats(t)
		if err != nil {
			return nil, err
		}
		return tensor.From(list, t.Shape()...)
	}
	list, err := c.int64s(t.Len())
	if err != nil {
		return nil, err
	}
	switch t.DType() {
	case tensor.I8:
		convertTo(list, tensor.View[int8](t))
	case tensor.I16:
		convertTo(list, tensor.View[int16](t))
	case tensor.I32:
		convertTo(list, tensor.View[int32](t))
	case tensor.U8:
		convertTo(list, tensor.View[uint8](t))
	case tensor.U16:
		convertTo(list, tensor.View[uint16](t))
	case tensor.U32:
		convertTo(list, tensor.View[uint32](t))
	case tensor.U64:
		convertTo(list, tensor.View[uint64](t))
	}
	return tensor.From(list, t.Shape()...)
}

func convertTo[T, U integer](dst []U, src []T) {
	for i, v := range src {
		dst[i] = U(v)
	}
}

// asStrided sees a tensor under the names of its axes. A name that stands twice
// walks the diagonal.
func asStrided(t *tensor.Tensor, names []rune) *strided {
	s := &strided{t: t, axes: map[rune]stridedAxis{}}
	steps := t.Shape().Strides()
	for a, name := range names {
		n := t.Shape()[a]
		if n == 1 {
			continue
		}
		axis, had := s.axes[name]
		if !had {
			s.names = append(s.names, name)
		}
		s.axes[name] = stridedAxis{n, axis.step + steps[a]}
	}
	return s
}

// scratch returns memory for a result with those axes in row-major order.
func (o *einsum) scratch(c *Run, names []rune, from ...*strided) (*strided, error) {
	shape := make(tensor.Shape, len(names))
	for i, name := range names {
		for _, x := range from {
			shape[i] = max(shape[i], x.axes[name].n)
		}
	}
	if err := shape.Check(); err != nil {
		return nil, graph.Mark(graph.ErrShape, "an intermediate result: %w", err)
	}
	b, err := c.Mem.Scratch(o.product.dtype.Bytes(shape.Len()))
	if err != nil {
		return nil, err
	}
	t, err := tensor.FromBytes(o.product.dtype, shape, b)
	if err != nil {
		return nil, err
	}
	return asStrided(t, names), nil
}

// sum adds up over the axes that are not among those kept.
func (o *einsum) sum(c *Run, x *strided, kept []rune) (*strided, error) {
	var names, summed []rune
	for _, name := range x.names {
		if slices.Contains(kept, name) {
			names = append(names, name)
		} else {
			summed = append(summed, name)
		}
	}
	if summed == nil {
		return x, nil
	}
	y, err := o.scratch(c, names, x)
	if err != nil {
		return nil, err
	}
	outer, inner := x.copyAxes(names, nil), x.copyAxes(summed, nil)
	switch o.product.dtype {
	case tensor.F32:
		addUp(tensor.View[float32](x.t), tensor.View[float32](y.t), outer, inner)
	case tensor.F64:
		addUp(tensor.View[float64](x.t), tensor.View[float64](y.t), outer, inner)
	default:
		addUp(tensor.View[int64](x.t), tensor.View[int64](y.t), outer, inner)
	}
	return y, nil
}

func addUp[T float32 | float64 | int64](x, y []T, outer, inner []copyAxis) {
	i := 0
	eachElement(outer, 0, 0, func(at, _ int) {
		var sum T
		eachElement(inner, at, 0, func(at, _ int) { sum += x[at] })
		y[i] = sum
		i++
	})
}

// copyAxes is the axes of those names, with their steps here and, unless it is
// nil, in y. An axis that either lacks has step 0 there.
func (x *strided) copyAxes(names []rune, y *strided) []copyAxis {
	list := make([]copyAxis, len(names))
	for i, name := range names {
		list[i] = copyAxis{n: x.axes[name].n, from: x.axes[name].step}
		if y != nil {
			list[i].n = max(list[i].n, y.axes[name].n)
			list[i].to = y.axes[name].step
		}
	}
	return list
}

// contract multiplies two operands and sums over what is not needed after.
func (o *einsum) contract(c *Run, a, b *strided, needed []rune) (*strided, error) {
	a, err := o.sum(c, a, slices.Concat(needed, b.names))
	if err != nil {
		return nil, err
	}
	if b, err = o.sum(c, b, slices.Concat(needed, a.names)); err != nil {
		return nil, err
	}
	var batch, rows, inner, cols []rune
	for _, name := range a.names {
		switch {
		case b.axes[name].n == 0:
			rows = append(rows, name)
		case slices.Contains(needed, name):
			batch = append(batch, name)
		default:
			inner = append(inner, name)
		}
	}
	for _, name := range b.names {
		if a.axes[name].n == 0 {
			cols = append(cols, name)
		}
	}
	if a, err = o.arrange(c, a, batch, rows, inner); err != nil {
		return nil, err
	}
	if b, err = o.arrange(c, b, batch, inner, cols); err != nil {
		return nil, err
	}
	y, err := o.scratch(c, slices.Concat(batch, rows, cols), a, b)
	if err != nil {
		return nil, err
	}
	var s products
	s.m, s.aRow, _ = a.joined(rows)
	s.k, s.aCol, _ = a.joined(inner)
	_, s.bRow, _ = b.joined(inner)
	s.n, s.bCol, _ = b.joined(cols)
	axes := a.copyAxes(batch, b)
	for _, x := range axes {
		s.batch = append(s.batch, x.n)
	}
	for _, x := range axes {
		s.batch = append(s.batch, x.from)
	}
	for _, x := range axes {
		s.batch = append(s.batch, x.to)
	}
	return y, o.product.run(c, &s, a.t, b.t, y.t, addend{alpha: 1})
}

// joined sees neighbouring axes as one, if steps allow that.
func (x *strided) joined(names []rune) (n, step int, ok bool) {
	n, step = 1, 1
	for i, name := range slices.Backward(names) {
		axis := x.axes[name]
		if i == len(names)-1 {
			step = axis.step
		} else if axis.step != n*step {
			return 0, 0, false
		}
		n *= axis.n
	}
	return n, step, true
}

// arrange returns x, or a copy in which each group of names is one axis.
func (o *einsum) arrange(c *Run, x *strided, batch, first, second []rune) (*strided, error) {
	_, _, ok := x.joined(first)
	_, _, both := x.joined(second)
	if ok && both {
		return x, nil
	}
	names := slices.Concat(batch, first, second)
	y, err := o.scratch(c, names, x)
	if err != nil {
		return nil, err
	}
	copyStrided(stridedCopy{src: x.t, dst: y.t, axes: x.copyAxes(names, y)})
	return y, nil
}

// finish writes the result in the order of its names and in its own type.
func (o *einsum) finish(c *Run, x *strided, names []rune, out *tensor.Tensor) error {
	y := asStrided(out, names)
	axes := x.copyAxes(y.names, y)
	if out.DType() == x.t.DType() || out.DType() == tensor.U64 {
		copyStrided(stridedCopy{src: x.t, dst: out, axes: axes})
		return nil
	}
	switch out.DType() {
	case tensor.F16:
		narrowTo(out, tensor.View[float32](x.t), axes, packed.ToF16)
	case tensor.BF16:
		narrowTo(out, tensor.View[float32](x.t), axes, packed.ToBF16)
	case tensor.I8:
		narrowTo(out, tensor.View[int64](x.t), axes, func(v int64) int8 { return int8(v) })
	case tensor.I16:
		narrowTo(out, tensor.View[int64](x.t), axes, func(v int64) int16 { return int16(v) })
	case tensor.I32:
		narrowTo(out, tensor.View[int64](x.t), axes, func(v int64) int32 { return int32(v) })
	case tensor.U8:
		narrowTo(out, tensor.View[int64](x.t), axes, func(v int64) uint8 { return uint8(v) })
	case tensor.U16:
		narrowTo(out, tensor.View[int64](x.t), axes, func(v int64) uint16 { return uint16(v) })
	case tensor.U32:
		narrowTo(out, tensor.View[int64](x.t), axes, func(v int64) uint32 { return uint32(v) })
	}
	return nil
}

func narrowTo[T any, U tensor.Element](out *tensor.Tensor, from []T, axes []copyAxis, narrow func(T) U) {
	to := tensor.View[U](out)
	eachElement(axes, 0, 0, func(src, dst int) { to[dst] = narrow(from[src]) })
}

var einsumRows = []Row{
	{Name: "Einsum", Since: []int{12}, In: [2]int{1, Any}, Out: [2]int{1, 1}, Types: numeric, New: newEinsum},
}

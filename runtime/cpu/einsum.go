package cpu

import (
	"slices"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op/arith"
	"github.com/nacre-ml/nacre/runtime/op/array"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var einsumRows = []row{
	rowFor("products", bindEinsum),
}

// einsum makes the commands of one summation. Operands are taken in from left to right,
// each by one batch of products; axes that only one of two operands has, and nothing later
// needs, are summed before.
type einsum struct {
	*binder
	dtype tensor.DType // in which sums are computed
	names []rune       // of the axes of the output
}

// named is elements as named axes, each of more than one element, that may lie in any
// order.
type named struct {
	at    device.Operand
	names []rune
	axes  map[rune]namedAxis
}

type namedAxis struct{ n, step int }

// sumType is the type in which sums of elements of type d are computed.
func sumType(d tensor.DType) tensor.DType {
	switch {
	case wide(d) == tensor.F32:
		return tensor.F32
	case d == tensor.F64:
		return tensor.F64
	}
	return tensor.I64
}

// sameBits reports whether elements of both types are the same bits: sums that wrap do
// not depend on signs.
func sameBits(d, sum tensor.DType) bool { return d == sum || d == tensor.U64 && sum == tensor.I64 }

func bindEinsum(o *arith.Einsum, b *binder) error {
	dims := make([]graph.Dims, len(b.In))
	for i := range b.In {
		if dims[i] = b.In[i].Dims; b.Shape(i) == nil {
			return device.Refuse("extents %v are not known", dims[i])
		}
	}
	names, out, extents, err := o.Axes(dims)
	if err != nil || b.isEmpty() {
		return err
	}
	for _, d := range extents {
		if d.Is(0) { // sums of nothing
			zeros := array.Copy{Axes: []array.CopyAxis{{N: b.Out[0].Dims.Len(), To: graph.Known(1)}}}
			return b.copy(b.Out[0].DType, []array.Copy{zeros}, constant[int64](0, 0), b.out(0))
		}
	}
	e := &einsum{binder: b, dtype: sumType(b.DType(0)), names: out}
	if len(b.In) == 1 && !slices.ContainsFunc(names[0], func(n rune) bool { return !slices.Contains(out, n) }) {
		e.dtype = b.DType(0) // nothing is summed
	}
	return e.bind(names)
}

func (e *einsum) bind(names [][]rune) error {
	var acc *named
	for i := range e.In {
		at, err := e.widened(i)
		if err != nil {
			return err
		}
		x := namedAs(at, names[i], e.Shape(i))
		if i == 0 {
			acc = x
			continue
		}
		needed := slices.Concat(append([][]rune{e.names}, names[i+1:]...)...) // by the result and operands to come
		if acc, err = e.contract(acc, x, needed, i == len(e.In)-1); err != nil {
			return err
		}
	}
	acc, err := e.sum(acc, e.names, true)
	if err != nil {
		return err
	}
	return e.finish(acc)
}

// widened is input i in the type that sums are computed in.
func (e *einsum) widened(i int) (device.Operand, error) {
	d, n := e.DType(i), e.Shape(i).Len()
	if sameBits(d, e.dtype) {
		return e.in(i), nil
	}
	t := e.temp(e.dtype.Bytes(n))
	return t, e.convert(d, e.dtype, graph.Known(n), e.in(i), t)
}

// namedAs sees a value under the names of its axes. A name that stands twice walks the
// diagonal.
func namedAs(at device.Operand, names []rune, shape tensor.Shape) *named {
	x := &named{at: at, axes: map[rune]namedAxis{}}
	steps := shape.Strides()
	for a, name := range names {
		if shape[a] == 1 {
			continue
		}
		axis, had := x.axes[name]
		if !had {
			x.names = append(x.names, name)
		}
		x.axes[name] = namedAxis{shape[a], axis.step + steps[a]}
	}
	return x
}

// result is a value with those axes in row-major order: in scratch, or in the output
// where it is all of that.
func (e *einsum) result(names []rune, last bool, from ...*named) (*named, error) {
	shape := make(tensor.Shape, len(names))
	for i, name := range names {
		for _, x := range from {
			shape[i] = max(shape[i], x.axes[name].n)
		}
	}
	if err := shape.Check(); err != nil {
		return nil, graph.Errorf(graph.ErrShape, "an intermediate result: %w", err)
	}
	d := e.Out[0].DType
	if last && sameBits(d, e.dtype) && slices.Equal(names, namedAs(device.Operand{}, e.names, e.OutShape(0)).names) {
		return namedAs(e.out(0), names, shape), nil
	}
	return namedAs(e.temp(e.dtype.Bytes(shape.Len())), names, shape), nil
}

// steps are the axes of those names, with their steps here and in y. An axis that either
// lacks has step 0 there.
func (x *named) steps(names []rune, y *named) []array.CopyAxis {
	list := make([]array.CopyAxis, len(names))
	for i, name := range names {
		n := max(x.axes[name].n, y.axes[name].n)
		list[i] = array.CopyAxis{N: graph.Known(n), From: graph.Known(x.axes[name].step), To: graph.Known(y.axes[name].step)}
	}
	return list
}

// joined sees neighbouring axes as one, if steps allow that.
func (x *named) joined(names []rune) (n, step int, ok bool) {
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

// arranged is x, or a copy in which each group of names is one axis.
func (e *einsum) arranged(x *named, batch, first, second []rune) (*named, error) {
	_, _, ok := x.joined(first)
	_, _, both := x.joined(second)
	if ok && both {
		return x, nil
	}
	return e.copied(x, slices.Concat(batch, first, second))
}

// copied is a copy of x with its axes in that order.
func (e *einsum) copied(x *named, names []rune) (*named, error) {
	y, err := e.result(names, false, x)
	if err != nil {
		return nil, err
	}
	return y, e.copy(e.dtype, []array.Copy{{Axes: x.steps(names, y)}}, x.at, y.at)
}

// sum adds up over the axes that are not among those kept.
func (e *einsum) sum(x *named, kept []rune, last bool) (*named, error) {
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
	y, err := e.result(names, last, x)
	if err != nil {
		return nil, err
	}
	if e.dtype != tensor.F32 {
		return y, e.sumWide(x, y, names, summed)
	}
	order := slices.Concat(names, summed)
	if _, step, ok := x.joined(order); !ok || step != 1 {
		if x, err = e.copied(x, order); err != nil {
			return nil, err
		}
	}
	outer, _, _ := x.joined(names)
	n, _, _ := x.joined(summed)
	r := reduction{graph.Known(outer), graph.Known(n), graph.Known(1)}
	return y, e.reduce(r, arith.ReduceSum, graph.Known(1), arith.RootNone, tensor.F32, tensor.F32, bindings.Kernel{}, x.at, y.at)
}

// sumWide adds up by products with 1.
func (e *einsum) sumWide(x, y *named, names, summed []rune) error {
	x, err := e.arranged(x, nil, names, summed)
	if err != nil {
		return err
	}
	one := constant[int64](1)
	if e.dtype == tensor.F64 {
		one = constant(1.0)
	}
	m, row, _ := x.joined(names)
	k, col, _ := x.joined(summed)
	p := &product{m: graph.Known(m), n: graph.Known(1), k: graph.Known(k), aRow: graph.Known(row), aCol: graph.Known(col)}
	return e.multiply(e.dtype, p, x.at, one, y.at)
}

// contract multiplies two operands and sums over what is not needed after.
func (e *einsum) contract(a, b *named, needed []rune, last bool) (*named, error) {
	a, err := e.sum(a, slices.Concat(needed, b.names), false)
	if err != nil {
		return nil, err
	}
	if b, err = e.sum(b, slices.Concat(needed, a.names), false); err != nil {
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
	if a, err = e.arranged(a, batch, rows, inner); err != nil {
		return nil, err
	}
	if b, err = e.arranged(b, batch, inner, cols); err != nil {
		return nil, err
	}
	y, err := e.result(slices.Concat(batch, rows, cols), last, a, b)
	if err != nil {
		return nil, err
	}
	return y, e.multiply(e.dtype, contraction(a, b, batch, rows, inner, cols), a.at, b.at, y.at)
}

// contraction is the products of operands whose axes are arranged.
func contraction(a, b *named, batch, rows, inner, cols []rune) *product {
	m, aRow, _ := a.joined(rows)
	k, aCol, _ := a.joined(inner)
	_, bRow, _ := b.joined(inner)
	n, bCol, _ := b.joined(cols)
	p := &product{
		m: graph.Known(m), n: graph.Known(n), k: graph.Known(k),
		aRow: graph.Known(aRow), aCol: graph.Known(aCol), bRow: graph.Known(bRow), bCol: graph.Known(bCol),
	}
	for _, x := range a.steps(batch, b) {
		p.batch = append(p.batch, batchAxis{x.N, x.From, x.To})
	}
	return p
}

// finish writes the result in the order of the output's axes and in its type.
func (e *einsum) finish(x *named) error {
	if x.at.Place == device.Out {
		return nil
	}
	d, shape := e.Out[0].DType, e.OutShape(0)
	y := namedAs(e.out(0), e.names, shape)
	if sameBits(d, e.dtype) {
		return e.copy(d, []array.Copy{{Axes: x.steps(y.names, y)}}, x.at, y.at)
	}
	if _, step, ok := x.joined(y.names); !ok || step != 1 && len(y.names) > 0 {
		var err error
		if x, err = e.copied(x, y.names); err != nil {
			return err
		}
	}
	return e.convert(e.dtype, d, graph.Known(shape.Len()), x.at, y.at)
}

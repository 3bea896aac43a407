package cpu

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var einsumRows = []row{
	rowFor("products", bindEinsum),
}

// einsum adds the commands of one summation.
type einsum struct {
	*binder
	dtype tensor.DType // the type of sums
}

// sumType returns the type in which elements of type d are summed.
func sumType(d tensor.DType) tensor.DType {
	switch {
	case wide(d) == tensor.F32:
		return tensor.F32
	case d == tensor.F64:
		return tensor.F64
	}
	return tensor.I64
}

// sameBits reports whether elements of both types are the same bits. Sums that wrap do not depend
// on signs.
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
		if d.Is(0) { // empty sums
			zeros := array.Copy{Axes: []array.CopyAxis{{N: b.Out[0].Dims.Len(), To: graph.Known(1)}}}
			return b.copy(b.Out[0].DType, []array.Copy{zeros}, constant[int64](0, 0), b.out(0))
		}
	}
	e := &einsum{binder: b, dtype: sumType(b.DType(0))}
	if !o.Sums(names, out) {
		e.dtype = b.DType(0)
	}
	shapes := make([]tensor.Shape, len(b.In))
	for i := range shapes {
		shapes[i] = b.Shape(i)
	}
	rules := arith.SummationRules{Direct: sameBits(b.Out[0].DType, e.dtype), Rows: e.dtype == tensor.F32}
	moves, err := o.Moves(names, out, shapes, b.OutShape(0), rules)
	if err != nil {
		return err
	}
	return arith.Walk[device.Operand](e, len(b.In), moves)
}

// Input returns input i, converted to the type of sums.
func (e *einsum) Input(i int) (device.Operand, error) {
	d, n := e.DType(i), e.Shape(i).Len()
	if sameBits(d, e.dtype) {
		return e.in(i), nil
	}
	t := e.Scratch(n)
	return t, e.convert(d, e.dtype, graph.Known(n), e.in(i), t)
}

// Scratch returns memory for n sums.
func (e *einsum) Scratch(n int) device.Operand { return e.temp(e.dtype.Bytes(n)) }

// Output returns the output.
func (e *einsum) Output() device.Operand { return e.out(0) }

// Copy adds a command that copies elements.
func (e *einsum) Copy(list []arith.SummationAxis, x, y device.Operand) error {
	axes := make([]array.CopyAxis, len(list))
	for i, a := range list {
		axes[i] = array.CopyAxis{N: graph.Known(a.N), From: graph.Known(a.A), To: graph.Known(a.B)}
	}
	return e.copy(e.dtype, []array.Copy{{Axes: axes}}, x, y)
}

// Sum adds up matrix rows; of float64 and integers, by products with 1.
func (e *einsum) Sum(m *arith.SummationMove, x, y device.Operand) error {
	if e.dtype == tensor.F32 {
		r := &lower.Reduction{Lanes: lower.Lanes{Outer: graph.Known(m.M), N: graph.Known(m.K), Inner: graph.Known(1)},
			First: arith.ReduceSum, Divisor: graph.Known(1), From: tensor.F32, To: tensor.F32, X: x, Y: y}
		return e.Reduce(r)
	}
	one := constant[int64](1)
	if e.dtype == tensor.F64 {
		one = constant(1.0)
	}
	p := &product{m: graph.Known(m.M), n: graph.Known(1), k: graph.Known(m.K), aRow: graph.Known(m.ARow),
		aCol: graph.Known(m.ACol)}
	return e.multiply(e.dtype, p, x, one, y)
}

// Products adds a batch of products.
func (e *einsum) Products(m *arith.SummationMove, left, right, y device.Operand) error {
	p := &product{
		m: graph.Known(m.M), n: graph.Known(m.N), k: graph.Known(m.K),
		aRow: graph.Known(m.ARow), aCol: graph.Known(m.ACol), bRow: graph.Known(m.BRow), bCol: graph.Known(m.BCol),
	}
	for _, a := range m.Axes {
		p.batch = append(p.batch, batchAxis{graph.Known(a.N), graph.Known(a.A), graph.Known(a.B)})
	}
	return e.multiply(e.dtype, p, left, right, y)
}

// Convert converts sums to the type of the output.
func (e *einsum) Convert(x device.Operand) error {
	return e.convert(e.dtype, e.Out[0].DType, e.Out[0].Dims.Len(), x, e.out(0))
}

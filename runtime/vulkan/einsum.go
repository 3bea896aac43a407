package vulkan

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var einsumRows = []row{
	rowFor("products", bindEinsum),
}

// einsum makes the dispatches of one summation.
type einsum struct {
	*binder
	dtype tensor.DType // of sums
}

// sumTypes are the types of sums by element type. Narrow integers wrap around in 32 bits as in 64.
var sumTypes = map[tensor.DType]tensor.DType{
	tensor.F32: tensor.F32, tensor.F16: tensor.F32, tensor.BF16: tensor.F32,
	tensor.I8: tensor.I32, tensor.I32: tensor.I32, tensor.I64: tensor.I64,
	tensor.U8: tensor.U32, tensor.U32: tensor.U32, tensor.U64: tensor.U64,
}

func bindEinsum(o *arith.Einsum, b *binder) error {
	dims, shapes, empty := make([]graph.Dims, len(b.In)), make([]tensor.Shape, len(b.In)), false
	for i, v := range b.In {
		dims[i], shapes[i] = v.Dims, b.Shape(i)
		empty = empty || shapes[i].Len() == 0
	}
	names, out, _, err := o.Axes(dims)
	if err != nil {
		return err
	}
	d := b.DType(0)
	b.step.InPlace = nil
	if empty {
		return b.clear(b.out(0), d, b.OutShape(0).Len())
	}
	e := &einsum{binder: b, dtype: d}
	if o.Sums(names, out) {
		if e.dtype = sumTypes[d]; e.dtype == tensor.Invalid {
			return device.Refuse("no shader adds up %v elements", d)
		}
	}
	moves, err := o.Moves(names, out, shapes, b.OutShape(0), arith.SummationRules{Direct: d == e.dtype, Rows: true})
	if err != nil {
		return err
	}
	return arith.Walk[device.Operand](e, len(b.In), moves)
}

// Input returns input i, converted to the type of sums.
func (e *einsum) Input(i int) (device.Operand, error) {
	d, n := e.DType(0), e.Shape(i).Len()
	if d == e.dtype {
		return e.in(i), nil
	}
	t := e.Scratch(n)
	return t, e.convert(d, e.dtype, n, e.in(i), t)
}

// Scratch returns scratch for n sums.
func (e *einsum) Scratch(n int) device.Operand { return e.temp(e.dtype.Bytes(n)) }

// Output returns the output.
func (e *einsum) Output() device.Operand { return e.out(0) }

// Copy adds a dispatch that copies elements.
func (e *einsum) Copy(list []arith.SummationAxis, x, y device.Operand) error {
	axes := make([]axisSteps, len(list))
	for i, a := range list {
		axes[i] = axisSteps{a.N, a.A, a.B}
	}
	return e.strided(e.dtype, 0, 0, axes, x, y)
}

// Sum adds a dispatch that sums rows.
func (e *einsum) Sum(m *arith.SummationMove, x, y device.Operand) error {
	one := graph.Known(1)
	return e.Reduce(&lower.Reduction{Lanes: lower.Lanes{Outer: graph.Known(m.M), N: graph.Known(m.K), Inner: one},
		First: arith.ReduceSum, Divisor: one, From: e.dtype, To: e.dtype, X: x, Y: y})
}

// Products adds a batch of products.
func (e *einsum) Products(m *arith.SummationMove, left, right, y device.Operand) error {
	p := &product{m: m.M, n: m.N, k: m.K, aRow: m.ARow, aCol: m.ACol, bRow: m.BRow, bCol: m.BCol}
	for _, a := range m.Axes {
		p.step(batchAxis{a.N, a.A, a.B})
	}
	return e.products(&multiplying{product: p, dtype: e.dtype, left: left, right: right, out: y, alpha: 1})
}

// Convert converts sums to the type of the output.
func (e *einsum) Convert(x device.Operand) error {
	return e.convert(e.dtype, e.DType(0), e.OutShape(0).Len(), x, e.out(0))
}

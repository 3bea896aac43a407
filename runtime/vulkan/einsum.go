package vulkan

import (
	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op/arith"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var einsumRows = []row{
	rowFor("products", bindEinsum),
}

// einsum makes the dispatches of one summation.
type einsum struct {
	*binder
	dtype  tensor.DType // in which sums are computed
	values []device.Operand
}

// sumTypes are the types in which sums are computed: narrow integers wrap around in 32 bits
// as in 64.
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
	return e.bind(moves)
}

func (e *einsum) bind(moves *arith.SummationMoves) error {
	d := e.DType(0)
	for i := range e.In {
		x, n := e.in(i), e.Shape(i).Len()
		if d != e.dtype {
			x = e.temp(e.dtype.Bytes(n))
			if err := e.convert(d, e.dtype, n, e.in(i), x); err != nil {
				return err
			}
		}
		e.values = append(e.values, x)
	}
	for _, n := range moves.Sizes {
		e.values = append(e.values, e.temp(e.dtype.Bytes(n)))
	}
	for i := range moves.List {
		if err := e.move(&moves.List[i]); err != nil {
			return err
		}
	}
	if moves.Result == arith.SummationOutput {
		return nil
	}
	return e.convert(e.dtype, d, e.OutShape(0).Len(), e.value(moves.Result), e.out(0))
}

// value is a value of moves.
func (e *einsum) value(i int) device.Operand {
	if i == arith.SummationOutput {
		return e.out(0)
	}
	return e.values[i]
}

func (e *einsum) move(m *arith.SummationMove) error {
	x, y := e.value(m.From), e.value(m.To)
	switch m.Kind {
	case arith.SummationCopy:
		axes := make([]axisSteps, len(m.Axes))
		for i, a := range m.Axes {
			axes[i] = axisSteps{a.N, a.A, a.B}
		}
		return e.strided(e.dtype, 0, 0, axes, x, y)
	case arith.SummationSum:
		return e.part(&part{reduction: reduction{m.M, m.K, 1}, first: arith.ReduceSum, divisor: 1, from: e.dtype, to: e.dtype}, false, x, y)
	}
	p := &product{m: m.M, n: m.N, k: m.K, aRow: m.ARow, aCol: m.ACol, bRow: m.BRow, bCol: m.BCol}
	for _, a := range m.Axes {
		p.step(batchAxis{a.N, a.A, a.B})
	}
	return e.products(&multiplying{product: p, dtype: e.dtype, left: x, right: e.value(m.By), out: y, alpha: 1})
}

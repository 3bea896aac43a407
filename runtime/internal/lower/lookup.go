package lower

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Lookup maps codes by a table of 256 codes. Rows have N codes. In Y they begin with code At and
// are To codes apart.
type Lookup struct {
	Rows, N, At, To graph.Dim
	X, Table, Y     device.Operand
}

// Select takes elements from X where the condition is true, else from Y. All are stretched to the
// extents of Out.
type Select struct{ Condition, X, Y, Out Value }

// Lookups returns the rows of functions of codes, and of choices between values.
func Lookups[B ByteBinder]() []device.Row[B] {
	return []device.Row[B]{
		bytesRow[B]("lookup", func(_ *quant.CodeTable, _ string, b ByteBinder) error { return CodeTable(b) }),
		bytesRow[B]("lookup", func(o *quant.QLinearUnary, _ string, b ByteBinder) error {
			t, err := b.Table(0, 1, 3, o.Func, o.Alpha)
			if err != nil {
				return err
			}
			return lookup(b, Input(b, 0), t, b.Output(0))
		}),
		bytesRow[B]("lookup", bindQLinearConcat),
		bytesRow[B]("lookup", bindQLinearWhere),
		bytesRow[B]("where", func(_ *arith.Where, _ string, b ByteBinder) error {
			return b.Select(&Select{Input(b, 0), Input(b, 1), Input(b, 2), Output(b, 0)})
		}),
	}
}

// CodeTable maps the codes of input 0 by input 1.
func CodeTable(b ByteBinder) error { return lookup(b, Input(b, 0), b.Input(1), b.Output(0)) }

// lookup maps all codes of x.
func lookup(b ByteBinder, x Value, table, y device.Operand) error {
	n := x.Dims.Len()
	return b.Lookup(&Lookup{Rows: graph.Known(1), N: n, To: n, X: x.Operand, Table: table, Y: y})
}

func bindQLinearConcat(o *quant.QLinearConcat, _ string, b ByteBinder) error {
	y := b.Facts().Out[0].Dims
	axis, err := o.Axis(len(y))
	if err != nil {
		return err
	}
	l := Lookup{Rows: y[:axis].Len(), To: y[axis:].Len(), Y: b.Output(0)}
	for _, i := range o.Values {
		if l.Table, err = b.Table(i, i+1, 0, "", 0); err != nil {
			return err
		}
		x := Input(b, i)
		l.N, l.X = x.Dims[axis:].Len(), x.Operand
		if part := l; !l.N.Is(0) {
			if err := b.Lookup(&part); err != nil {
				return err
			}
		}
		l.At = l.At.Add(l.N)
	}
	return nil
}

func bindQLinearWhere(_ *quant.QLinearWhere, _ string, b ByteBinder) error {
	var values [2]Value
	for k, i := range []int{quant.QLinearWhereX, quant.QLinearWhereY} {
		t, err := b.Table(i, i+1, quant.QLinearWhereZScale, "", 0)
		if err != nil {
			return err
		}
		if values[k] = Input(b, i); t.Place == device.None {
			continue
		}
		codes := values[k]
		n, ok := b.Facts().Max(codes.Dims.Len())
		if !ok {
			return device.Refuse("extents %v are not known", codes.Dims)
		}
		values[k].Operand = b.Scratch(tensor.U8.Bytes(n))
		if err := lookup(b, codes, t, values[k].Operand); err != nil {
			return err
		}
	}
	return b.Select(&Select{Input(b, 0), values[0], values[1], Output(b, 0)})
}

package lower

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Summations returns the rows of operators that sum products.
func Summations[B Binder]() []device.Row[B] {
	return []device.Row[B]{row[B]("products", bindEinsum)}
}

// summation adds the work of moves between values.
type summation struct {
	Binder
	dtype  tensor.DType // of sums
	rows   bool         // sums are reductions of rows, not products with 1
	values []device.Operand
}

func bindEinsum(o *arith.Einsum, b Binder) error {
	f := b.Facts()
	dims, shapes := make([]graph.Dims, len(f.In)), make([]tensor.Shape, len(f.In))
	empty := false
	for i, v := range f.In {
		if dims[i], shapes[i] = v.Dims, f.Shape(i); shapes[i] == nil {
			return device.Refuse("extents %v are not known", v.Dims)
		}
		empty = empty || shapes[i].Len() == 0
	}
	names, out, _, err := o.Axes(dims)
	y := f.Out[0]
	if err != nil || y.Dims.Len().Is(0) {
		return err
	}
	if empty {
		return fill(b, tensor.New(y.DType, 1))
	}
	s := &summation{Binder: b, dtype: y.DType}
	if o.Sums(names, out) {
		if s.dtype, s.rows, err = b.SumType(y.DType); err != nil {
			return err
		}
	}
	rules := arith.SummationRules{Direct: sameBits(y.DType, s.dtype), Rows: s.rows}
	moves, err := o.Moves(names, out, shapes, f.OutShape(0), rules)
	if err != nil {
		return err
	}
	for i := range f.In {
		if err := s.input(i); err != nil {
			return err
		}
	}
	for _, n := range moves.Sizes {
		s.values = append(s.values, b.Scratch(s.dtype.Bytes(n)))
	}
	for i := range moves.List {
		if err := s.move(&moves.List[i]); err != nil {
			return err
		}
	}
	if moves.Result == arith.SummationOutput {
		return nil
	}
	return b.Convert(s.dtype, y.DType, y.Dims.Len(), s.values[moves.Result], b.Output(0))
}

// sameBits reports whether elements of both types are the same bits. Sums that wrap do not depend
// on signs.
func sameBits(d, sum tensor.DType) bool { return d == sum || d == tensor.U64 && sum == tensor.I64 }

// input appends input i, converted to the type of sums, to the values.
func (s *summation) input(i int) error {
	d, n, x := s.Facts().DType(i), s.Facts().Shape(i).Len(), s.Input(i)
	if sameBits(d, s.dtype) {
		s.values = append(s.values, x)
		return nil
	}
	t := s.Scratch(s.dtype.Bytes(n))
	s.values = append(s.values, t)
	return s.Convert(d, s.dtype, graph.Known(n), x, t)
}

// at returns a value of the moves as an operand.
func (s *summation) at(value int) device.Operand {
	if value == arith.SummationOutput {
		return s.Output(0)
	}
	return s.values[value]
}

func (s *summation) move(m *arith.SummationMove) error {
	x, y, known := s.at(m.From), s.at(m.To), graph.Known
	switch {
	case m.Kind == arith.SummationCopy:
		axes := make([]array.CopyAxis, len(m.Axes))
		for i, a := range m.Axes {
			axes[i] = array.CopyAxis{N: known(a.N), From: known(a.A), To: known(a.B)}
		}
		return s.Move(&Move{DType: s.dtype, From: x, To: y, Copies: []array.Copy{{Axes: axes}}})
	case m.Kind == arith.SummationProducts:
		p := &Product{M: known(m.M), N: known(m.N), K: known(m.K), ARow: known(m.ARow), ACol: known(m.ACol),
			BRow: known(m.BRow), BCol: known(m.BCol)}
		for _, a := range m.Axes {
			p.Step(BatchAxis{known(a.N), known(a.A), known(a.B)})
		}
		return s.Products(s.dtype, p, x, s.at(m.By), y)
	case s.rows:
		return s.Reduce(&Reduction{Lanes: Lanes{known(m.M), known(m.K), known(1)}, First: arith.ReduceSum,
			Divisor: known(1), From: s.dtype, To: s.dtype, X: x, Y: y})
	}
	ones := &Product{M: known(m.M), N: known(1), K: known(m.K), ARow: known(m.ARow), ACol: known(m.ACol)}
	return s.Products(s.dtype, ones, x, constant(kit.One(s.dtype)), y)
}

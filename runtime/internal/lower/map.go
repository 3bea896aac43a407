package lower

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Map is a function of the elements of one or two values, which are stretched to the extents of the
// result.
type Map struct {
	Func string
	P, Q float64      // parameters of a function of one value
	As   tensor.DType // what the function takes; elements of other types are converted
	Test bool         // the function returns bools
	In   []Value
	Out  Value
}

// Maps returns the rows of operators that compute functions of elements.
func Maps[B Binder]() []device.Row[B] {
	return []device.Row[B]{
		row[B]("unary", func(o *arith.Unary, b Binder) error { return b.Map(Unary(o, b)) }),
		row[B]("unary", bindNumberTest),
		row[B]("binary", bindBinary),
		row[B]("binary", func(o *arith.Equal, b Binder) error { return bindBinary(&o.Binary, b) }),
		row[B]("pow", bindPow),
		row[B]("variadic", Variadic),
	}
}

// asBits has the function take elements as unsigned integers.
func (m *Map) asBits() {
	m.As = m.As.Unsigned()
	m.Out.DType = m.As
	for i := range m.In {
		m.In[i].DType = m.As
	}
}

// Unary returns a function of input 0.
func Unary(o *arith.Unary, b Binder) *Map {
	x := Input(b, 0)
	m := &Map{Func: o.Func, P: o.P, Q: o.Q, As: x.DType, Test: o.Result == tensor.Bool, In: []Value{x}, Out: Output(b, 0)}
	switch {
	case o.Bits:
		m.asBits()
	case o.Integers && x.DType.IsInteger():
		m.As = tensor.F64
	}
	return m
}

func bindNumberTest(o *arith.NumberTest, b Binder) error {
	if d := b.Facts().DType(0); d.IsFloat() && d.Bits() == 8 {
		return device.Refuse("8-bit floats are looked up in Go")
	}
	return b.Map(Unary(&o.Unary, b))
}

func bindBinary(o *arith.Binary, b Binder) (err error) {
	x, y := Input(b, 0), Input(b, 1)
	if y.Dims, err = o.Right(x.Dims, y.Dims); err != nil {
		return err
	}
	if o.Swap {
		x, y = y, x
	}
	m := &Map{Func: o.Func, As: x.DType, Test: o.Result == tensor.Bool, In: []Value{x, y}, Out: Output(b, 0)}
	if o.Bits {
		m.asBits()
	}
	return b.Map(m)
}

func bindPow(o *arith.Pow, b Binder) (err error) {
	x, y := Input(b, 0), Input(b, 1)
	if y.Dims, err = o.Right(x.Dims, y.Dims); err != nil {
		return err
	}
	return b.Map(&Map{Func: "pow", As: arith.PowType(x.DType, y.DType), In: []Value{x, y}, Out: Output(b, 0)})
}

// Variadic joins the first two inputs, and then the others one by one. The output may share
// memory with one of the first two only. Sums of halves are rounded once.
func Variadic(o *arith.Variadic, b Binder) error {
	x, y, inputs := Input(b, 0), Output(b, 0), len(b.Facts().In)
	if inputs == 1 {
		one := graph.Known(1)
		return b.Move(&Move{DType: x.DType, From: x.Operand, To: y.Operand,
			Copies: []array.Copy{{Axes: []array.CopyAxis{{N: x.Dims.Len(), From: one, To: one}}}}})
	}
	b.Step().InPlace = onlyOnce(b.Facts().Node.Inputs, b.Step().InPlace)
	part := y
	if o.Mean || o.Func == "add" && inputs > 2 {
		part = Scratch(b, partial(y.DType), y)
	}
	for i := 1; i < inputs; i++ {
		out := part
		if i == inputs-1 && !o.Mean {
			out = y
		}
		if err := b.Map(&Map{Func: o.Func, As: part.DType, In: []Value{x, Input(b, i)}, Out: out}); err != nil {
			return err
		}
		x = out
	}
	if !o.Mean {
		return nil
	}
	count := tensor.New(part.DType, 1)
	kit.SetNumbers(count, []float64{float64(inputs)})
	return b.Map(&Map{Func: "div", As: part.DType, In: []Value{x, {constant(count), part.DType, nil}}, Out: y})
}

// onlyOnce returns the inputs in list that occur once among the node's inputs.
func onlyOnce(inputs []string, list []int) []int {
	count := map[string]int{}
	for _, name := range inputs {
		count[name]++
	}
	return slices.DeleteFunc(slices.Clone(list), func(i int) bool { return i >= len(inputs) || count[inputs[i]] > 1 })
}

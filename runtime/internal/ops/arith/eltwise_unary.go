package arith

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Unary applies a function to every element.
type Unary struct {
	Func   string       // name of the function
	P, Q   float64      // its parameters
	Result tensor.DType // of the output; Invalid for the type of the input
	// Integers converts integer elements to float64 for the function, and the result back to
	// integers, rounded towards zero.
	Integers bool
	// Bits computes on elements as unsigned integers of their width.
	Bits bool
}

// Infer keeps the extents.
func (o *Unary) Infer(c *op.Infer) error {
	d := c.In[0].DType
	if o.Result != tensor.Invalid {
		d = o.Result
	}
	c.Set(0, d, c.In[0].Dims)
	return nil
}

// unaryRow returns the row of an operator with one input and a function with up to two attributes
// as parameters.
func unaryRow(name string, since []int, types op.Types, function string, coefficients ...kit.Coefficient) op.Row {
	return op.Row{Name: name, Since: since, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: types, InPlace: []int{0},
		Elementwise: true, New: func(n *op.Node) (op.Op, error) {
			ignoreConsumed(n)
			o := &Unary{Func: function}
			for i, a := range coefficients {
				v := float64(n.Float(a.Name, a.Default))
				if i == 0 {
					o.P = v
				} else {
					o.Q = v
				}
			}
			return o, nil
		}}
}

// ignoreConsumed accepts the memory hint of operators of the first opset.
func ignoreConsumed(n *op.Node) {
	if n.Since == 1 {
		n.Ignore("consumed_inputs")
	}
}

func newSelu(n *op.Node) (op.Op, error) {
	ignoreConsumed(n)
	alpha, gamma := kit.SeluAlpha, kit.SeluGamma
	if n.Since == 1 {
		alpha, gamma = 1.6732, 1.0507
	}
	return &Unary{Func: "selu", P: float64(n.Float("alpha", alpha)), Q: float64(n.Float("gamma", gamma))}, nil
}

func newGelu(n *op.Node) (op.Op, error) {
	switch a := n.Str("approximate", "none"); a {
	case "none":
		return &Unary{Func: "gelu"}, nil
	case "tanh":
		return &Unary{Func: "gelu_tanh"}, nil
	default:
		return nil, graph.Errorf(graph.ErrUnsupported, "attribute approximate is %q; it may be none or tanh", a)
	}
}

func newShrink(n *op.Node) (op.Op, error) {
	return &Unary{Func: "shrink", P: float64(n.Float("lambd", 0.5)), Q: float64(n.Float("bias", 0)), Integers: true}, nil
}

func newErf(*op.Node) (op.Op, error) { return &Unary{Func: "erf", Integers: true}, nil }

func newBitwiseNot(*op.Node) (op.Op, error) { return &Unary{Func: "bitnot", Bits: true}, nil }

var (
	since1613 = []int{1, 6, 13}
	since722  = []int{7, 22}
	since922  = []int{9, 22}

	numericSigned = slices.Concat(op.Floats, op.Signed)
)

// activationRows returns the rows that follow from the table of activations.
func activationRows() (list []op.Row) {
	for _, a := range kit.Activations() {
		if a.Since != nil {
			row := unaryRow(a.Name, a.Since, op.Floats, a.Kernel, a.Params...)
			row.Derivative = a.Derivative
			list = append(list, row)
		}
	}
	return list
}

var unaryRows = []op.Row{
	differentiable(unaryRow("Abs", since1613, op.Numeric, "abs"), absDerivative),
	differentiable(unaryRow("Neg", since1613, numericSigned, "neg"), negDerivative),
	differentiable(unaryRow("Sqrt", since1613, op.Floats, "sqrt"), sqrtDerivative),
	differentiable(unaryRow("Exp", since1613, op.Floats, "exp"), expDerivative),
	differentiable(unaryRow("Log", since1613, op.Floats, "log"), logDerivative),
	differentiable(unaryRow("Reciprocal", since1613, op.Floats, "reciprocal"), reciprocalDerivative),
	flat(unaryRow("Floor", since1613, op.Floats, "floor")),
	flat(unaryRow("Ceil", since1613, op.Floats, "ceil")),
	flat(unaryRow("Round", []int{11, 22}, op.Floats, "round")),
	flat(unaryRow("Sign", []int{9, 13}, op.Numeric, "sign")),
	differentiable(unaryRow("Relu", []int{1, 6, 13, 14}, numericSigned, "relu"), reluDerivative),
	differentiable(unaryRow("Sin", since722, op.Floats, "sin"), sinDerivative),
	differentiable(unaryRow("Cos", since722, op.Floats, "cos"), cosDerivative),
	unaryRow("Tan", since722, op.Floats, "tan"),
	unaryRow("Asin", since722, op.Floats, "asin"),
	unaryRow("Acos", since722, op.Floats, "acos"),
	unaryRow("Atan", since722, op.Floats, "atan"),
	unaryRow("Sinh", since922, op.Floats, "sinh"),
	unaryRow("Cosh", since922, op.Floats, "cosh"),
	unaryRow("Asinh", since922, op.Floats, "asinh"),
	unaryRow("Acosh", since922, op.Floats, "acosh"),
	unaryRow("Atanh", since922, op.Floats, "atanh"),
	{Name: "Selu", Since: []int{1, 6, 22}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Floats, InPlace: []int{0}, Elementwise: true, New: newSelu},
	{Name: "Gelu", Since: []int{20}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Floats, InPlace: []int{0}, Elementwise: true, New: newGelu},
	{Name: "Erf", Since: []int{9, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Numeric, InPlace: []int{0}, Elementwise: true, New: newErf},
	{Name: "Shrink", Since: []int{9}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Numeric, InPlace: []int{0}, Elementwise: true, New: newShrink},
	{Name: "BitwiseNot", Since: []int{18}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Integers, InPlace: []int{0}, Elementwise: true, New: newBitwiseNot},
}

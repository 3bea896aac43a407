package op

import (
	"slices"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// unary applies one kernel to every element.
type unary struct {
	kernel string
	p, q   float64      // parameters of the kernel
	result tensor.DType // of the output; Invalid for that of the input
	// integers makes integer elements float64 for the kernel, and the result
	// integers again, rounded towards zero.
	integers bool

	fn      bindings.Kernel
	path    path
	outPath path
	params  *bindings.Params
}

// coefficient is an attribute that is a kernel's parameter.
type coefficient struct {
	name string
	def  float32
}

func (o *unary) Prepare(c *Prepare) error {
	d := c.DType(0)
	compute := wide(d)
	if o.integers && d.IsInteger() {
		compute = tensor.F64
	}
	var err error
	if o.path, err = pathTo(c, d, compute); err != nil {
		return err
	}
	o.outPath = o.path
	if o.result == tensor.Bool {
		o.outPath = path{bytes: 1}
	}
	o.params = paramsFor(compute, o.p, o.q)
	o.fn, err = kernelFor(c, compute, o.kernel)
	return err
}

func (o *unary) Infer(c *Infer) error {
	d := c.In[0].DType
	if o.result != tensor.Invalid {
		d = o.result
	}
	c.Set(0, d, c.In[0].Dims)
	return nil
}

func (o *unary) Run(c *Run) error {
	x, y := c.In[0].Aligned(), c.Out[0]
	if x.Len() != y.Len() {
		return graph.Mark(graph.ErrShape, "input has %d elements and output %d", x.Len(), y.Len())
	}
	bindings.EltwiseMap(c.Pool, o.fn, o.path.source(x), o.outPath.sink(y), x.Len(), o.params)
	return nil
}

func (o *unary) Describe() string { return o.fn.Op() + " " + o.fn.Variant() }

// unaryRow is the row of an operator with one input whose kernel takes up to two
// attributes as parameters.
func unaryRow(name string, since []int, types Types, kernel string, coefficients ...coefficient) Row {
	return Row{Name: name, Since: since, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: types, InPlace: []int{0},
		New: func(n *Node) (Op, error) {
			ignoreConsumed(n)
			o := &unary{kernel: kernel}
			for i, a := range coefficients {
				v := float64(n.Float(a.name, a.def))
				if i == 0 {
					o.p = v
				} else {
					o.q = v
				}
			}
			return o, nil
		}}
}

// ignoreConsumed accepts the memory hint that operators of the first opset had.
func ignoreConsumed(n *Node) {
	if n.Since == 1 {
		n.Ignore("consumed_inputs")
	}
}

func newSelu(n *Node) (Op, error) {
	ignoreConsumed(n)
	alpha, gamma := float32(1.67326319), float32(1.05070102)
	if n.Since == 1 {
		alpha, gamma = 1.6732, 1.0507
	}
	return &unary{kernel: "selu", p: float64(n.Float("alpha", alpha)), q: float64(n.Float("gamma", gamma))}, nil
}

func newGelu(n *Node) (Op, error) {
	switch a := n.Str("approximate", "none"); a {
	case "none":
		return &unary{kernel: "gelu"}, nil
	case "tanh":
		return &unary{kernel: "gelu_tanh"}, nil
	default:
		return nil, graph.Mark(graph.ErrUnsupported, "attribute approximate is %q; it may be none or tanh", a)
	}
}

func newShrink(n *Node) (Op, error) {
	return &unary{kernel: "shrink", p: float64(n.Float("lambd", 0.5)), q: float64(n.Float("bias", 0)), integers: true}, nil
}

func newErf(*Node) (Op, error) { return &unary{kernel: "erf", integers: true}, nil }

// bitwiseNot is unary with the kernel of the unsigned type of the same width.
type bitwiseNot struct{ unary }

func (o *bitwiseNot) Prepare(c *Prepare) error {
	d := unsignedOf(c.DType(0))
	o.path = path{bytes: d.Bits() / 8}
	o.outPath = o.path
	o.params = &bindings.Params{}
	var err error
	o.fn, err = kernelFor(c, d, "bitnot")
	return err
}

func newBitwiseNot(*Node) (Op, error) { return &bitwiseNot{}, nil }

// unsignedOf is the unsigned integer type as wide as d.
func unsignedOf(d tensor.DType) tensor.DType {
	switch d {
	case tensor.I8:
		return tensor.U8
	case tensor.I16:
		return tensor.U16
	case tensor.I32:
		return tensor.U32
	case tensor.I64:
		return tensor.U64
	}
	return d
}

var (
	since1613 = []int{1, 6, 13}
	since722  = []int{7, 22}
	since922  = []int{9, 22}
	alphaOne  = coefficient{"alpha", 1}
	alphaLeak = coefficient{"alpha", 0.01}

	numericSigned = slices.Concat(floats, signed)
)

var unaryRows = []Row{
	unaryRow("Abs", since1613, numeric, "abs"),
	unaryRow("Neg", since1613, numericSigned, "neg"),
	unaryRow("Sqrt", since1613, floats, "sqrt"),
	unaryRow("Exp", since1613, floats, "exp"),
	unaryRow("Log", since1613, floats, "log"),
	unaryRow("Reciprocal", since1613, floats, "reciprocal"),
	unaryRow("Floor", since1613, floats, "floor"),
	unaryRow("Ceil", since1613, floats, "ceil"),
	unaryRow("Round", []int{11, 22}, floats, "round"),
	unaryRow("Sign", []int{9, 13}, numeric, "sign"),
	unaryRow("Relu", []int{1, 6, 13, 14}, numericSigned, "relu"),
	unaryRow("LeakyRelu", []int{1, 6, 16}, floats, "leaky_relu", alphaLeak),
	unaryRow("ThresholdedRelu", []int{10, 22}, floats, "thresholded_relu", alphaOne),
	unaryRow("Elu", []int{1, 6, 22}, floats, "elu", alphaOne),
	unaryRow("Celu", []int{12, 28}, floats, "celu", alphaOne),
	unaryRow("Sigmoid", since1613, floats, "sigmoid"),
	unaryRow("Tanh", since1613, floats, "tanh"),
	unaryRow("HardSigmoid", []int{1, 6, 22}, floats, "hard_sigmoid", coefficient{"alpha", 0.2}, coefficient{"beta", 0.5}),
	unaryRow("HardSwish", []int{14, 22}, floats, "hard_swish"),
	unaryRow("Swish", []int{24}, floats, "swish", alphaOne),
	unaryRow("Mish", []int{18, 22}, floats, "mish"),
	unaryRow("Softplus", []int{1, 22}, floats, "softplus"),
	unaryRow("Softsign", []int{1, 22}, floats, "softsign"),
	unaryRow("Sin", since722, floats, "sin"),
	unaryRow("Cos", since722, floats, "cos"),
	unaryRow("Tan", since722, floats, "tan"),
	unaryRow("Asin", since722, floats, "asin"),
	unaryRow("Acos", since722, floats, "acos"),
	unaryRow("Atan", since722, floats, "atan"),
	unaryRow("Sinh", since922, floats, "sinh"),
	unaryRow("Cosh", since922, floats, "cosh"),
	unaryRow("Asinh", since922, floats, "asinh"),
	unaryRow("Acosh", since922, floats, "acosh"),
	unaryRow("Atanh", since922, floats, "atanh"),
	{Name: "Selu", Since: []int{1, 6, 22}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: floats, InPlace: []int{0}, New: newSelu},
	{Name: "Gelu", Since: []int{20}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: floats, InPlace: []int{0}, New: newGelu},
	{Name: "Erf", Since: []int{9, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: numeric, InPlace: []int{0}, New: newErf},
	{Name: "Shrink", Since: []int{9}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: numeric, InPlace: []int{0}, New: newShrink},
	{Name: "BitwiseNot", Since: []int{18}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: integers, InPlace: []int{0}, New: newBitwiseNot},
}

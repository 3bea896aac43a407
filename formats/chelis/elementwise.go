package chelis

import (
	"math"
	"strings"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

func neg(n *node) string {
	if isFloat(n.in[0].DType) {
		return call("neg", n.args[0])
	}
	return call("sub", n.number(0), n.args[0])
}

func abs(n *node) string {
	if isFloat(n.in[0].DType) {
		return call("abs", n.args[0])
	}
	return call("max_elem", n.args[0], call("sub", n.number(0), n.args[0]))
}

func relu(n *node) string {
	if isFloat(n.in[0].DType) {
		return call("relu", n.args[0])
	}
	return call("max_elem", n.args[0], n.number(0))
}

func sign(n *node) string {
	x, zero := n.args[0], n.let("zero", n.number(0))
	return call("where", call("gt", x, zero), n.number(1), call("where", call("cmplt", x, zero), n.number(-1), x))
}

func clip(n *node) string {
	x := n.args[0]
	for i, name := range []string{"max_elem", "min_elem"} {
		if n.has(i + 1) {
			x = call(name, x, n.arg(i+1))
		}
	}
	return x
}

func leakyRelu(n *node) string {
	x := n.args[0]
	return call("where", call("cmplt", x, n.number(0)), call("mul", x, n.number(n.float("alpha", float64(float32(0.01))))), x)
}

// exponential returns gamma*alpha*(exp(x)-1) below 0, and gamma*x elsewhere.
func (n *node) exponential(alpha, gamma float64) string {
	x, zero := n.args[0], n.let("zero", n.number(0))
	low := call("mul", call("sub", call("exp", call("min_elem", x, zero)), n.number(1)), n.number(alpha))
	y := call("where", call("cmplt", x, zero), low, x)
	if gamma == 1 {
		return y
	}
	return call("mul", y, n.number(gamma))
}

func elu(n *node) string { return n.exponential(n.float("alpha", 1), 1) }

func selu(n *node) string {
	return n.exponential(n.float("alpha", float64(float32(1.67326319217681884765625))), n.float("gamma", float64(float32(1.05070102214813232421875))))
}

func (n *node) hardSigmoid(alpha, beta float64) string {
	x := call("add", call("mul", n.args[0], n.number(alpha)), n.number(beta))
	return call("min_elem", call("max_elem", x, n.number(0)), n.number(1))
}

func hardSigmoidNode(n *node) string {
	return n.hardSigmoid(n.float("alpha", float64(float32(0.2))), n.float("beta", 0.5))
}

func hardSwish(n *node) string { return call("mul", n.args[0], n.hardSigmoid(1./6, 0.5)) }

// softplus returns log(1 + exp(x)) in a form that does not overflow.
func (n *node) softplus() string {
	x := n.args[0]
	return call("add", call("max_elem", x, n.number(0)), call("log", call("add", call("exp", call("neg", call("abs", x))), n.number(1))))
}

func softplusNode(n *node) string { return n.softplus() }

func mish(n *node) string { return call("mul", n.args[0], call("tanh", n.softplus())) }

// gelu is exact for float32: the error function is a polynomial times an exponential, with an error
// below 2e-7 (Abramowitz and Stegun, 7.1.26).
func gelu(n *node) string {
	if n.text("approximate", "none") == "tanh" {
		return call("gelu", n.args[0])
	}
	if n.in[0].DType != tensor.F32 {
		return n.refuse(ErrUnsupportedDtype, "the error function of Gelu is approximated, which is exact enough for f32 only")
	}
	x := n.args[0]
	z := n.let("z", call("mul", call("abs", x), n.number(math.Sqrt2/2)))
	t := n.let("t", call("recip", call("add", call("mul", z, n.number(0.3275911)), n.number(1))))
	sum := n.number(1.061405429)
	for _, c := range []float64{-1.453152027, 1.421413741, -0.284496736, 0.254829592} {
		sum = call("add", call("mul", sum, t), n.number(c))
	}
	erfc := n.let("erfc", call("mul", call("mul", sum, t), call("exp", call("neg", call("mul", z, z)))))
	half := call("mul", erfc, n.number(0.5))
	return call("mul", x, call("where", call("cmplt", x, n.number(0)), half, call("sub", n.number(1), half)))
}

func div(n *node) string {
	if isFloat(n.in[0].DType) {
		return call("div", n.arg(0), n.arg(1))
	}
	return call("trunc_div", n.arg(0), n.arg(1))
}

func xor(n *node) string {
	a, b := n.let("a", n.arg(0)), n.let("b", n.arg(1))
	return call("or", call("and", a, call("not", b)), call("and", call("not", a), b))
}

// pow spells out powers with a small integer or a half as exponent.
func pow(n *node) string {
	p, ok := n.scalar(1)
	if !ok || !isFloat(n.in[0].DType) {
		return n.refuse(ErrUnsupportedShape, "the exponent must be one constant, and the base of floats")
	}
	x := n.arg(0)
	switch m := math.Abs(p); {
	case m == 0.5:
		x = call("sqrt", x)
	case m == math.Trunc(m) && m >= 1 && m <= 16:
		x = n.let("base", x)
		y := x
		for range int(m) - 1 {
			y = call("mul", y, x)
		}
		x = y
	case p == 0:
		return n.fill(n.in[0].DType, 1, n.out[0].Dims)
	default:
		return n.refuse(ErrUnsupportedShape, "the exponent is %v, and integers to 16 and halves are spelled out", p)
	}
	if p < 0 {
		return call("recip", x)
	}
	return x
}

func extreme(name string) func(n *node) string {
	return func(n *node) string {
		x := n.arg(0)
		for i := range n.args[1:] {
			x = call(name, x, n.arg(i+1))
		}
		return x
	}
}

func where(n *node) string { return call("where", n.arg(0), n.arg(1), n.arg(2)) }

func cast(n *node) string {
	x, from, to := n.args[0], n.in[0].DType, n.out[0].DType
	fill := func(d tensor.DType, v float64) string { return n.fill(d, v, n.in[0].Dims) }
	switch {
	case from == to:
		return x
	case to == tensor.Bool:
		return call("neq", x, fill(from, 0))
	case from == tensor.Bool:
		return call("where", x, fill(to, 1), fill(to, 0))
	case isFloat(from) && !isFloat(to):
		return call("cast_trunc", x, words[to])
	}
	return call("cast", x, words[to])
}

func identity(n *node) string { return n.args[0] }

func reshaped(n *node) string { return n.reshape(n.args[0], n.in[0].Dims, n.out[0].Dims) }

func expand(n *node) string { return n.arg(0) }

func shapeOf(n *node) string {
	f := n.out[0]
	if f.Const != nil {
		return n.embed(f.Const)
	}
	parts := make([]string, len(f.Ints))
	for i, d := range f.Ints {
		parts[i] = n.size(d)
	}
	return "to_tensor([" + strings.Join(parts, ", ") + "])"
}

// embed defines a constant and returns its expression.
func (n *node) embed(t *tensor.Tensor) string {
	n.define(n.Outputs[0], t)
	return n.code[n.Outputs[0]]
}

func constant(n *node) string {
	if n.out[0].Const == nil {
		return n.refuse(ErrUnsupportedDtype, "it holds no tensor")
	}
	return n.embed(n.out[0].Const)
}

func constantOfShape(n *node) string {
	one := number(n.out[0].DType, 0)
	if a := n.Attr("value"); a != nil && a.Tensor != nil {
		var err error
		if one, err = element(a.Tensor.Aligned(), 0); err != nil {
			return n.refuse(ErrWeightConversion, "%v", err)
		}
	}
	return n.repeat(one, n.out[0].Dims)
}

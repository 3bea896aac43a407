package optimize_test

import (
	"math"
	"testing"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// only returns a pattern that the passes rewrite to the operators want.
func only(name string, f func(b *net, x string) string, want ...string) pattern {
	return pattern{name: name, want: want, build: func(b *net) { b.out(f(b, b.in("x", "batch", "tokens", 6))) }}
}

// erf adds 1 + erf(x/√2).
func (b *net) erf(x string) string {
	return b.op("Add", b.op("Erf", b.op("Div", x, b.c(math.Sqrt2))), b.c(1))
}

// tanh adds 1 + tanh(√(2/π)·(x + 0.044715·cube)).
func (b *net) tanh(x, cube string) string {
	inner := b.op("Add", x, b.op("Mul", b.c(0.044715), cube))
	return b.op("Add", b.op("Tanh", b.op("Mul", inner, b.c(math.Sqrt(2/math.Pi)))), b.c(1))
}

func TestFuseGelu(t *testing.T) {
	check(t, []pattern{
		only("halved last", func(b *net, x string) string { return b.op("Mul", b.op("Mul", x, b.erf(x)), b.c(0.5)) }, "Gelu"),
		only("x halved", func(b *net, x string) string { return b.op("Mul", b.op("Mul", x, b.c(0.5)), b.erf(x)) }, "Gelu"),
		only("sum halved", func(b *net, x string) string { return b.op("Mul", b.op("Mul", b.c(0.5), b.erf(x)), x) }, "Gelu"),
		only("quotients", func(b *net, x string) string { return b.op("Mul", b.erf(x), b.op("Div", x, b.c(2))) }, "Gelu"),
		only("halved last by a quotient", func(b *net, x string) string { return b.op("Div", b.op("Mul", b.erf(x), x), b.c(2)) }, "Gelu"),
		only("product in erf", func(b *net, x string) string {
			e := b.op("Add", b.c(1), b.op("Erf", b.op("Mul", x, b.c(math.Sqrt2/2))))
			return b.op("Mul", b.op("Mul", x, b.c(0.5)), e)
		}, "Gelu"),
		only("of a product", func(b *net, x string) string {
			x = b.op("Mul", x, b.weight(6))
			return b.op("Mul", b.op("Mul", x, b.c(0.5)), b.erf(x))
		}, "Mul", "Gelu"),
		only("tanh", func(b *net, x string) string {
			return b.op("Mul", b.op("Mul", x, b.c(0.5)), b.tanh(x, b.op("Pow", x, b.c(3))))
		}, "Gelu"),
		only("tanh of products", func(b *net, x string) string {
			return b.op("Mul", b.c(0.5), b.op("Mul", x, b.tanh(x, b.op("Mul", x, b.op("Mul", x, x)))))
		}, "Gelu"),
		only("tanh, x taken out", func(b *net, x string) string {
			sum := b.op("Add", b.c(1), b.op("Mul", b.op("Mul", b.c(0.044715), x), x))
			inner := b.op("Mul", b.op("Mul", x, b.c(math.Sqrt(2/math.Pi))), sum)
			return b.op("Mul", b.op("Mul", b.c(0.5), x), b.op("Add", b.c(1), b.op("Tanh", inner)))
		}, "Gelu"),
	})
	check(t, []pattern{
		only("not halved", func(b *net, x string) string { return b.op("Mul", x, b.erf(x)) }, "Div", "Erf", "Add", "Mul"),
		only("another number", func(b *net, x string) string { return b.op("Mul", b.op("Mul", x, b.erf(x)), b.c(0.6)) }, "Div", "Erf", "Add", "Mul", "Mul"),
		only("another root", func(b *net, x string) string {
			e := b.op("Add", b.c(1), b.op("Erf", b.op("Mul", x, b.c(0.75))))
			return b.op("Mul", b.op("Mul", x, b.c(0.5)), e)
		}, "Mul", "Erf", "Add", "Mul", "Mul"),
		only("times another value", func(b *net, x string) string {
			return b.op("Mul", b.op("Mul", b.in("y", "batch", "tokens", 6), b.c(0.5)), b.erf(x))
		}, "Mul", "Div", "Erf", "Add", "Mul"),
		only("squares", func(b *net, x string) string {
			return b.op("Mul", b.op("Mul", x, b.c(0.5)), b.tanh(x, b.op("Pow", x, b.c(2))))
		}, "Mul", "Pow", "Mul", "Add", "Mul", "Tanh", "Add", "Mul"),
		only("the sum is read elsewhere", func(b *net, x string) string {
			e := b.erf(x)
			b.out(e)
			return b.op("Mul", b.op("Mul", x, e), b.c(0.5))
		}, "Div", "Erf", "Add", "Mul", "Mul"),
	})
}

func TestFuseBiasGelu(t *testing.T) {
	check(t, []pattern{
		only("exact", func(b *net, x string) string {
			x = b.op("Add", b.weight(6), x)
			return b.op("Mul", b.op("Mul", x, b.erf(x)), b.c(0.5))
		}, "BiasGelu"),
		only("approximated", func(b *net, x string) string {
			x = b.op("Add", x, b.weight(6))
			return b.op("Mul", b.op("Mul", x, b.c(0.5)), b.tanh(x, b.op("Pow", x, b.c(3))))
		}, "FastGelu"),
		only("a bias with more axes", func(b *net, x string) string {
			x = b.op("Add", x, b.weight(1, 6))
			return b.op("Mul", b.op("Mul", x, b.erf(x)), b.c(0.5))
		}, "Add", "Gelu"),
		only("the sum is read elsewhere", func(b *net, x string) string {
			x = b.op("Add", x, b.weight(6))
			b.out(x)
			return b.op("Mul", b.op("Mul", x, b.erf(x)), b.c(0.5))
		}, "Add", "Gelu"),
	})
}

func TestFuseSwish(t *testing.T) {
	check(t, []pattern{
		only("silu", func(b *net, x string) string { return b.op("Mul", x, b.op("Sigmoid", x)) }, "Swish"),
		only("quick gelu", func(b *net, x string) string {
			return b.op("Mul", b.op("Sigmoid", b.op("Mul", b.c(1.702), x)), x)
		}, "Swish"),
	})
	check(t, []pattern{
		only("swiglu", func(b *net, x string) string {
			return b.op("Mul", b.op("Mul", x, b.op("Sigmoid", x)), b.in("y", "batch", "tokens", 6))
		}, "SwiGLU"),
	})
	check(t, []pattern{
		only("of another value", func(b *net, x string) string {
			return b.op("Mul", b.in("y", "batch", "tokens", 6), b.op("Sigmoid", x))
		}, "Sigmoid", "Mul"),
		only("a vector of factors", func(b *net, x string) string {
			return b.op("Mul", x, b.op("Sigmoid", b.op("Mul", b.weight(6), x)))
		}, "Mul", "Sigmoid", "Mul"),
		only("the sigmoid is read elsewhere", func(b *net, x string) string {
			s := b.op("Sigmoid", x)
			b.out(s)
			return b.op("Mul", x, s)
		}, "Sigmoid", "Mul"),
		only("a gate that stretches", func(b *net, x string) string {
			return b.op("Mul", b.op("Mul", x, b.op("Sigmoid", x)), b.weight(6))
		}, "Swish", "Mul"),
	})
}

func (b *net) clip(x string, lo, hi float64) string {
	return b.op("Clip", b.op("Add", x, b.c(3)), b.c(lo), b.c(hi))
}

func TestFuseHardSwish(t *testing.T) {
	check(t, []pattern{
		only("a quotient", func(b *net, x string) string { return b.op("Div", b.op("Mul", x, b.clip(x, 0, 6)), b.c(6)) }, "HardSwish"),
		only("a quotient inside", func(b *net, x string) string { return b.op("Mul", x, b.op("Div", b.clip(x, 0, 6), b.c(6))) }, "HardSwish"),
		only("a product", func(b *net, x string) string {
			return b.op("Mul", b.op("Mul", b.c(1.0/6), x), b.clip(x, 0, 6))
		}, "HardSwish"),
		{name: "HardSigmoid", types: []tensor.DType{tensor.F32}, want: []string{"HardSwish"}, build: func(b *net) {
			x := b.in("x", "batch", 4)
			b.out(b.op("Mul", b.op("HardSigmoid", x, attrFloat("alpha", 1.0/6)), x))
		}},
		{name: "attributes", types: []tensor.DType{tensor.F32}, want: []string{"HardSwish"}, build: func(b *net) {
			b.opset = 10
			x := b.in("x", "batch", 4)
			clip := b.op("Clip", b.op("Add", x, b.c(3)), attrFloat("min", 0), attrFloat("max", 6))
			b.out(b.op("Div", b.op("Mul", x, clip), b.c(6)))
		}},
	})
	check(t, []pattern{
		only("other limits", func(b *net, x string) string { return b.op("Div", b.op("Mul", x, b.clip(x, -1, 6)), b.c(6)) }, "Add", "Clip", "Mul", "Div"),
		only("another number", func(b *net, x string) string { return b.op("Div", b.op("Mul", x, b.clip(x, 0, 6)), b.c(5)) }, "Add", "Clip", "Mul", "Div"),
		only("another slope", func(b *net, x string) string { return b.op("Mul", x, b.op("HardSigmoid", x)) }, "HardSigmoid", "Mul"),
	})
}

func TestFuseMish(t *testing.T) {
	check(t, []pattern{
		only("softplus", func(b *net, x string) string { return b.op("Mul", x, b.op("Tanh", b.op("Softplus", x))) }, "Mish"),
		only("its parts", func(b *net, x string) string {
			sum := b.op("Add", b.op("Exp", x), b.c(1))
			return b.op("Mul", b.op("Tanh", b.op("Log", sum)), x)
		}, "Mish"),
	})
	check(t, []pattern{
		only("the parts alone", func(b *net, x string) string {
			return b.op("Log", b.op("Add", b.c(1), b.op("Exp", x)))
		}, "Exp", "Add", "Log"),
		only("of another value", func(b *net, x string) string {
			return b.op("Mul", x, b.op("Tanh", b.op("Softplus", b.op("Neg", x))))
		}, "Neg", "Softplus", "Tanh", "Mul"),
	})
}

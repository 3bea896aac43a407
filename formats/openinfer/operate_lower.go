package openinfer

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Element types that standard operators compute with.
var (
	plainFloats = setOf(dtBF16, dtF16, dtF32, dtF64)
	plain       = plainFloats | integers
	wideInts    = setOf(dtI32, dtI64, dtU32, dtU64)
)

// x returns the value of an operand.
func (c *call) x(i int) string { return c.inputs[i].value }

// op adds a standard node.
func (c *call) op(op string, inputs ...string) string { return c.b.Op(op, inputs) }

// where adds a node that selects a where cond is true, else b.
func (c *call) where(cond, a, b string) string { return c.op("Where", cond, a, b) }

// castTo adds a node that converts elements.
func (c *call) castTo(value string, d tensor.DType) string {
	return c.b.Op("Cast", []string{value}, graph.IntAttr("to", int64(d.Code())))
}

// number returns a constant scalar of the inputs' type, one of plainFloats.
func (c *call) number(v float64) string { return constantOf(c.b, c.in(), v) }

func constantOf(b *graph.Builder, d dtype, v float64) string {
	t := tensor.New(d.tensor())
	setScalar(t, v)
	return b.Constant(t)
}

// scalarOr returns a numeric attribute as a value of the inputs' type, one of plainFloats. If it is
// missing, scalarOr returns def.
func (c *call) scalarOr(name string, def float64) string {
	switch v := c.attrs[name].(type) {
	case operand:
		return c.variable(v)
	case nil:
		return c.number(def)
	default:
		return c.number(toFloat(v))
	}
}

// variable converts a scalar to the inputs' type, one of plainFloats. It returns "" if standard
// operators cannot convert it.
func (c *call) variable(v operand) string {
	switch {
	case v.dtype == c.in():
		return v.value
	case (plain | boolean | setOf(dtBitset)).has(v.dtype):
		return c.castTo(v.value, c.in().tensor())
	}
	return ""
}

// literal reports whether an attribute is missing or known.
func (c *call) literal(name string) bool {
	_, variable := c.attrs[name].(operand)
	return !variable
}

// ready reports whether numeric attributes are known, or variables that standard operators convert.
func (c *call) ready(names ...string) bool {
	for _, name := range names {
		if v, ok := c.attrs[name].(operand); ok && !(plain | boolean | setOf(dtBitset)).has(v.dtype) {
			return false
		}
	}
	return true
}

// toFloat converts a number to float64.
func toFloat(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case bool:
		return float64(bit(v))
	}
	return math.NaN()
}

// unary lowers a function to a standard operator.
func unary(op string) func(*call) string {
	return func(c *call) string {
		if c.given("acc") || !plain.has(c.in()) {
			return ""
		}
		return c.op(op, c.x(0))
	}
}

// arithmetic lowers sums and products to a standard operator. On bools they become Or and And.
func arithmetic(op string) func(*call) string {
	return func(c *call) string {
		switch d := c.in(); {
		case c.given("acc"):
			return ""
		case d == dtBool && op == "Add":
			return c.op("Or", c.x(0), c.x(1))
		case d == dtBool:
			return c.op("And", c.x(0), c.x(1))
		case plain.has(d), d == dtBitset:
			return c.op(op, c.x(0), c.x(1))
		}
		return ""
	}
}

// lowerMatMul lets standard operators multiply narrow floats: products are added in float32 and
// rounded once. Products of bytes are added in int32 and cut to the output's type. If that type is
// wider, all sums must fit an int32.
func lowerMatMul(c *call) string {
	depth := c.inputs[1].dims[len(c.inputs[1].dims)-2]
	switch d := c.in(); {
	case d == dtI8 || d == dtU8 || d == dtBitset:
		if c.out.dtype.bits() > 32 && depth > deepest {
			return ""
		}
		y := c.op("MatMulInteger", c.x(0), c.x(1))
		if c.out.dtype == dtI32 {
			return y
		}
		return c.castTo(y, c.out.dtype.tensor())
	case !c.given("acc") && (plainFloats | wideInts).has(d):
		return c.op("MatMul", c.x(0), c.x(1))
	}
	return ""
}

// deepest is the largest number of products of two bytes whose sum fits an int32.
const deepest = 1<<31/(255*255) - 1

func lowerDiv(c *call) string {
	if !plainFloats.has(c.in()) || !c.ready(maskAttr.name) {
		return ""
	}
	zero := c.op("Equal", c.x(1), c.number(0))
	return c.where(zero, c.scalarOr(maskAttr.name, math.NaN()), c.op("Div", c.x(0), c.x(1)))
}

func lowerRecip(c *call) string {
	if !plainFloats.has(c.in()) || !c.ready(maskAttr.name) {
		return ""
	}
	zero := c.op("Equal", c.x(0), c.number(0))
	return c.where(zero, c.scalarOr(maskAttr.name, math.NaN()), c.op("Reciprocal", c.x(0)))
}

// lowerSign compares floats, because the sign of a NaN is 0.
func lowerSign(c *call) string {
	switch d := c.in(); {
	case d == dtI8:
		return c.op("Sign", c.x(0))
	case signed.has(d):
		return c.castTo(c.op("Sign", c.x(0)), tensor.I8)
	case plainFloats.has(d):
		up, down := c.op("Greater", c.x(0), c.number(0)), c.op("Less", c.x(0), c.number(0))
		return c.castTo(c.op("Sub", c.castTo(up, tensor.I32), c.castTo(down, tensor.I32)), tensor.I8)
	}
	return ""
}

// lowerFMA rounds once: the product is exact in the wider type. The sum is rounded there, and then
// to the operands' type.
func lowerFMA(c *call) string {
	wide := tensor.F32
	switch c.in() {
	case dtF32:
		wide = tensor.F64
	case dtF16, dtBF16:
	default:
		return ""
	}
	product := c.op("Mul", c.castTo(c.x(0), wide), c.castTo(c.x(1), wide))
	return c.castTo(c.op("Add", product, c.castTo(c.x(2), wide)), c.in().tensor())
}

func lowerRelu(c *call) string {
	if !plainFloats.has(c.in()) || !c.ready("alpha", "clamp_max") {
		return ""
	}
	y := ""
	alpha := 0.0
	if v := c.attrs["alpha"]; v != nil && c.literal("alpha") {
		alpha = toFloat(v)
	}
	if c.in() != dtF64 && c.literal("alpha") { // ONNX Runtime has LeakyRelu only for narrower floats
		y = c.b.Op("LeakyRelu", []string{c.x(0)}, graph.FloatAttr("alpha", float32(alpha)))
	} else {
		y = c.where(c.op("GreaterOrEqual", c.x(0), c.number(0)), c.x(0), c.op("Mul", c.x(0), c.scalarOr("alpha", 0)))
	}
	if !c.given("clamp_max") || c.literal("clamp_max") && math.IsInf(toFloat(c.attrs["clamp_max"]), 1) {
		return y
	}
	return c.op("Min", y, c.scalarOr("clamp_max", 0))
}

// lowerClamp keeps NaNs: comparisons with them are false.
func lowerClamp(c *call) string {
	if !plainFloats.has(c.in()) || !c.ready("min", "max") {
		return ""
	}
	y := c.x(0)
	if c.given("min") {
		low := c.scalarOr("min", 0)
		y = c.where(c.op("Less", y, low), low, y)
	}
	if c.given("max") {
		high := c.scalarOr("max", 0)
		y = c.where(c.op("Greater", y, high), high, y)
	}
	if y == c.x(0) {
		return c.op("Identity", y)
	}
	return y
}

func lowerTrunc(c *call) string {
	if !plainFloats.has(c.in()) {
		return ""
	}
	return c.trunc(c.x(0), c.in())
}

func (c *call) trunc(x string, d dtype) string {
	return c.where(c.op("Less", x, constantOf(c.b, d, 0)), c.op("Ceil", x), c.op("Floor", x))
}

func lowerRound(c *call) string {
	if !plainFloats.has(c.in()) {
		return ""
	}
	return c.round(c.x(0), c.in())
}

// round rounds halves away from zero. The fraction of a float is exact.
func (c *call) round(x string, d dtype) string {
	whole := c.trunc(x, d)
	half := c.op("GreaterOrEqual", c.op("Abs", c.op("Sub", x, whole)), constantOf(c.b, d, 0.5))
	return c.where(half, c.op("Add", whole, c.op("Sign", x)), whole)
}

// extreme lowers a minimum or maximum to a standard operator. If one operand is NaN, the result is
// the other one.
func extreme(op string) func(*call) string {
	return func(c *call) string {
		a, b := c.x(0), c.x(1)
		switch d := c.in(); {
		case integers.has(d):
			return c.op(op, a, b)
		case plainFloats.has(d):
			return c.where(c.op("IsNaN", a), b, c.where(c.op("IsNaN", b), a, c.op(op, a, b)))
		}
		return ""
	}
}

// bitwise lowers to a standard operator on bools, and to its Bitwise form on integers.
func bitwise(op string) func(*call) string {
	return func(c *call) string {
		var inputs []string
		for _, in := range c.inputs {
			inputs = append(inputs, in.value)
		}
		switch d := c.in(); {
		case d == dtBool:
			return c.op(op, inputs...)
		case integers.has(d):
			return c.op("Bitwise"+op, inputs...)
		}
		return ""
	}
}

func comparison(op string, not bool) func(*call) string {
	return func(c *call) string {
		if !(plain | boolean).has(c.in()) {
			return ""
		}
		y := c.op(op, c.x(0), c.x(1))
		if not {
			return c.op("Not", y)
		}
		return y
	}
}

func lowerFilter(c *call) string {
	cond := c.x(2)
	switch d := c.in(); {
	case d == dtBool: // ONNX Runtime has Where only for numbers
		return c.op("Or", c.op("And", cond, c.x(0)), c.op("And", c.op("Not", cond), c.x(1)))
	case plain.has(d):
		return c.where(c.castTo(cond, tensor.Bool), c.x(0), c.x(1))
	}
	return ""
}

// lowerIsFinite tests whether the maximum of the "not finite" flags is 0.
func lowerIsFinite(c *call) string {
	if !plainFloats.has(c.in()) {
		return ""
	}
	bad := c.op("Or", c.op("IsNaN", c.x(0)), c.op("IsInf", c.x(0)))
	if len(c.inputs[0].dims) > 0 {
		bad = c.b.Op("ReduceMax", []string{c.castTo(bad, tensor.I32)}, graph.IntAttr("keepdims", 0))
		bad = c.op("Greater", bad, constant(c.b, tensor.I32, int32(0)))
	}
	return c.op("Not", bad)
}

func numberTest(op string) func(*call) string {
	return func(c *call) string { return c.op(op, c.x(0)) }
}

func lowerIsNeg(c *call) string {
	switch d := c.in(); {
	case signed.has(d):
		zero := c.b.Constant(tensor.New(d.tensor()))
		return c.op("Less", c.x(0), zero)
	case unsigned.has(d):
		return c.op("Less", c.x(0), c.x(0))
	}
	return ""
}

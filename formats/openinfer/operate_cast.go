package openinfer

import (
	"math"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// lowerFill repeats a known number, or a variable converted to a float.
func lowerFill(c *call) string {
	d := c.in()
	shape := make([]int64, len(c.out.dims))
	for i, n := range c.out.dims {
		shape[i] = int64(n)
	}
	switch {
	case plainFloats.has(d) && !c.literal("value") && c.ready("value"):
		return c.op("Expand", c.scalarOr("value", 0), c.b.Ints(shape...))
	case !(plain|boolean).has(d) && d != dtBitset || !c.literal("value"):
		return ""
	}
	t := tensor.New(d.tensor(), 1)
	if !setScalar(t, c.attrs["value"]) {
		return ""
	}
	return c.b.Op("ConstantOfShape", []string{c.b.Ints(shape...)}, graph.TensorAttr("value", t))
}

// lowerCast converts through float64, as the language specifies.
func lowerCast(c *call) string {
	from, to := c.in(), c.out.dtype
	switch {
	case !plain.has(from) || !plain.has(to):
		return ""
	case from.isFloat() && to.isInt():
		return c.toInteger(to)
	case from.bits() == 64 && from.isInt() && to != dtF64:
		return c.castTo(c.castTo(c.x(0), tensor.F64), to.tensor())
	}
	return c.castTo(c.x(0), to.tensor())
}

// toInteger turns NaNs into 0, rounds, and clamps floats to the range of the type.
func (c *call) toInteger(to dtype) string {
	x := c.x(0)
	if c.in() != dtF64 {
		x = c.castTo(x, tensor.F64)
	}
	f64 := func(v float64) string { return constantOf(c.b, dtF64, v) }
	x = c.where(c.op("IsNaN", x), f64(0), x)
	switch c.attrs["rounding_mode"] {
	case "floor":
		x = c.op("Floor", x)
	case "ceil":
		x = c.op("Ceil", x)
	case "nearest":
		x = c.round(x, dtF64)
	}
	low, end := 0.0, math.Ldexp(1, to.bits())
	if !to.isUnsigned() {
		low, end = -end/2, end/2
	}
	most := end - 1
	if to.bits() == 64 { // float64 lacks the greatest integer
		most = math.Nextafter(end, 0)
	}
	y := c.castTo(c.op("Clip", x, f64(low), f64(most)), to.tensor())
	if to.bits() < 64 {
		return y
	}
	greatest := tensor.New(to.tensor())
	if to == dtI64 {
		tensor.View[int64](greatest)[0] = math.MaxInt64
	} else {
		tensor.View[uint64](greatest)[0] = math.MaxUint64
	}
	return c.where(c.op("GreaterOrEqual", x, f64(end)), c.b.Constant(greatest), y)
}

// setScalar stores a number as the only element of a tensor and reports success. Integers keep
// their low bits. A float cannot become an integer.
func setScalar(t *tensor.Tensor, v any) bool {
	switch v := v.(type) {
	case int64:
		return elements.Put(t, 0, []int64{v})
	case uint64:
		return elements.Put(t, 0, []uint64{v})
	case bool:
		return elements.Put(t, 0, []int{int(bit(v))})
	}
	return t.DType().IsFloat() && elements.Put(t, 0, []float64{toFloat(v)})
}

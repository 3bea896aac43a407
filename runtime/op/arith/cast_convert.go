package arith

import (
	"math"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// convertElements sets the elements of y to those of x, which has as many. Floats
// become integers by rounding towards zero, within the range of the type, and a NaN
// becomes 0; integers keep their low bits.
func convertElements(y, x *tensor.Tensor) {
	switch x.DType() {
	case tensor.F32:
		convertFrom(y, tensor.View[float32](x))
	case tensor.F64:
		convertFrom(y, tensor.View[float64](x))
	case tensor.F16:
		convertFrom(y, op.Convert(tensor.View[packed.F16](x), packed.F16.Float32))
	case tensor.BF16:
		convertFrom(y, op.Convert(tensor.View[packed.BF16](x), packed.BF16.Float32))
	case tensor.I8:
		convertFrom(y, tensor.View[int8](x))
	case tensor.I16:
		convertFrom(y, tensor.View[int16](x))
	case tensor.I32:
		convertFrom(y, tensor.View[int32](x))
	case tensor.I64:
		convertFrom(y, tensor.View[int64](x))
	case tensor.U8:
		convertFrom(y, tensor.View[uint8](x))
	case tensor.U16:
		convertFrom(y, tensor.View[uint16](x))
	case tensor.U32:
		convertFrom(y, tensor.View[uint32](x))
	case tensor.U64:
		convertFrom(y, tensor.View[uint64](x))
	case tensor.Bool:
		convertFrom(y, op.Convert(x.Bytes(), func(b byte) uint8 { return uint8(op.Btoi(b != 0)) }))
	default:
		panic("op: no conversion from " + x.DType().String())
	}
}

func convertFrom[S op.Number](y *tensor.Tensor, x []S) {
	switch y.DType() {
	case tensor.F32:
		castInto(y, x, func(v S) float32 { return float32(v) })
	case tensor.F64:
		castInto(y, x, func(v S) float64 { return float64(v) })
	case tensor.F16:
		castInto(y, x, func(v S) packed.F16 { return packed.ToF16(roundedOdd(v)) })
	case tensor.BF16:
		castInto(y, x, func(v S) packed.BF16 { return packed.ToBF16(roundedOdd(v)) })
	case tensor.I8:
		castInto(y, x, toInteger[int8](x, math.MinInt8, math.MaxInt8))
	case tensor.I16:
		castInto(y, x, toInteger[int16](x, math.MinInt16, math.MaxInt16))
	case tensor.I32:
		castInto(y, x, toInteger[int32](x, math.MinInt32, math.MaxInt32))
	case tensor.I64:
		castInto(y, x, toInteger[int64](x, math.MinInt64, math.MaxInt64))
	case tensor.U8:
		castInto(y, x, toInteger[uint8](x, 0, math.MaxUint8))
	case tensor.U16:
		castInto(y, x, toInteger[uint16](x, 0, math.MaxUint16))
	case tensor.U32:
		castInto(y, x, toInteger[uint32](x, 0, math.MaxUint32))
	case tensor.U64:
		castInto(y, x, toInteger[uint64](x, 0, math.MaxUint64))
	case tensor.Bool:
		castInto(y, x, func(v S) bool { return v != 0 })
	default:
		panic("op: no conversion to " + y.DType().String())
	}
}

func castInto[S any, D tensor.Element](y *tensor.Tensor, x []S, f func(S) D) {
	for i, out := 0, tensor.View[D](y); i < len(x); i++ {
		out[i] = f(x[i])
	}
}

// toInteger is the conversion of numbers, such as those of a list, to integers from
// low to high.
func toInteger[D op.Integer, S op.Number](_ []S, low, high D) func(S) D {
	if half := 0.5; S(half) == 0 {
		return func(v S) D { return D(v) }
	}
	return func(v S) D {
		switch f := float64(v); {
		case f != f:
			return 0
		case f <= float64(low):
			return low
		case f >= float64(high):
			return high
		default:
			return D(f)
		}
	}
}

// roundedOdd is a number as float32, a float64 rounded to the neighbour with an odd
// last bit unless it is exact: rounding that again, to at most 22 bits, gives what
// rounding the number once would.
func roundedOdd[S op.Number](v S) float32 {
	f := float32(v)
	d, ok := any(v).(float64)
	if !ok || float64(f) == d || d != d {
		return f
	}
	bits := math.Float32bits(f)
	if math.Abs(float64(f)) > math.Abs(d) {
		bits--
	}
	return math.Float32frombits(bits | 1)
}

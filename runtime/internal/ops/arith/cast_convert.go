package arith

import (
	"math"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// convertElements sets the elements of y to the elements of x, which has the same length. Floats
// become integers by rounding towards zero, clamped to the range of the type; a NaN becomes 0.
// Integers keep their low bits.
func convertElements(y, x *tensor.Tensor) {
	switch x.DType() {
	case tensor.F32:
		convertAs(y, tensor.View[float32](x), toWidest[float32, float64])
	case tensor.F64:
		convertAs(y, tensor.View[float64](x), toWidest[float64, float64])
	case tensor.F16:
		convertAs(y, tensor.View[packed.F16](x), func(v packed.F16) float64 { return float64(v.Float32()) })
	case tensor.BF16:
		convertAs(y, tensor.View[packed.BF16](x), func(v packed.BF16) float64 { return float64(v.Float32()) })
	case tensor.I8:
		convertAs(y, tensor.View[int8](x), toWidest[int8, int64])
	case tensor.I16:
		convertAs(y, tensor.View[int16](x), toWidest[int16, int64])
	case tensor.I32:
		convertAs(y, tensor.View[int32](x), toWidest[int32, int64])
	case tensor.I64:
		convertAs(y, tensor.View[int64](x), toWidest[int64, int64])
	case tensor.U8:
		convertAs(y, tensor.View[uint8](x), toWidest[uint8, uint64])
	case tensor.U16:
		convertAs(y, tensor.View[uint16](x), toWidest[uint16, uint64])
	case tensor.U32:
		convertAs(y, tensor.View[uint32](x), toWidest[uint32, uint64])
	case tensor.U64:
		convertAs(y, tensor.View[uint64](x), toWidest[uint64, uint64])
	case tensor.Bool:
		convertAs(y, x.Bytes(), func(b byte) uint64 { return uint64(kit.Btoi(b != 0)) })
	default:
		panic("op: no conversion from " + x.DType().String())
	}
}

// widest are the types that hold all numbers of their kind.
type widest interface{ float64 | int64 | uint64 }

func toWidest[S kit.Number, W widest](v S) W { return W(v) }

// convertAs converts each block of elements to the widest type of their kind, and then to the type
// of y, so that few pairs of types need code.
func convertAs[S any, W widest](y *tensor.Tensor, x []S, widen func(S) W) {
	var block [512]W
	for at := 0; at < len(x); at += len(block) {
		n := min(len(x)-at, len(block))
		for i, v := range x[at : at+n] {
			block[i] = widen(v)
		}
		convertBlock(y, at, block[:n])
	}
}

// convertBlock sets the elements of y from index at on.
func convertBlock[W widest](y *tensor.Tensor, at int, x []W) {
	switch y.DType() {
	case tensor.F32:
		castInto(y, at, x, func(v W) float32 { return float32(v) })
	case tensor.F64:
		castInto(y, at, x, func(v W) float64 { return float64(v) })
	case tensor.F16:
		castInto(y, at, x, func(v W) packed.F16 { return packed.ToF16(roundedOdd(v)) })
	case tensor.BF16:
		castInto(y, at, x, func(v W) packed.BF16 { return packed.ToBF16(roundedOdd(v)) })
	case tensor.I8:
		castInto(y, at, x, toInteger[W](math.MinInt8, int8(math.MaxInt8)))
	case tensor.I16:
		castInto(y, at, x, toInteger[W](math.MinInt16, int16(math.MaxInt16)))
	case tensor.I32:
		castInto(y, at, x, toInteger[W](math.MinInt32, int32(math.MaxInt32)))
	case tensor.I64:
		castInto(y, at, x, toInteger[W](math.MinInt64, int64(math.MaxInt64)))
	case tensor.U8:
		castInto(y, at, x, toInteger[W](0, uint8(math.MaxUint8)))
	case tensor.U16:
		castInto(y, at, x, toInteger[W](0, uint16(math.MaxUint16)))
	case tensor.U32:
		castInto(y, at, x, toInteger[W](0, uint32(math.MaxUint32)))
	case tensor.U64:
		castInto(y, at, x, toInteger[W](0, uint64(math.MaxUint64)))
	case tensor.Bool:
		castInto(y, at, x, func(v W) bool { return v != 0 })
	default:
		panic("op: no conversion to " + y.DType().String())
	}
}

// castInto sets the elements of y from index at on to f of the elements of x.
func castInto[S any, D tensor.Element](y *tensor.Tensor, at int, x []S, f func(S) D) {
	out := tensor.View[D](y)[at:]
	for i, v := range x {
		out[i] = f(v)
	}
}

// toInteger returns the conversion of numbers to integers clamped to low..high.
func toInteger[S kit.Number, D kit.Integer](low, high D) func(S) D {
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

// roundedOdd returns v as float32. An inexact float64 is rounded to the neighbour with an odd last
// bit. Rounding that again, to at most 22 bits, equals rounding v once.
func roundedOdd[S kit.Number](v S) float32 {
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

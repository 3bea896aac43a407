package openinfer

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// pointwiseTable lists the operators on corresponding elements. If ONNX has the same operator for
// some types, programs use ONNX's.
var pointwiseTable = []pointwise{
	{name: "add", operands: 2, acc: true, i: add[int64], u: add[uint64], f: add[float32], d: add[float64]},
	{name: "mul", operands: 2, acc: true, i: mul[int64], u: mul[uint64], f: mul[float32], d: mul[float64]},
	{name: "sub", operands: 2, acc: true, i: sub[int64], u: sub[uint64], f: sub[float32], d: sub[float64]},
	{name: "div", operands: 2, scalars: 1, how: maskRule, i: quotient[int64], u: quotient[uint64], f: quotient[float32], d: quotient[float64]},
	{name: "floor_div", operands: 2, scalars: 1, how: maskRule, i: euclid, u: quotient[uint64]},
	{name: "rem", operands: 2, i: remainder[int64], u: remainder[uint64]},
	{name: "abs", operands: 1, acc: true, i: magnitude, f: absolute[float32], d: absolute[float64]},
	{name: "neg", operands: 1, i: negate[int64], f: negate[float32], d: negate[float64]},
	{name: "sign", operands: 1, result: tensor.I8, i: sign[int64], f: sign[float32], d: sign[float64]},
	{name: "recip", operands: 1, scalars: 1, how: maskRule, f: reciprocal[float32], d: reciprocal[float64]},
	{name: "fma", operands: 3, f: fused32, d: fused64},
	{name: "relu", operands: 1, scalars: 2, how: reluRule, i: reluInts, f: relu[float32], d: relu[float64]},
	{name: "clamp", operands: 1, scalars: 2, how: clampRule, i: clamp[int64], u: clamp[uint64], f: clamp[float32], d: clamp[float64]},
	{name: "floor", operands: 1, f: rounded[float32](math.Floor), d: rounded[float64](math.Floor)},
	{name: "ceil", operands: 1, f: rounded[float32](math.Ceil), d: rounded[float64](math.Ceil)},
	{name: "round", operands: 1, f: rounded[float32](math.Round), d: rounded[float64](math.Round)},
	{name: "trunc", operands: 1, f: rounded[float32](math.Trunc), d: rounded[float64](math.Trunc)},
	{name: "min", operands: 2, i: least[int64], u: least[uint64], f: least[float32], d: least[float64]},
	{name: "max", operands: 2, i: greatest[int64], u: greatest[uint64], f: greatest[float32], d: greatest[float64]},
	{name: "and", operands: 2, bools: true, i: and[int64], u: and[uint64]},
	{name: "or", operands: 2, bools: true, i: or[int64], u: or[uint64]},
	{name: "xor", operands: 2, bools: true, i: xor[int64], u: xor[uint64]},
	{name: "not", operands: 1, bools: true, i: not[int64], u: not[uint64]},
	{name: "shl", operands: 1, scalars: 1, how: shiftRule, i: shiftLeft[int64], u: shiftLeft[uint64]},
	{name: "shr", operands: 1, scalars: 1, how: shiftRule, i: shiftRight[int64], u: shiftRight[uint64]},
	{name: "popcount", operands: 1, result: tensor.U8, i: popcount[int64], u: popcount[uint64]},
	{name: "eq", operands: 2, bools: true, result: tensor.Bool, i: equal[int64], u: equal[uint64], f: equal[float32], d: equal[float64]},
	{name: "ne", operands: 2, bools: true, result: tensor.Bool, i: unequal[int64], u: unequal[uint64], f: unequal[float32], d: unequal[float64]},
	{name: "lt", operands: 2, result: tensor.Bool, i: less[int64], u: less[uint64], f: less[float32], d: less[float64]},
	{name: "le", operands: 2, result: tensor.Bool, i: lessOrEqual[int64], u: lessOrEqual[uint64], f: lessOrEqual[float32], d: lessOrEqual[float64]},
	{name: "gt", operands: 2, result: tensor.Bool, i: greater[int64], u: greater[uint64], f: greater[float32], d: greater[float64]},
	{name: "ge", operands: 2, result: tensor.Bool, i: greaterOrEqual[int64], u: greaterOrEqual[uint64], f: greaterOrEqual[float32], d: greaterOrEqual[float64]},
	{name: "filter", operands: 3, bools: true, i: filter[int64], u: filter[uint64], f: filter[float32], d: filter[float64]},
	{name: "is_neg", operands: 1, result: tensor.Bool, i: negative[int64], u: negative[uint64], f: signBit[float32], d: signBit[float64]},
	{name: "fill", operands: 1, bools: true, scalars: 1, how: fillRule, i: fill[int64], u: fill[uint64], f: fill[float32], d: fill[float64]},
}

func pointwiseRows() []op.Row {
	var rows []op.Row
	for i := range pointwiseTable {
		rows = append(rows, pointwiseTable[i].row())
	}
	return rows
}

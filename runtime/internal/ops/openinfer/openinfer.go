// Package openinfer has the operators of OpenInfer that differ in meaning from ONNX's: integers
// wrap in their own width, elements may be narrower than a byte, and quotients, roundings and
// comparisons have rules of their own.
//
// Elements are computed in blocks, as int64, uint64 or float64, or as float32 if they are narrower
// floats. A result is cut or rounded to its type once.
package openinfer

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Domain is the domain of the operators.
const Domain = "openinfer"

// Rows returns the rows of the family.
func Rows() []op.Row {
	return slices.Concat(
		pointwiseRows(),
		castRows,
		matmulRows,
		reduceRows,
		finiteRows,
		tableRows,
		bytesRows,
	)
}

// The element types that operators of the domain take.
var (
	signedTypes   = slices.Concat(op.Signed, op.Types{tensor.I1, tensor.I2, tensor.I4})
	unsignedTypes = slices.Concat(op.Unsigned, op.Types{tensor.U1, tensor.U2, tensor.U4})
	singleTypes   = op.Types{tensor.F32, tensor.F16, tensor.BF16, tensor.F8E5M2}
	doubleTypes   = op.Types{tensor.F64}
	numberTypes   = slices.Concat(signedTypes, unsignedTypes, singleTypes, doubleTypes)
)

// accumulator returns the output type given by attribute acc, or Invalid if the node has none.
func accumulator(n *op.Node) (tensor.DType, error) {
	if !n.Has("acc") {
		return tensor.Invalid, nil
	}
	return typeNamed(n, "acc", op.Integers)
}

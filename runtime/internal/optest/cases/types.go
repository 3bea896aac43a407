package cases

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Codes maps element types to their ONNX numbers.
var Codes = map[tensor.DType]int{
	tensor.F32: 1, tensor.U8: 2, tensor.I8: 3, tensor.U16: 4, tensor.I16: 5, tensor.I32: 6, tensor.I64: 7, tensor.String: 8,
	tensor.Bool: 9, tensor.F16: 10, tensor.F64: 11, tensor.U32: 12, tensor.U64: 13, tensor.C64: 14, tensor.C128: 15, tensor.BF16: 16,
	tensor.F8E4M3FN: 17, tensor.F8E4M3FNUZ: 18, tensor.F8E5M2: 19, tensor.F8E5M2FNUZ: 20, tensor.U4: 21, tensor.I4: 22,
	tensor.F4E2M1: 23, tensor.F8E8M0: 24, tensor.U2: 25, tensor.I2: 26,
}

// Microsoft is the domain of operators that ONNX Runtime adds to the standard.
const Microsoft = "com.microsoft"

// Sets of element types.
var (
	Floats   = []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16}
	Signed   = []tensor.DType{tensor.I8, tensor.I16, tensor.I32, tensor.I64}
	Unsigned = []tensor.DType{tensor.U8, tensor.U16, tensor.U32, tensor.U64}
	Integers = slices.Concat(Signed, Unsigned)
	Numeric  = slices.Concat(Floats, Integers)
	// NarrowFloats lists the floats of at most 32 bits.
	NarrowFloats = []tensor.DType{tensor.F32, tensor.F16, tensor.BF16}
	// ProductTypes lists the element types of matrix products.
	ProductTypes = slices.Concat(Floats, []tensor.DType{tensor.I32, tensor.I64, tensor.U32, tensor.U64})
)

// AttrList is the attributes of a node.
type AttrList = []*graph.Attr

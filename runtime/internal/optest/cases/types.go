package cases

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

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

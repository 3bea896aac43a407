package safetensors

import (
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// dtypes has the element types, from narrow to wide. Payloads are written in the reverse order.
// Types that no tensor can have are Invalid.
var dtypes = []struct {
	name  string
	dtype tensor.DType
}{
	{"BOOL", tensor.Bool},
	{"F4", tensor.F4E2M1},
	{"F6_E2M3", tensor.Invalid},
	{"F6_E3M2", tensor.Invalid},
	{"U8", tensor.U8},
	{"I8", tensor.I8},
	{"F8_E5M2", tensor.F8E5M2},
	{"F8_E4M3", tensor.F8E4M3FN},
	{"F8_E8M0", tensor.F8E8M0},
	{"F8_E4M3FNUZ", tensor.F8E4M3FNUZ},
	{"F8_E5M2FNUZ", tensor.F8E5M2FNUZ},
	{"I16", tensor.I16},
	{"U16", tensor.U16},
	{"F16", tensor.F16},
	{"BF16", tensor.BF16},
	{"I32", tensor.I32},
	{"U32", tensor.U32},
	{"F32", tensor.F32},
	{"C64", tensor.C64},
	{"F64", tensor.F64},
	{"I64", tensor.I64},
	{"U64", tensor.U64},
}

// named returns the row with a name, or -1 if there is none.
func named(name string) int {
	for i, row := range dtypes {
		if row.name == name {
			return i
		}
	}
	return -1
}

// rowOf returns the row of an element type, or -1 if there is none.
func rowOf(d tensor.DType) int {
	for i, row := range dtypes {
		if row.dtype == d && d != tensor.Invalid {
			return i
		}
	}
	return -1
}

// dtypeNames lists the element types that tensors can have.
func dtypeNames() string {
	var list []string
	for _, row := range slices.Backward(dtypes) {
		if row.dtype != tensor.Invalid {
			list = append(list, row.dtype.String())
		}
	}
	return strings.Join(list, ", ")
}

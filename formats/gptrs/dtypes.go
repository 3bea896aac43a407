package gptrs

import (
	"strings"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// dtypes lists the element types. The index of a row is the number in files.
var dtypes = []struct {
	name  string
	dtype tensor.DType
}{
	{"f32", tensor.F32},
	{"f16", tensor.F16},
	{"bf16", tensor.BF16},
	{"i32", tensor.I32},
}

// tagOf returns the number of an element type.
func tagOf(d tensor.DType) (uint32, bool) {
	for tag, row := range dtypes {
		if row.dtype == d {
			return uint32(tag), true
		}
	}
	return 0, false
}

// dtypeNames lists the element types.
func dtypeNames() string {
	var list []string
	for _, row := range dtypes {
		list = append(list, row.dtype.String())
	}
	return strings.Join(list, ", ")
}

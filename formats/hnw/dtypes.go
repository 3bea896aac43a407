package hnw

import (
	"strings"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// dtypes is the table of element types.
var dtypes = []struct {
	word  string
	dtype tensor.DType
}{
	{"f32", tensor.F32},
	{"f64", tensor.F64},
	{"i32", tensor.I32},
	{"i64", tensor.I64},
	{"bool", tensor.Bool},
}

func dtypeOf(word string) (tensor.DType, bool) {
	for _, row := range dtypes {
		if row.word == word {
			return row.dtype, true
		}
	}
	return tensor.Invalid, false
}

// wordOf returns the format's word for an element type. If there is none, ok is false and word is
// Nacre's.
func wordOf(d tensor.DType) (word string, ok bool) {
	for _, row := range dtypes {
		if row.dtype == d {
			return row.word, true
		}
	}
	return d.String(), false
}

func words() string {
	list := make([]string, len(dtypes))
	for i, row := range dtypes {
		list[i] = row.word
	}
	return strings.Join(list, ", ")
}

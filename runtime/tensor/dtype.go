// Package tensor holds typed, shaped, contiguous data. The package is for programs that bring
// operators or work on graphs. Programs that run models use nacre.Tensor.
package tensor

import (
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/packed"
)

// DType is the type of a tensor's elements.
type DType uint8

// The element types. The table below has their properties.
const (
	Invalid DType = iota
	F32
	F64
	F16
	BF16
	I8
	I16
	I32
	I64
	U8
	U16
	U32
	U64
	Bool
	String
	C64
	C128
	F8E4M3FN
	F8E4M3FNUZ
	F8E5M2
	F8E5M2FNUZ
	F8E8M0
	F4E2M1
	I4
	U4
	I2
	U2
	I1
	U1
	T1
	T2
	dtypeCount
)

// Kind groups element types by their arithmetic.
type Kind uint8

// The kinds of element types.
const (
	NoKind Kind = iota
	Float
	Signed
	Unsigned
	Boolean
	Text
	Complex
)

// dtypes is the table of element types. csrc/core/dtypes.inc has the same rows for the types of
// kernels.
var dtypes = [dtypeCount]struct {
	name   string
	bits   int // per element; 0 for strings, which vary in size
	kind   Kind
	layout *packed.Layout // for elements narrower than a byte
	short  string         // in the names of kernels; empty for a type on which none computes
	code   int            // in ONNX files; 0 for a type of other formats
}{
	Invalid:    {"invalid", 0, NoKind, nil, "", 0},
	F32:        {"float32", 32, Float, nil, "f32", 1},
	F64:        {"float64", 64, Float, nil, "f64", 11},
	F16:        {"float16", 16, Float, nil, "f16", 10},
	BF16:       {"bfloat16", 16, Float, nil, "bf16", 16},
	I8:         {"int8", 8, Signed, nil, "i8", 3},
	I16:        {"int16", 16, Signed, nil, "i16", 5},
	I32:        {"int32", 32, Signed, nil, "i32", 6},
	I64:        {"int64", 64, Signed, nil, "i64", 7},
	U8:         {"uint8", 8, Unsigned, nil, "u8", 2},
	U16:        {"uint16", 16, Unsigned, nil, "u16", 4},
	U32:        {"uint32", 32, Unsigned, nil, "u32", 12},
	U64:        {"uint64", 64, Unsigned, nil, "u64", 13},
	Bool:       {"bool", 8, Boolean, nil, "bool", 9},
	String:     {"string", 0, Text, nil, "", 8},
	C64:        {"complex64", 64, Complex, nil, "", 14},
	C128:       {"complex128", 128, Complex, nil, "", 15},
	F8E4M3FN:   {"float8e4m3fn", 8, Float, nil, "", 17},
	F8E4M3FNUZ: {"float8e4m3fnuz", 8, Float, nil, "", 18},
	F8E5M2:     {"float8e5m2", 8, Float, nil, "", 19},
	F8E5M2FNUZ: {"float8e5m2fnuz", 8, Float, nil, "", 20},
	F8E8M0:     {"float8e8m0", 8, Float, nil, "", 24},
	F4E2M1:     {"float4e2m1", 4, Float, packed.Fp4, "", 23},
	I4:         {"int4", 4, Signed, packed.Int4, "", 22},
	U4:         {"uint4", 4, Unsigned, packed.Uint4, "", 21},
	I2:         {"int2", 2, Signed, packed.Int2, "", 26},
	U2:         {"uint2", 2, Unsigned, packed.Uint2, "", 25},
	I1:         {"int1", 1, Signed, packed.Int1, "", 0},
	U1:         {"uint1", 1, Unsigned, packed.Uint1, "", 0},
	T1:         {"t1", 1, Signed, packed.T1, "", 0},
	T2:         {"t2", 2, Signed, packed.T2, "", 0},
}

// DTypes returns the element types of ONNX, which operators compute on, in the order of the table.
func DTypes() []DType {
	return slices.DeleteFunc(AllDTypes(), func(d DType) bool { return dtypes[d].code == 0 })
}

// AllDTypes returns every element type of a file, in the order of the table: the types of ONNX,
// then those of other formats.
func AllDTypes() []DType {
	list := make([]DType, 0, dtypeCount-1)
	for d := Invalid + 1; d < dtypeCount; d++ {
		list = append(list, d)
	}
	return list
}

// ParseDType returns the element type of a name.
func ParseDType(name string) (DType, error) {
	for d := Invalid + 1; d < dtypeCount; d++ {
		if dtypes[d].name == name {
			return d, nil
		}
	}
	return Invalid, fmt.Errorf("%q is no element type", name)
}

// ParseCode returns the element type with the code in ONNX files. ok is false if there is none.
func ParseCode(code int) (d DType, ok bool) {
	for d := Invalid + 1; d < dtypeCount; d++ {
		if dtypes[d].code == code && code != 0 {
			return d, true
		}
	}
	return Invalid, false
}

// Code returns the code in ONNX files, 0 for a type of other formats.
func (d DType) Code() int { return dtypes[d].code }

// Short returns the name that d has in the names of kernels, empty if none computes on d.
func (d DType) Short() string { return dtypes[d].short }

// Unsigned returns the unsigned integer type as wide as d, a signed one, and d itself for other
// types.
func (d DType) Unsigned() DType {
	for u := range dtypeCount {
		if dtypes[d].kind == Signed && dtypes[u].kind == Unsigned && dtypes[u].bits == dtypes[d].bits {
			return u
		}
	}
	return d
}

// String returns the standard name, such as float32.
func (d DType) String() string {
	if d >= dtypeCount {
		return fmt.Sprintf("dtype(%d)", uint8(d))
	}
	return dtypes[d].name
}

// Valid reports whether d is in the table.
func (d DType) Valid() bool { return d > Invalid && d < dtypeCount }

// Bits returns the bits of one element, 0 for strings.
func (d DType) Bits() int { return dtypes[d].bits }

// Kind returns the kind of d.
func (d DType) Kind() Kind { return dtypes[d].kind }

// Layout returns the packing of elements narrower than a byte, nil for others.
func (d DType) Layout() *packed.Layout { return dtypes[d].layout }

// Bytes returns the bytes of n elements, the last byte filled up; 0 for strings.
func (d DType) Bytes(n int) int {
	if l := dtypes[d].layout; l != nil {
		return l.Bytes(n)
	}
	return n * (dtypes[d].bits / 8)
}

// IsFloat reports whether d is a floating-point type of any width.
func (d DType) IsFloat() bool { return dtypes[d].kind == Float }

// IsInteger reports whether d is a signed or unsigned integer type.
func (d DType) IsInteger() bool { return dtypes[d].kind == Signed || dtypes[d].kind == Unsigned }

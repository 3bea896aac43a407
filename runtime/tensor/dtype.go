// Package tensor holds typed, shaped, contiguous data. The package is for programs that bring
// operators or work on graphs. Programs that run models use nacre.Tensor.
package tensor

import (
	"fmt"

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

// standardCount is one more than the last type of ONNX.
const standardCount = I1

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
}{
	Invalid:    {"invalid", 0, NoKind, nil},
	F32:        {"float32", 32, Float, nil},
	F64:        {"float64", 64, Float, nil},
	F16:        {"float16", 16, Float, nil},
	BF16:       {"bfloat16", 16, Float, nil},
	I8:         {"int8", 8, Signed, nil},
	I16:        {"int16", 16, Signed, nil},
	I32:        {"int32", 32, Signed, nil},
	I64:        {"int64", 64, Signed, nil},
	U8:         {"uint8", 8, Unsigned, nil},
	U16:        {"uint16", 16, Unsigned, nil},
	U32:        {"uint32", 32, Unsigned, nil},
	U64:        {"uint64", 64, Unsigned, nil},
	Bool:       {"bool", 8, Boolean, nil},
	String:     {"string", 0, Text, nil},
	C64:        {"complex64", 64, Complex, nil},
	C128:       {"complex128", 128, Complex, nil},
	F8E4M3FN:   {"float8e4m3fn", 8, Float, nil},
	F8E4M3FNUZ: {"float8e4m3fnuz", 8, Float, nil},
	F8E5M2:     {"float8e5m2", 8, Float, nil},
	F8E5M2FNUZ: {"float8e5m2fnuz", 8, Float, nil},
	F8E8M0:     {"float8e8m0", 8, Float, nil},
	F4E2M1:     {"float4e2m1", 4, Float, packed.Fp4},
	I4:         {"int4", 4, Signed, packed.Int4},
	U4:         {"uint4", 4, Unsigned, packed.Uint4},
	I2:         {"int2", 2, Signed, packed.Int2},
	U2:         {"uint2", 2, Unsigned, packed.Uint2},
	I1:         {"int1", 1, Signed, packed.Int1},
	U1:         {"uint1", 1, Unsigned, packed.Uint1},
	T1:         {"t1", 1, Signed, packed.T1},
	T2:         {"t2", 2, Signed, packed.T2},
}

// DTypes returns the element types of ONNX, which operators compute on, in the order of the table.
func DTypes() []DType { return AllDTypes()[:standardCount-1] }

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

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
	Q4_0
	Q4_1
	Q5_0
	Q5_1
	Q8_0
	Q2_K
	Q3_K
	Q4_K
	Q5_K
	Q6_K
	IQ2_XXS
	IQ2_XS
	IQ3_XXS
	IQ1_S
	IQ4_NL
	IQ3_S
	IQ2_S
	IQ4_XS
	IQ1_M
	TQ1_0
	TQ2_0
	MXFP4
	NVFP4
	Q1_0
	Q2_0
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
	Block // floats in blocks that share scales
)

// dtypes is the table of element types. csrc/core/dtypes.inc has the same rows for the types of
// kernels.
var dtypes = [dtypeCount]struct {
	name   string
	bits   int // per element; 0 for strings, which vary in size, and for types of blocks
	kind   Kind
	layout *packed.Layout // for elements narrower than a byte
	short  string         // in the names of kernels; empty for a type on which none computes
	code   int            // in ONNX files; 0 for a type of other formats
	blocks *packed.Blocks // for types of blocks
}{
	Invalid:    {"invalid", 0, NoKind, nil, "", 0, nil},
	F32:        {"float32", 32, Float, nil, "f32", 1, nil},
	F64:        {"float64", 64, Float, nil, "f64", 11, nil},
	F16:        {"float16", 16, Float, nil, "f16", 10, nil},
	BF16:       {"bfloat16", 16, Float, nil, "bf16", 16, nil},
	I8:         {"int8", 8, Signed, nil, "i8", 3, nil},
	I16:        {"int16", 16, Signed, nil, "i16", 5, nil},
	I32:        {"int32", 32, Signed, nil, "i32", 6, nil},
	I64:        {"int64", 64, Signed, nil, "i64", 7, nil},
	U8:         {"uint8", 8, Unsigned, nil, "u8", 2, nil},
	U16:        {"uint16", 16, Unsigned, nil, "u16", 4, nil},
	U32:        {"uint32", 32, Unsigned, nil, "u32", 12, nil},
	U64:        {"uint64", 64, Unsigned, nil, "u64", 13, nil},
	Bool:       {"bool", 8, Boolean, nil, "bool", 9, nil},
	String:     {"string", 0, Text, nil, "", 8, nil},
	C64:        {"complex64", 64, Complex, nil, "", 14, nil},
	C128:       {"complex128", 128, Complex, nil, "", 15, nil},
	F8E4M3FN:   {"float8e4m3fn", 8, Float, nil, "", 17, nil},
	F8E4M3FNUZ: {"float8e4m3fnuz", 8, Float, nil, "", 18, nil},
	F8E5M2:     {"float8e5m2", 8, Float, nil, "", 19, nil},
	F8E5M2FNUZ: {"float8e5m2fnuz", 8, Float, nil, "", 20, nil},
	F8E8M0:     {"float8e8m0", 8, Float, nil, "", 24, nil},
	F4E2M1:     {"float4e2m1", 4, Float, packed.Fp4, "", 23, nil},
	I4:         {"int4", 4, Signed, packed.Int4, "", 22, nil},
	U4:         {"uint4", 4, Unsigned, packed.Uint4, "", 21, nil},
	I2:         {"int2", 2, Signed, packed.Int2, "", 26, nil},
	U2:         {"uint2", 2, Unsigned, packed.Uint2, "", 25, nil},
	I1:         {"int1", 1, Signed, packed.Int1, "", 0, nil},
	U1:         {"uint1", 1, Unsigned, packed.Uint1, "", 0, nil},
	T1:         {"t1", 1, Signed, packed.T1, "", 0, nil},
	T2:         {"t2", 2, Signed, packed.T2, "", 0, nil},
	Q4_0:       {packed.Q4_0.Name, 0, Block, nil, "", 0, packed.Q4_0},
	Q4_1:       {packed.Q4_1.Name, 0, Block, nil, "", 0, packed.Q4_1},
	Q5_0:       {packed.Q5_0.Name, 0, Block, nil, "", 0, packed.Q5_0},
	Q5_1:       {packed.Q5_1.Name, 0, Block, nil, "", 0, packed.Q5_1},
	Q8_0:       {packed.Q8_0.Name, 0, Block, nil, "", 0, packed.Q8_0},
	Q2_K:       {packed.Q2_K.Name, 0, Block, nil, "", 0, packed.Q2_K},
	Q3_K:       {packed.Q3_K.Name, 0, Block, nil, "", 0, packed.Q3_K},
	Q4_K:       {packed.Q4_K.Name, 0, Block, nil, "", 0, packed.Q4_K},
	Q5_K:       {packed.Q5_K.Name, 0, Block, nil, "", 0, packed.Q5_K},
	Q6_K:       {packed.Q6_K.Name, 0, Block, nil, "", 0, packed.Q6_K},
	IQ2_XXS:    {packed.IQ2_XXS.Name, 0, Block, nil, "", 0, packed.IQ2_XXS},
	IQ2_XS:     {packed.IQ2_XS.Name, 0, Block, nil, "", 0, packed.IQ2_XS},
	IQ3_XXS:    {packed.IQ3_XXS.Name, 0, Block, nil, "", 0, packed.IQ3_XXS},
	IQ1_S:      {packed.IQ1_S.Name, 0, Block, nil, "", 0, packed.IQ1_S},
	IQ4_NL:     {packed.IQ4_NL.Name, 0, Block, nil, "", 0, packed.IQ4_NL},
	IQ3_S:      {packed.IQ3_S.Name, 0, Block, nil, "", 0, packed.IQ3_S},
	IQ2_S:      {packed.IQ2_S.Name, 0, Block, nil, "", 0, packed.IQ2_S},
	IQ4_XS:     {packed.IQ4_XS.Name, 0, Block, nil, "", 0, packed.IQ4_XS},
	IQ1_M:      {packed.IQ1_M.Name, 0, Block, nil, "", 0, packed.IQ1_M},
	TQ1_0:      {packed.TQ1_0.Name, 0, Block, nil, "", 0, packed.TQ1_0},
	TQ2_0:      {packed.TQ2_0.Name, 0, Block, nil, "", 0, packed.TQ2_0},
	MXFP4:      {packed.MXFP4.Name, 0, Block, nil, "", 0, packed.MXFP4},
	NVFP4:      {packed.NVFP4.Name, 0, Block, nil, "", 0, packed.NVFP4},
	Q1_0:       {packed.Q1_0.Name, 0, Block, nil, "", 0, packed.Q1_0},
	Q2_0:       {packed.Q2_0.Name, 0, Block, nil, "", 0, packed.Q2_0},
}

// DTypes returns the element types of ONNX, which operators compute on, in the order of the table.
func DTypes() []DType {
	return slices.DeleteFunc(AllDTypes(), func(d DType) bool { return dtypes[d].code == 0 })
}

// AllDTypes returns every element type of a file, in the order of the table: the types of ONNX,
// then the types of other formats, blocks last.
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

// Bits returns the bits of one element, 0 for strings and for types of blocks.
func (d DType) Bits() int { return dtypes[d].bits }

// Kind returns the kind of d.
func (d DType) Kind() Kind { return dtypes[d].kind }

// Layout returns the packing of elements narrower than a byte, nil for others.
func (d DType) Layout() *packed.Layout { return dtypes[d].layout }

// Blocks returns the storage of a type of blocks, nil for others.
func (d DType) Blocks() *packed.Blocks { return dtypes[d].blocks }

// OfBlocks returns the element type with that storage.
func OfBlocks(b *packed.Blocks) DType {
	for d := range dtypeCount {
		if dtypes[d].blocks == b {
			return d
		}
	}
	return Invalid
}

// Check returns an error if a tensor of shape s cannot have elements of type d: Shape.Check does not
// accept s, or d is a type of blocks and the last extent is not a multiple of a block.
func (d DType) Check(s Shape) error {
	if err := s.Check(); err != nil {
		return err
	}
	b := dtypes[d].blocks
	switch {
	case b == nil:
	case len(s) == 0:
		return fmt.Errorf("a scalar does not fill a block of %v, of %d elements", d, b.Elements)
	case s[len(s)-1]%b.Elements != 0:
		return fmt.Errorf("rows of %v do not fill blocks of %v, of %d elements each", s, d, b.Elements)
	}
	return nil
}

// Bytes returns the bytes of n elements, the last byte filled up; 0 for strings. Of a type of blocks,
// n elements are whole blocks.
func (d DType) Bytes(n int) int {
	if b := dtypes[d].blocks; b != nil {
		return b.Size(n)
	}
	if l := dtypes[d].layout; l != nil {
		return l.Bytes(n)
	}
	return n * (dtypes[d].bits / 8)
}

// IsFloat reports whether d is a floating-point type of any width. Types of blocks are not.
func (d DType) IsFloat() bool { return dtypes[d].kind == Float }

// IsInteger reports whether d is a signed or unsigned integer type.
func (d DType) IsInteger() bool { return dtypes[d].kind == Signed || dtypes[d].kind == Unsigned }

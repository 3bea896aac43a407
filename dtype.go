package nacre

import "github.com/nacre-ml/nacre/runtime/tensor"

// DType is the type of a tensor's elements.
type DType uint8

// The element types. Models of ONNX use the types up to Uint2. The types after it occur in
// weight files of other formats only. Element lists the Go types of elements.
const (
	Invalid DType = iota // the type of the zero Tensor
	Float32
	Float64
	Float16  // packed.F16 in Go
	BFloat16 // packed.BF16 in Go
	Int8
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Bool
	String
	Complex64
	Complex128
	Float8E4M3FN
	Float8E4M3FNUZ
	Float8E5M2
	Float8E5M2FNUZ
	Float8E8M0
	Float4E2M1 // two in a byte
	Int4       // two in a byte
	Uint4      // two in a byte
	Int2       // four in a byte
	Uint2      // four in a byte
	Int1       // eight in a byte
	Uint1      // eight in a byte
	Ternary1   // bits that stand for -1 and 1, eight in a byte
	Ternary2   // -1, 0 and 1, four in a byte
	Q4_0       // ggml's types of blocks along the last axis, up to Q2_0; see packed.Blocks
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
)

// ParseDType returns the element type of a name that DType.String gives, such as
// float32. The error is ErrUnsupported for any other name.
func ParseDType(name string) (DType, error) {
	d, err := tensor.ParseDType(name)
	if err != nil {
		return Invalid, markf(ErrUnsupported, "%w", err)
	}
	return DType(d), nil
}

// String returns the name that ONNX and NumPy have for the type, such as float32.
func (d DType) String() string { return tensor.DType(d).String() }

// Valid reports whether d is one of the constants above other than Invalid.
func (d DType) Valid() bool { return tensor.DType(d).Valid() }

// Bits returns the storage of one element in bits; 0 for strings, for types of blocks and
// for a type that is not valid.
func (d DType) Bits() int {
	if !d.Valid() {
		return 0
	}
	return tensor.DType(d).Bits()
}

// IsFloat reports whether d is a floating-point type of any width. Types of blocks are not,
// though their elements are read as floats.
func (d DType) IsFloat() bool { return d.Valid() && tensor.DType(d).IsFloat() }

// IsInteger reports whether d is a signed or an unsigned integer type of any width.
func (d DType) IsInteger() bool { return d.Valid() && tensor.DType(d).IsInteger() }

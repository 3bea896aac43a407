package openinfer

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// dtype is an element type of the language.
type dtype uint8

// The element types.
const (
	noType dtype = iota
	dtI1
	dtI2
	dtI4
	dtI8
	dtI16
	dtI32
	dtI64
	dtU1
	dtU2
	dtU4
	dtU8
	dtU16
	dtU32
	dtU64
	dtF8
	dtBF16
	dtF16
	dtF32
	dtF64
	dtBool
	dtBitset
	dtT1
	dtT2
	dtypeCount
)

// dtypes maps element types to their names and the types of their tensors.
var dtypes = [dtypeCount]struct {
	word   string
	tensor tensor.DType
}{
	dtI1:     {"i1", tensor.I1},
	dtI2:     {"i2", tensor.I2},
	dtI4:     {"i4", tensor.I4},
	dtI8:     {"i8", tensor.I8},
	dtI16:    {"i16", tensor.I16},
	dtI32:    {"i32", tensor.I32},
	dtI64:    {"i64", tensor.I64},
	dtU1:     {"u1", tensor.U1},
	dtU2:     {"u2", tensor.U2},
	dtU4:     {"u4", tensor.U4},
	dtU8:     {"u8", tensor.U8},
	dtU16:    {"u16", tensor.U16},
	dtU32:    {"u32", tensor.U32},
	dtU64:    {"u64", tensor.U64},
	dtF8:     {"f8", tensor.F8E5M2},
	dtBF16:   {"bf16", tensor.BF16},
	dtF16:    {"f16", tensor.F16},
	dtF32:    {"f32", tensor.F32},
	dtF64:    {"f64", tensor.F64},
	dtBool:   {"bool", tensor.Bool},
	dtBitset: {"bitset", tensor.U8},
	dtT1:     {"t1", tensor.T1},
	dtT2:     {"t2", tensor.T2},
}

// parseDType finds an element type by its name.
func parseDType(word string) (dtype, bool) {
	for d := noType + 1; d < dtypeCount; d++ {
		if dtypes[d].word == word {
			return d, true
		}
	}
	return noType, false
}

// String returns the name.
func (d dtype) String() string {
	if d == noType || d >= dtypeCount {
		return fmt.Sprintf("dtype(%d)", uint8(d))
	}
	return dtypes[d].word
}

// tensor returns the element type of the type's tensors.
func (d dtype) tensor() tensor.DType { return dtypes[d].tensor }

// bits returns the width of an element in bits.
func (d dtype) bits() int { return d.tensor().Bits() }

// isFloat reports whether elements are floating-point numbers.
func (d dtype) isFloat() bool { return floats.has(d) }

// isInt reports whether elements are integers, signed or not, of any width.
func (d dtype) isInt() bool { return (signed | unsigned | packedSigned | packedUnsigned).has(d) }

// isUnsigned reports whether elements are unsigned integers of any width.
func (d dtype) isUnsigned() bool { return (unsigned | packedUnsigned).has(d) }

// isPacked reports whether elements are narrower than a byte.
func (d dtype) isPacked() bool { return d.bits() < 8 }

// dtypeSet is a set of element types.
type dtypeSet uint32

func setOf(list ...dtype) (s dtypeSet) {
	for _, d := range list {
		s |= 1 << d
	}
	return s
}

func (s dtypeSet) has(d dtype) bool { return s&(1<<d) != 0 }

// list returns the types of the set in the order of their constants.
func (s dtypeSet) list() (list []dtype) {
	for d := noType + 1; d < dtypeCount; d++ {
		if s.has(d) {
			list = append(list, d)
		}
	}
	return list
}

// Sets that several operators share.
var (
	floats         = setOf(dtF8, dtBF16, dtF16, dtF32, dtF64)
	signed         = setOf(dtI8, dtI16, dtI32, dtI64)
	unsigned       = setOf(dtU8, dtU16, dtU32, dtU64)
	packedSigned   = setOf(dtI1, dtI2, dtI4)
	packedUnsigned = setOf(dtU1, dtU2, dtU4)
	numbers        = floats | signed | unsigned | packedSigned | packedUnsigned
)

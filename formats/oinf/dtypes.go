package oinf

import "github.com/nacre-ml/nacre/runtime/tensor"

// Name is the format's name.
const Name = "oinf"

// The tags of types that are not element types.
const (
	tagBitset  = 13
	tagString  = 14
	tagNDArray = 15
)

// types has the value types by their tags. A type without an element type is for metadata only.
var types = [...]struct {
	word  string
	dtype tensor.DType
}{
	1:          {"i8", tensor.I8},
	2:          {"i16", tensor.I16},
	3:          {"i32", tensor.I32},
	4:          {"i64", tensor.I64},
	5:          {"u8", tensor.U8},
	6:          {"u16", tensor.U16},
	7:          {"u32", tensor.U32},
	8:          {"u64", tensor.U64},
	9:          {"f16", tensor.F16},
	10:         {"f32", tensor.F32},
	11:         {"f64", tensor.F64},
	12:         {"bool", tensor.Bool},
	tagBitset:  {word: "bitset"},
	tagString:  {word: "string"},
	tagNDArray: {word: "ndarray"},
	16:         {"bf16", tensor.BF16},
	17:         {"f8", tensor.F8E5M2},
	18:         {"i4", tensor.I4},
	19:         {"i2", tensor.I2},
	20:         {"i1", tensor.I1},
	21:         {"u4", tensor.U4},
	22:         {"u2", tensor.U2},
	23:         {"u1", tensor.U1},
	24:         {"t2", tensor.T2},
	25:         {"t1", tensor.T1},
}

// elementOf returns the element type of a tag, or Invalid if it has none.
func elementOf(tag uint32) tensor.DType {
	if tag < uint32(len(types)) {
		return types[tag].dtype
	}
	return tensor.Invalid
}

// tagOf returns the tag of an element type, or 0 if the format has none.
func tagOf(d tensor.DType) uint32 {
	for tag, row := range types {
		if row.dtype == d && d != tensor.Invalid {
			return uint32(tag)
		}
	}
	return 0
}

// padded returns n rounded up to a multiple of 8.
func padded(n uint64) uint64 { return (n + 7) &^ 7 }

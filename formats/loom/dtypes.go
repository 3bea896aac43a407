package loom

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// DType is a storage type of Loom's weights: codes that a scale turns into numbers.
type DType uint8

// The dtypes, by Loom's numbers.
const (
	Float64 DType = iota
	Float32
	Float16
	BFloat16
	FP8E4M3
	FP8E5M2
	Int64
	Int32
	Int16
	Int8
	Uint64
	Uint32
	Uint16
	Uint8
	Int4
	Uint4
	FP4
	Int2
	Uint2
	Ternary
	Binary
	dtypeCount
)

// dtypes is the one table of dtypes. codes is Invalid if Nacre has no type with the same values:
// Loom's eight-bit and four-bit floats are not the standard ones.
var dtypes = [dtypeCount]struct {
	name    string
	aliases []string
	bits    int
	codes   tensor.DType
}{
	Float64:  {"float64", []string{"fp64", "f64"}, 64, tensor.F64},
	Float32:  {"float32", []string{"fp32", "f32"}, 32, tensor.F32},
	Float16:  {"float16", []string{"fp16", "f16"}, 16, tensor.F16},
	BFloat16: {"bfloat16", []string{"bf16"}, 16, tensor.BF16},
	FP8E4M3:  {"fp8e4m3", []string{"fp8"}, 8, tensor.Invalid},
	FP8E5M2:  {"fp8e5m2", nil, 8, tensor.Invalid},
	Int64:    {"int64", []string{"i64"}, 64, tensor.I64},
	Int32:    {"int32", []string{"i32"}, 32, tensor.I32},
	Int16:    {"int16", []string{"i16"}, 16, tensor.I16},
	Int8:     {"int8", []string{"i8"}, 8, tensor.I8},
	Uint64:   {"uint64", []string{"u64"}, 64, tensor.U64},
	Uint32:   {"uint32", []string{"u32"}, 32, tensor.U32},
	Uint16:   {"uint16", []string{"u16"}, 16, tensor.U16},
	Uint8:    {"uint8", []string{"u8"}, 8, tensor.U8},
	Int4:     {"int4", nil, 4, tensor.I4},
	Uint4:    {"uint4", nil, 4, tensor.U4},
	FP4:      {"fp4", []string{"f4"}, 4, tensor.Invalid},
	Int2:     {"int2", nil, 2, tensor.I2},
	Uint2:    {"uint2", nil, 2, tensor.U2},
	Ternary:  {"ternary", nil, 2, tensor.T2},
	Binary:   {"binary", nil, 1, tensor.T1},
}

// DTypes returns every dtype, by number.
func DTypes() []DType {
	list := make([]DType, dtypeCount)
	for i := range list {
		list[i] = DType(i)
	}
	return list
}

// ParseDType returns the dtype with this name or alias, in any letter case. An unknown name gives
// Float32 and false.
func ParseDType(name string) (DType, bool) {
	for d, row := range dtypes {
		if strings.EqualFold(name, row.name) {
			return DType(d), true
		}
		for _, alias := range row.aliases {
			if strings.EqualFold(name, alias) {
				return DType(d), true
			}
		}
	}
	return Float32, false
}

// String returns the name of d in files.
func (d DType) String() string {
	if d >= dtypeCount {
		return fmt.Sprintf("dtype(%d)", uint8(d))
	}
	return dtypes[d].name
}

// Bits returns the size of one code in bits.
func (d DType) Bits() int { return dtypes[d].bits }

// Bytes returns the size of n codes in bytes, the last byte padded. It is negative if the codes do
// not fit in memory.
func (d DType) Bytes(n int) int {
	bits := dtypes[d].bits
	if bits >= 8 {
		if n > math.MaxInt/(bits/8) {
			return -1
		}
		return n * (bits / 8)
	}
	per := 8 / bits
	return n/per + (n%per+per-1)/per
}

var order = binary.LittleEndian

// bitsAt returns the code of element i. Narrow codes begin at the high end of a byte.
func (d DType) bitsAt(b []byte, i int) uint64 {
	switch bits := dtypes[d].bits; bits {
	case 64:
		return order.Uint64(b[8*i:])
	case 32:
		return uint64(order.Uint32(b[4*i:]))
	case 16:
		return uint64(order.Uint16(b[2*i:]))
	case 8:
		return uint64(b[i])
	default:
		per := 8 / bits
		return uint64(b[i/per]>>((per-1-i%per)*bits)) & (1<<bits - 1)
	}
}

// setBits stores the low bits of code as element i. The bits of element i must be zero before.
func (d DType) setBits(b []byte, i int, code uint64) {
	switch bits := dtypes[d].bits; bits {
	case 64:
		order.PutUint64(b[8*i:], code)
	case 32:
		order.PutUint32(b[4*i:], uint32(code))
	case 16:
		order.PutUint16(b[2*i:], uint16(code))
	case 8:
		b[i] = byte(code)
	default:
		per := 8 / bits
		b[i/per] |= byte(code) & (1<<bits - 1) << ((per - 1 - i%per) * bits)
	}
}

// values holds, per code, the numbers of Loom's own floats.
var values = [dtypeCount][]float32{
	FP8E4M3: table(8, func(c int) float64 { return small(c, 3, 7, -10, false) }),
	FP8E5M2: table(8, func(c int) float64 { return small(c, 2, 15, -15, true) }),
	FP4: table(4, func(c int) float64 {
		v := [...]float64{0, 0.75, 1, 1.5, 2, 3, math.Inf(1), math.NaN()}[c&7]
		if c > 7 {
			v = -v
		}
		return v
	}),
}

// standard maps Loom's own floats to the element types that agree on most codes.
var standard = [dtypeCount]tensor.DType{FP8E4M3: tensor.F8E4M3FN, FP8E5M2: tensor.F8E5M2, FP4: tensor.F4E2M1}

// odd marks the codes that mean another number than in the standard type.
var odd = [dtypeCount]*[256]bool{FP8E4M3: oddCodes(FP8E4M3), FP8E5M2: oddCodes(FP8E5M2)}

func oddCodes(d DType) *[256]bool {
	odd, f := new([256]bool), packed.Float8Of(standard[d].String())
	for c, v := range values[d] {
		odd[c] = key(v) != key(f.Float32(byte(c)))
	}
	return odd
}

// isStandard reports whether d has a standard type that gives all these codes the same numbers.
func (d DType) isStandard(codes []byte) bool {
	return odd[d] != nil && !slices.ContainsFunc(codes, func(c byte) bool { return odd[d][c] })
}

func table(bits int, value func(code int) float64) []float32 {
	t := make([]float32, 1<<bits)
	for i := range t {
		t[i] = float32(value(i))
	}
	return t
}

// small returns the number of an eight-bit code with this many mantissa bits. The least exponent
// keeps its leading one and has a power of its own. Infinity is positive whatever the sign, as in
// Loom.
func small(code, mantissa, bias, least int, special bool) float64 {
	e, m := code&0x7f>>mantissa, code&(1<<mantissa-1)
	v := 1 + float64(m)/float64(int(1)<<mantissa)
	switch {
	case e == 0 && m == 0:
		v = 0
	case e == 0:
		v = math.Ldexp(v, least)
	case special && e == 1<<(7-mantissa)-1 && m == 0:
		return math.Inf(1)
	case special && e == 1<<(7-mantissa)-1:
		return math.NaN()
	default:
		v = math.Ldexp(v, e-bias)
	}
	if code > 127 {
		v = -v
	}
	return v
}

// number returns a function from a code to its number, before scaling.
func (d DType) number() func(code uint64) float32 {
	switch d {
	case Float64:
		return func(c uint64) float32 { return float32(math.Float64frombits(c)) }
	case Float32:
		return func(c uint64) float32 { return math.Float32frombits(uint32(c)) }
	case Float16:
		return func(c uint64) float32 { return packed.F16(c).Float32() }
	case BFloat16:
		return func(c uint64) float32 { return math.Float32frombits(uint32(c) << 16) }
	case Uint64, Uint32, Uint16, Uint8, Uint4, Uint2:
		return func(c uint64) float32 { return float32(c) }
	case Binary:
		return func(c uint64) float32 { return 2*float32(c) - 1 }
	}
	if t := values[d]; t != nil {
		return func(c uint64) float32 { return t[c] }
	}
	up := 64 - dtypes[d].bits
	return func(c uint64) float32 { return float32(int64(c<<up) >> up) }
}

// Scaled reports whether the scale of a store counts. It does not for floats of 16 bits and more.
func (d DType) Scaled() bool { return d > BFloat16 }

// Restore returns the numbers of n codes as Loom computes with them: the code's value times the
// scale in float32. A scale of 0 means that the file has none: it makes all numbers of a scaled
// dtype 0, but counts as 1 for FP4. Too few codes are an error.
func Restore(d DType, codes []byte, scale float32, n int) (_ []float32, err error) {
	defer guard.At("").End(&err)
	if err := d.holds(codes, n); err != nil {
		return nil, err
	}
	w := make([]float32, n)
	number := d.number()
	for i := range w {
		w[i] = number(d.bitsAt(codes, i))
	}
	if d.Scaled() {
		if d == FP4 && scale == 0 {
			scale = 1
		}
		for i := range w {
			w[i] *= scale
		}
	}
	return w, nil
}

// holds returns an error if codes has fewer than n of them.
func (d DType) holds(codes []byte, n int) error {
	if d >= dtypeCount {
		return fmt.Errorf("%v is no dtype", d)
	}
	if want := d.Bytes(n); n < 0 || want < 0 || len(codes) < want {
		return fmt.Errorf("%d weights of %v do not fit in %d bytes", n, d, len(codes))
	}
	return nil
}

// tensor returns codes as a tensor of this shape. It is a view if Nacre packs the codes the same
// way. Loom's 8-bit floats become the float32 numbers of Restore, unless all their codes are codes
// of the standard type too. FP4 codes become float4e2m1 of twice the numbers if all are finite.
// Ternary codes of -2, which Loom computes with, make a tensor of int2.
func (d DType) tensor(codes []byte, scale float32, shape tensor.Shape) (*tensor.Tensor, error) {
	n := shape.Len()
	if err := d.holds(codes, n); err != nil {
		return nil, err
	}
	row := dtypes[d]
	switch {
	case d.isStandard(codes[:d.Bytes(n)]):
		return tensor.FromBytes(standard[d], shape, codes[:d.Bytes(n)])
	case d == FP4 && halves(scale):
		if b, ok := doubled.of(lowFirst(codes[:d.Bytes(n)], n, row.bits)); ok {
			return tensor.FromBytes(tensor.F4E2M1, shape, b)
		}
		return restored(d, codes, scale, shape)
	case row.codes == tensor.Invalid:
		return restored(d, codes, scale, shape)
	case row.bits >= 8:
		return tensor.FromBytes(row.codes, shape, codes[:d.Bytes(n)])
	}
	b := lowFirst(codes[:d.Bytes(n)], n, row.bits)
	if d == Ternary && hasLeast(b) {
		row.codes = tensor.I2
	}
	return tensor.FromBytes(row.codes, shape, b)
}

// lowFirst returns codes with the first of each byte at its low end, and zeros after the last.
func lowFirst(codes []byte, n, bits int) []byte {
	var table [256]byte
	for c := range table {
		for at := 0; at < 8; at += bits {
			table[c] |= byte(c) >> at & (1<<bits - 1) << (8 - bits - at)
		}
	}
	b := make([]byte, len(codes))
	for i, c := range codes {
		b[i] = table[c]
	}
	if used := n * bits % 8; used > 0 {
		b[len(b)-1] &= 1<<used - 1
	}
	return b
}

// hasLeast reports whether one of the two-bit codes is -2.
func hasLeast(b []byte) bool {
	return slices.ContainsFunc(b, func(c byte) bool { return c>>1&^c&0x55 != 0 })
}

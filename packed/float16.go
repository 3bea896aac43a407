package packed

import "math"

// F16 is the bits of an IEEE 754 binary16 number.
type F16 uint16

// BF16 is the bits of a bfloat16 number: the high half of a float32.
type BF16 uint16

// Float32 returns the value, exactly.
func (h F16) Float32() float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h>>10) & 0x1f
	frac := uint32(h) & 0x3ff
	switch {
	case exp == 0x1f:
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	case exp != 0:
		return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
	}
	v := float32(frac) * (1.0 / (1 << 24))
	return math.Float32frombits(sign | math.Float32bits(v))
}

// ToF16 rounds to nearest, ties to even. Values beyond the range become infinities; a NaN stays
// one.
func ToF16(f float32) F16 {
	b := math.Float32bits(f)
	sign := F16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00
	case b >= 0x477ff000: // 65520, halfway to the first value too large
		return sign | 0x7c00
	case b < 0x38800000: // below 2^-14: the format's subnormals
		scaled := math.Float32frombits(b) + 0.5 // 0.5 has an ulp of 2^-24
		return sign | F16(math.Float32bits(scaled)-0x3f000000)
	}
	b += 0xfff + b>>13&1
	return sign | F16((b-112<<23)>>13)
}

// Float32 returns the value, exactly.
func (h BF16) Float32() float32 { return math.Float32frombits(uint32(h) << 16) }

// ToBF16 rounds to nearest, ties to even. A NaN stays one.
func ToBF16(f float32) BF16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return BF16(b>>16 | 0x40)
	}
	return BF16((b + 0x7fff + b>>16&1) >> 16)
}

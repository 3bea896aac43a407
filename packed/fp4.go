package packed

// F4E2M1 is a code, in the low four bits, of a float with a sign, 2 exponent bits and 1 fraction
// bit: 0, 0.5, 1, 1.5, 2, 3, 4, 6 or their negatives.
type F4E2M1 uint8

var valuesE2M1 = [16]float32{0, 0.5, 1, 1.5, 2, 3, 4, 6, signed32(0x80, 0), -0.5, -1, -1.5, -2, -3, -4, -6}

// Float32 returns the value, exactly.
func (x F4E2M1) Float32() float32 { return valuesE2M1[x&15] }

// RulesE2M1 are the rules of F4E2M1.
var RulesE2M1 = Rules{Fraction: 1, Bias: 1, Max: 7, Over: 7, NaN: 8}

// ToF4E2M1 rounds to nearest, ties to the code with a last bit of 0. Values beyond 6 become 6. A
// NaN, which the format lacks, becomes -0.
func ToF4E2M1(f float32) F4E2M1 {
	if f != f {
		return 8
	}
	sign := F4E2M1(bits32(f) >> 28 & 8)
	v := float32bits(bits32(f) & 0x7fffffff)
	switch {
	case v <= 0.25:
		return sign
	case v < 0.75:
		return sign | 1
	case v <= 1.25:
		return sign | 2
	case v < 1.75:
		return sign | 3
	case v <= 2.5:
		return sign | 4
	case v < 3.5:
		return sign | 5
	case v <= 5:
		return sign | 6
	}
	return sign | 7
}

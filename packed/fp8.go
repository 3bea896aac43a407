package packed

// F8E4M3FN is the bits of a float8 with 4 exponent and 3 fraction bits, a NaN and no infinity.
type F8E4M3FN uint8

// F8E4M3FNUZ is F8E4M3FN with bias 8, no negative zero, and NaN at 0x80.
type F8E4M3FNUZ uint8

// F8E5M2 is the bits of a float8 with 5 exponent and 2 fraction bits, and the infinities and NaNs
// of IEEE 754.
type F8E5M2 uint8

// F8E5M2FNUZ is F8E5M2 with bias 16, no infinity, no negative zero, NaN at 0x80.
type F8E5M2FNUZ uint8

// Float8 is the format of a one-byte float: a sign, exponent and fraction bits.
//
// Rounding is to nearest, ties to even. If saturate is true, a value that rounds beyond the largest
// finite one becomes that one, infinities included. Otherwise it becomes infinity or, in formats
// without infinity, NaN.
type Float8 struct {
	Name     string
	fraction int  // bits
	bias     int  // of the exponent
	max      byte // code of the largest finite value
	over     byte // code of larger values, when not saturating
	nan      byte
	unsigned bool // zero and NaN have no sign: the format has 0x80 for NaN
	values   [256]float32
}

// The formats.
var (
	E4M3FN   = newFloat8(Float8{Name: "float8e4m3fn", fraction: 3, bias: 7, max: 0x7e, over: 0x7f, nan: 0x7f})
	E4M3FNUZ = newFloat8(Float8{Name: "float8e4m3fnuz", fraction: 3, bias: 8, max: 0x7f, over: 0x80, nan: 0x80, unsigned: true})
	E5M2     = newFloat8(Float8{Name: "float8e5m2", fraction: 2, bias: 15, max: 0x7b, over: 0x7c, nan: 0x7e})
	E5M2FNUZ = newFloat8(Float8{Name: "float8e5m2fnuz", fraction: 2, bias: 16, max: 0x7f, over: 0x80, nan: 0x80, unsigned: true})
)

// Float8s is the table of one-byte floats.
var Float8s = []*Float8{E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ}

// Float8Of returns the format of that name, or nil.
func Float8Of(name string) *Float8 {
	for _, f := range Float8s {
		if f.Name == name {
			return f
		}
	}
	return nil
}

func newFloat8(f Float8) *Float8 {
	for code := range f.values {
		f.values[code] = f.value(byte(code))
	}
	return &f
}

// value returns the value of a code: its fraction times a power of two, with an implied leading bit
// unless the exponent is zero.
func (f *Float8) value(code byte) float32 {
	magnitude := code & 0x7f
	switch {
	case f.unsigned && code == 0x80:
		return nan32
	case f.over == 0x7c && magnitude == 0x7c:
		return signed32(code, inf32)
	case !f.unsigned && magnitude > f.max:
		return signed32(code, nan32)
	}
	exponent := int(magnitude >> f.fraction)
	digits := float32(magnitude & (1<<f.fraction - 1))
	if exponent == 0 {
		exponent = 1
	} else {
		digits += float32(int(1) << f.fraction)
	}
	return signed32(code, digits*power2(exponent-f.bias-f.fraction))
}

// Rules describes how to round to a float of few bits: the bits of the fraction, the bias of the
// exponent, and codes without the sign, of the greatest number (Max), of values beyond it when not
// saturating (Over), and of NaN.
type Rules struct {
	Fraction, Bias int
	Max, Over, NaN byte
	OneZero        bool // zero has no negative
}

// Rules returns the rules of the format.
func (f *Float8) Rules() Rules { return Rules{f.fraction, f.bias, f.max, f.over, f.nan, f.unsigned} }

// Float32 returns the value of a code, exactly.
func (f *Float8) Float32(code byte) float32 { return f.values[code] }

// Code returns the code of v, rounded as Float8 says.
func (f *Float8) Code(v float32, saturate bool) byte {
	b := bits32(v)
	sign := byte(b >> 24 & 0x80)
	b &= 0x7fffffff
	if b > 0x7f800000 {
		return sign | f.nan
	}
	if b < uint32(127-f.bias+1)<<23 { // below the smallest normal number: count steps of the smallest fraction
		least := power2(1 - f.bias - f.fraction)
		m := byte(roundEven(float32bits(b) / least))
		if f.unsigned && m == 0 {
			return 0
		}
		return sign | m
	}
	drop := 23 - f.fraction
	b += 1<<(drop-1) - 1 + b>>drop&1
	m := int(b>>drop) - (127-f.bias)<<f.fraction
	if m <= int(f.max) {
		return sign | byte(m)
	}
	if saturate {
		return sign | f.max
	}
	return sign | f.over
}

// Decode writes the values of codes to dst. Both have the same length.
func (f *Float8) Decode(dst []float32, codes []byte) {
	for i, c := range codes {
		dst[i] = f.values[c]
	}
}

// Encode writes the rounded codes of src to codes. Both have the same length.
func (f *Float8) Encode(codes []byte, src []float32, saturate bool) {
	for i, v := range src {
		codes[i] = f.Code(v, saturate)
	}
}

// Float32 returns the value, exactly.
func (x F8E4M3FN) Float32() float32 { return E4M3FN.values[x] }

// Float32 returns the value, exactly.
func (x F8E4M3FNUZ) Float32() float32 { return E4M3FNUZ.values[x] }

// Float32 returns the value, exactly.
func (x F8E5M2) Float32() float32 { return E5M2.values[x] }

// Float32 returns the value, exactly.
func (x F8E5M2FNUZ) Float32() float32 { return E5M2FNUZ.values[x] }

// ToF8E4M3FN rounds as Float8 says.
func ToF8E4M3FN(f float32, saturate bool) F8E4M3FN { return F8E4M3FN(E4M3FN.Code(f, saturate)) }

// ToF8E4M3FNUZ rounds as Float8 says.
func ToF8E4M3FNUZ(f float32, saturate bool) F8E4M3FNUZ { return F8E4M3FNUZ(E4M3FNUZ.Code(f, saturate)) }

// ToF8E5M2 rounds as Float8 says.
func ToF8E5M2(f float32, saturate bool) F8E5M2 { return F8E5M2(E5M2.Code(f, saturate)) }

// ToF8E5M2FNUZ rounds as Float8 says.
func ToF8E5M2FNUZ(f float32, saturate bool) F8E5M2FNUZ { return F8E5M2FNUZ(E5M2FNUZ.Code(f, saturate)) }

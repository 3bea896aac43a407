package packed

// F8E8M0 is a power of two: the value is 2^(bits-127), and 0xff is NaN.
type F8E8M0 uint8

// Rounding is the direction in which a float is rounded to a power of two.
type Rounding uint8

// The directions of rounding.
const (
	Up      Rounding = iota // to the least power that is not smaller
	Down                    // to the greatest power that is not larger
	Nearest                 // to the nearer power, and up from halfway
)

const nanE8M0 F8E8M0 = 0xff

// Float32 returns the value, exactly.
func (x F8E8M0) Float32() float32 {
	if x == nanE8M0 {
		return nan32
	}
	return power2(int(x) - 127)
}

// ToF8E8M0 rounds the magnitude of f, since the format has no sign. If saturate is true, a
// magnitude below 2^-127, zero included, or one that rounds beyond 2^127, infinity included,
// becomes the nearest value; otherwise it becomes NaN.
func ToF8E8M0(f float32, mode Rounding, saturate bool) F8E8M0 {
	b := bits32(f) & 0x7fffffff
	if b > 0x7f800000 {
		return nanE8M0
	}
	exponent, fraction := int(b>>23), b&0x7fffff
	if exponent == 0 { // a subnormal number of 2^-127 or more has the highest fraction bit set
		if fraction < 1<<22 {
			if saturate {
				return 0
			}
			return nanE8M0
		}
		fraction = fraction << 1 & 0x7fffff
	}
	if mode == Up && fraction > 0 || mode == Nearest && fraction >= 1<<22 {
		exponent++
	}
	if exponent < 0xff {
		return F8E8M0(exponent)
	}
	if saturate {
		return 0xfe
	}
	return nanE8M0
}

package packed

// F8E4M3FN is the bits of a float8 with 4 exponent and 3 fraction bits, a NaN
// and no infinity.
type F8E4M3FN uint8

// F8E4M3FNUZ is F8E4M3FN with bias 8, no negative zero, and NaN at 0x80.
type F8E4M3FNUZ uint8

// F8E5M2 is the bits of a float8 with 5 exponent and 2 fraction bits, with
// infinities and NaNs as IEEE 754 has them.
type F8E5M2 uint8

// F8E5M2FNUZ is F8E5M2 with bias 16, no infinity, no negative zero, NaN at 0x80.
type F8E5M2FNUZ uint8

// F8E8M0 is a power of two: the value is 2^(bits-127), and 0xff is NaN.
type F8E8M0 uint8

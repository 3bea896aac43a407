package packed

import (
	"encoding/binary"
	"math"
)

// Blocks of codes of 4 bits that stand for 16 numbers, T or F:
//
//	IQ4_NL | d half | 16 bytes of codes |                       d*T[q]
//	IQ4_XS | d half | 8 x 2 high bits | 4 low | 128 bytes |     (d*(s-32))*T[q], 8 groups of 32
//	MXFP4  | e      | 16 bytes of codes |                       2^(e-128)*F[q]
//	NVFP4  | 4 scales | 32 bytes of codes |                     u(scale)*F[q], 4 groups of 16
//
// In a group, the low bits of the codes belong to the first half of the elements. F has twice the
// values of F4E2M1, so the scales are halved: u is half of an E4M3 number without a sign, and 0
// for its NaN.

// valuesNL are the numbers of IQ4_NL and IQ4_XS.
var valuesNL = [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// valuesFP4 are the numbers of MXFP4 and NVFP4.
var valuesFP4 = [16]float32{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// unpackValues writes d times the values of the codes q.
func unpackValues(y []float32, d float32, values *[16]float32, q []byte) {
	for i, c := range q {
		y[i] = d * values[c&15]
		y[i+len(q)] = d * values[c>>4]
	}
}

func unpackIQ4NL(y []float32, b []byte) { unpackValues(y, half(b), &valuesNL, b[2:18]) }

func unpackIQ4XS(y []float32, b []byte) {
	d, high, low := half(b), binary.LittleEndian.Uint16(b[2:]), b[4:8]
	for j := range 8 {
		s := int(low[j/2]>>(j%2*4)&15) | int(high>>(2*j)&3)<<4
		unpackValues(y[32*j:], d*float32(s-32), &valuesNL, b[8+16*j:][:16])
	}
}

func unpackMXFP4(y []float32, b []byte) { unpackValues(y, power2(int(b[0])-128), &valuesFP4, b[1:17]) }

func unpackNVFP4(y []float32, b []byte) {
	for g, scale := range b[:4] {
		unpackValues(y[16*g:], halfE4M3(scale), &valuesFP4, b[4+8*g:][:8])
	}
}

// halfE4M3 returns half of an E4M3 number without its sign, and 0 for the code 0x7f.
func halfE4M3(code byte) float32 {
	exponent, fraction := int(code>>3&15), float32(code&7)
	switch {
	case code == 0x7f:
		return 0
	case exponent == 0:
		return fraction * power2(-10)
	}
	return (8 + fraction) * power2(exponent-11)
}

func packMXFP4(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[17:], src[32:] {
		var e byte
		if most := abs32(largest(src[:32])); most > 0 {
			e = byte(int(math.Floor(math.Log2(float64(most)))) - 2 + 127)
		}
		dst[0] = e
		d := power2(int(e) - 128)
		for i := range 16 {
			dst[1+i] = nearestFP4(src[i], d) | nearestFP4(src[i+16], d)<<4
		}
	}
}

func packNVFP4(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[36:], src[64:] {
		for g := range 4 {
			x := src[16*g:][:16]
			dst[g] = roundE4M3(abs32(largest(x)) / 6)
			d := halfE4M3(dst[g])
			for i := range 8 {
				dst[4+8*g+i] = nearestFP4(x[i], d) | nearestFP4(x[i+8], d)<<4
			}
		}
	}
}

// roundE4M3 returns the code of the E4M3 number nearest to v, at least 0, the larger of equally near
// ones. Numbers beyond the greatest become that one.
func roundE4M3(v float32) byte {
	const greatest = 0x7e
	if v < 0x1p-6 {
		return byte(float32(v*0x1p9) + 0.5)
	}
	bits := bits32(v) + 1<<19
	return byte(min(int(bits>>20)-(127-7)<<3, greatest))
}

// nearestFP4 returns the code of the value nearest to v/d, the first of equally near ones.
func nearestFP4(v, d float32) (code byte) {
	least := float32(math.MaxFloat32)
	for c, value := range valuesFP4 {
		if far := abs32(float32(value*d) - v); far < least {
			code, least = byte(c), far
		}
	}
	return code
}

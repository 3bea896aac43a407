package packed

import "math"

// Blocks of elements of two, three or four values:
//
//	TQ1_0 | 48 bytes of 5 elements | 4 bytes of 4 | d half |   256 elements, d*(q-1) with q of 0, 1, 2
//	TQ2_0 | 64 bytes of 2 bits | d half |                      256 elements, d*(q-1)
//	Q1_0  | d half | 16 bytes of bits |                        128 elements, d or -d
//	Q2_0  | d half | 16 bytes of 2 bits |                      64 elements, d*(q-1)
//
// The elements of a byte of TQ1_0 are digits of a number in base 3, which is stored times 256/243.
// The digits of the bytes 0..31 belong to elements 32 apart, those of the next 16 bytes to elements
// 16 apart, and those of the last 4 bytes to elements 4 apart. TQ2_0 has its bits as the K types,
// Q1_0 and Q2_0 have them in order.

// powers3 are the numbers that bring a digit of a byte to its highest place.
var powers3 = [5]byte{1, 3, 9, 27, 81}

// spread3 calls f with the bytes of TQ1_0, the elements of their first digits, the distance to the
// next digit, and the number of digits.
func spread3(f func(at, element, step, digits int)) {
	for i := range 52 {
		switch {
		case i < 32:
			f(i, i, 32, 5)
		case i < 48:
			f(i, 160+i-32, 16, 5)
		default:
			f(i, 240+i-48, 4, 4)
		}
	}
}

func unpackTQ10(y []float32, b []byte) {
	d := half(b[52:])
	spread3(func(at, element, step, digits int) {
		for n, p := range powers3[:digits] {
			y[element+n*step] = d * float32(int(uint16(b[at]*p)*3>>8)-1)
		}
	})
}

func unpackTQ20(y []float32, b []byte) {
	d := half(b[64:])
	for i, c := range b[:64] {
		at := i/32*128 + i%32
		for k := range 4 {
			y[at+32*k] = d * float32(int(c>>(2*k)&3)-1)
		}
	}
}

func unpackQ10(y []float32, b []byte) {
	d := half(b)
	for i := range y {
		if b[2+i/8]>>(i%8)&1 != 0 {
			y[i] = d
		} else {
			y[i] = -d
		}
	}
}

func unpackQ20(y []float32, b []byte) {
	d := half(b)
	for i := range y {
		y[i] = float32(int(b[2+i/4]>>(i%4*2)&3)-1) * d
	}
}

// ternary rounds v, at most 1 in magnitude, to 0, 1 or 2.
func ternary(v float32) byte { return byte(int8(math.Round(float64(v)))) + 1 }

func packTQ10(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[54:], src[256:] {
		d := abs32(largest(src[:256]))
		id := inverse(d)
		spread3(func(at, element, step, digits int) {
			q := 0
			for n := range 5 {
				q *= 3
				if n < digits {
					q += int(ternary(src[element+n*step] * id))
				}
			}
			dst[at] = byte((q*256 + 242) / 243)
		})
		putHalf(dst[52:], d)
	}
}

func packTQ20(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[66:], src[256:] {
		d := abs32(largest(src[:256]))
		id := inverse(d)
		for i := range 64 {
			at := i/32*128 + i%32
			dst[i] = 0
			for k := range 4 {
				dst[i] |= ternary(src[at+32*k]*id) & 3 << (2 * k)
			}
		}
		putHalf(dst[64:], d)
	}
}

func packQ10(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[18:], src[128:] {
		clear(dst[:18])
		var sum float32
		for i, v := range src[:128] {
			sum += abs32(v)
			if v >= 0 {
				dst[2+i/8] |= 1 << (i % 8)
			}
		}
		putHalf(dst, sum/128)
	}
}

func packQ20(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[18:], src[64:] {
		d := abs32(largest(src[:64]))
		clear(dst[:18])
		putHalf(dst, d)
		id := inverse(d)
		for i, v := range src[:64] {
			dst[2+i/4] |= ternary(v*id) & 3 << (i % 4 * 2)
		}
	}
}

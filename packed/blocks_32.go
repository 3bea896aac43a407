package packed

import (
	"encoding/binary"
	"math"
)

// Blocks of 32 elements with codes of 4, 5 or 8 bits:
//
//	Q4_0 | d half |                  | 16 bytes of codes |   d*(q - 8)
//	Q4_1 | d half | m half |         | 16 bytes of codes |   d*q + m
//	Q5_0 | d half |          | 4 high | 16 bytes of codes |  d*(q - 16)
//	Q5_1 | d half | m half | 4 high | 16 bytes of codes |    d*q + m
//	Q8_0 | d half |                  | 32 int8           |   d*q
//
// The low bits of byte i of the codes belong to element i, the high ones to element i+16. Bit i of
// the 4 bytes is the fifth bit of element i.

func unpackQ40(y []float32, b []byte) {
	d, q := half(b), b[2:18]
	for i, c := range q {
		y[i] = d * float32(int(c&15)-8)
		y[i+16] = d * float32(int(c>>4)-8)
	}
}

func unpackQ41(y []float32, b []byte) {
	d, m, q := half(b), half(b[2:]), b[4:20]
	for i, c := range q {
		y[i] = float32(d*float32(c&15)) + m
		y[i+16] = float32(d*float32(c>>4)) + m
	}
}

func unpackQ50(y []float32, b []byte) {
	d, high, q := half(b), binary.LittleEndian.Uint32(b[2:]), b[6:22]
	for i, c := range q {
		y[i] = d * float32(int(fifth(c&15, high, i))-16)
		y[i+16] = d * float32(int(fifth(c>>4, high, i+16))-16)
	}
}

func unpackQ51(y []float32, b []byte) {
	d, m, high, q := half(b), half(b[2:]), binary.LittleEndian.Uint32(b[4:]), b[8:24]
	for i, c := range q {
		y[i] = float32(d*float32(fifth(c&15, high, i))) + m
		y[i+16] = float32(d*float32(fifth(c>>4, high, i+16))) + m
	}
}

// fifth adds bit i of high to a code of 4 bits.
func fifth(low byte, high uint32, i int) byte { return low | byte(high>>i&1)<<4 }

func unpackQ80(y []float32, b []byte) {
	d := half(b)
	for i, c := range b[2:34] {
		y[i] = d * float32(int8(c))
	}
}

// largest returns the element of the largest magnitude, the first of equal ones.
func largest(x []float32) float32 {
	var most, at float32
	for _, v := range x {
		if m := abs32(v); m > most {
			most, at = m, v
		}
	}
	return at
}

// span returns the least and the greatest element.
func span(x []float32) (low, high float32) {
	low, high = math.MaxFloat32, -math.MaxFloat32
	for _, v := range x {
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
	}
	return low, high
}

func abs32(v float32) float32 { return float32bits(bits32(v) &^ (1 << 31)) }

// inverse returns 1/d, or 0 for 0.
func inverse(d float32) float32 {
	if d == 0 {
		return 0
	}
	return 1 / d
}

// upTo returns the whole part of v, at most the given number.
func upTo(most int, v float32) uint32 { return uint32(min(most, int(int8(v)))) & 0xff }

func packQ40(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[18:], src[32:] {
		d := largest(src[:32]) / -8
		putHalf(dst, d)
		id := inverse(d)
		for i := range 16 {
			low := upTo(15, float32(src[i]*id)+8.5)
			dst[2+i] = byte(low | upTo(15, float32(src[i+16]*id)+8.5)<<4)
		}
	}
}

func packQ41(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[20:], src[32:] {
		low, high := span(src[:32])
		d := (high - low) / 15
		putHalf(dst, d)
		putHalf(dst[2:], low)
		id := inverse(d)
		for i := range 16 {
			first := upTo(15, float32((src[i]-low)*id)+0.5)
			dst[4+i] = byte(first | upTo(15, float32((src[i+16]-low)*id)+0.5)<<4)
		}
	}
}

func packQ50(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[22:], src[32:] {
		d := largest(src[:32]) / -16
		putHalf(dst, d)
		id := inverse(d)
		packFive(dst[2:22], func(i int) uint32 { return upTo(31, float32(src[i]*id)+16.5) })
	}
}

func packQ51(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[24:], src[32:] {
		low, high := span(src[:32])
		d := (high - low) / 31
		putHalf(dst, d)
		putHalf(dst[2:], low)
		id := inverse(d)
		packFive(dst[4:24], func(i int) uint32 { return upTo(31, float32((src[i]-low)*id)+0.5) })
	}
}

// packFive stores 32 codes of 5 bits.
func packFive(dst []byte, code func(i int) uint32) {
	var bits uint32
	for i := range 16 {
		low, high := code(i), code(i+16)
		dst[4+i] = byte(low&15 | high&15<<4)
		bits |= low>>4&1<<i | high>>4&1<<(i+16)
	}
	binary.LittleEndian.PutUint32(dst, bits)
}

func packQ80(dst []byte, src []float32) {
	for ; len(src) > 0; dst, src = dst[34:], src[32:] {
		d := abs32(largest(src[:32])) / 127
		putHalf(dst, d)
		id := inverse(d)
		for i, v := range src[:32] {
			dst[2+i] = byte(int8(math.Round(float64(v * id))))
		}
	}
}

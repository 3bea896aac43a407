package packed

import (
	"encoding/binary"
	"math/bits"
	"sync"
)

// Blocks of 256 elements in vectors of 8 or 4 that are rows of a code book, with signs and scales s:
//
//	IQ2_XXS | d half | 8 groups: 4 indices, u32: 4 x 7 bits of signs, s of 4 bits |     ((d*(s+1/2))/4)*g
//	IQ2_XS  | d half | 32 u16: index of 9 bits, 7 bits of signs | 16 s of 4 bits |      ((d*(s+1/2))/4)*g
//	IQ2_S   | d half | 32 indices | 32 signs | 8 bytes, high bits | 16 s of 4 bits |    ((d*(s+1/2))/4)*g
//	IQ3_XXS | d half | 64 indices | 8 u32: 4 x 7 bits of signs, s of 4 bits |           ((d*(s+1/2))/2)*g
//	IQ3_S   | d half | 64 indices | 8 bytes, ninth bits | 32 signs | 8 s of 4 bits |    (d*(2s+1))*g
//
// Signs of a vector are a byte with a bit for each element, 1 for minus. The eighth bit of 7 makes
// the number of minus signs even.

// book is a code book of vectors.
type book struct {
	codes  []uint16 // of the vectors, width bits for each element, the first in the lowest
	width  int
	values []int8 // of elements
	rows   func() [][8]int8
}

func newBook(codes []uint16, width int, values ...int8) *book {
	b := &book{codes: codes, width: width, values: values}
	b.rows = sync.OnceValue(func() [][8]int8 {
		list := make([][8]int8, len(codes))
		for r, code := range codes {
			for i := range 16 / width {
				if value := int(code >> (i * width) & (1<<width - 1)); value < len(values) {
					list[r][i] = values[value]
				}
			}
		}
		return list
	})
	return b
}

// The code books.
var (
	bookIQ2XXS = newBook(codesIQ2XXS[:], 2, 8, 25, 43)
	bookIQ2XS  = newBook(codesIQ2XS[:], 2, 8, 25, 43)
	bookIQ2S   = newBook(codesIQ2S[:], 2, 8, 25, 43)
	bookIQ3XXS = newBook(codesIQ3XXS[:], 3, 4, 12, 20, 28, 36, 44, 52, 62)
	bookIQ3S   = newBook(codesIQ3S[:], 3, 1, 3, 5, 7, 9, 11, 13, 15)
	bookIQ1    = newBook(codesIQ1[:], 2, -1, 0, 1)
)

// books are the code books of the types of blocks.
var books = map[string]*book{
	"iq2_xxs": bookIQ2XXS, "iq2_xs": bookIQ2XS, "iq2_s": bookIQ2S, "iq3_xxs": bookIQ3XXS, "iq3_s": bookIQ3S, "iq1_s": bookIQ1, "iq1_m": bookIQ1,
}

// evenSigns returns the signs of a vector from 7 bits.
func evenSigns(k uint32) byte {
	k &= 127
	return byte(k) | byte(bits.OnesCount32(k)&1)<<7
}

// signed writes scale times a vector with those signs.
func signed(y []float32, scale float32, vector []int8, signs byte) {
	y = y[:len(vector)]
	for i, v := range vector {
		if signs>>i&1 != 0 {
			v = -v
		}
		y[i] = scale * float32(v)
	}
}

// quarter returns the scale of 4 bits of the types with 2 bits.
func quarter(d float32, s byte) float32 { return float32(d*(0.5+float32(s))) * 0.25 }

func unpackIQ2XXS(y []float32, b []byte) {
	d, grid := half(b), bookIQ2XXS.rows()
	for g := range 8 {
		index, w := b[2+8*g:][:4], binary.LittleEndian.Uint32(b[6+8*g:])
		scale := quarter(d, byte(w>>28))
		for k, row := range index {
			signed(y[32*g+8*k:], scale, grid[row][:], evenSigns(w>>(7*k)))
		}
	}
}

func unpackIQ2XS(y []float32, b []byte) {
	d, grid, scales := half(b), bookIQ2XS.rows(), b[66:74]
	for k := range 32 {
		w := binary.LittleEndian.Uint16(b[2+2*k:])
		scale := quarter(d, scales[k/4]>>(k/2%2*4)&15)
		signed(y[8*k:], scale, grid[w&511][:], evenSigns(uint32(w>>9)))
	}
}

func unpackIQ2S(y []float32, b []byte) {
	d, grid := half(b), bookIQ2S.rows()
	index, signs, high, scales := b[2:34], b[34:66], b[66:74], b[74:82]
	for k, low := range index {
		row := int(low) | int(high[k/4]>>(k%4*2)&3)<<8
		signed(y[8*k:], quarter(d, scales[k/4]>>(k/2%2*4)&15), grid[row][:], signs[k])
	}
}

func unpackIQ3XXS(y []float32, b []byte) {
	d, grid, index := half(b), bookIQ3XXS.rows(), b[2:66]
	for g := range 8 {
		w := binary.LittleEndian.Uint32(b[66+4*g:])
		scale := float32(d*(0.5+float32(w>>28))) * 0.5
		for k := range 4 {
			signs, at := evenSigns(w>>(7*k)), 8*g+2*k
			signed(y[4*at:], scale, grid[index[at]][:4], signs)
			signed(y[4*at+4:], scale, grid[index[at+1]][:4], signs>>4)
		}
	}
}

func unpackIQ3S(y []float32, b []byte) {
	d, grid := half(b), bookIQ3S.rows()
	index, ninth, signs, scales := b[2:66], b[66:74], b[74:106], b[106:110]
	for k, low := range index {
		row := int(low) | int(ninth[k/8]>>(k%8)&1)<<8
		s := scales[k/16] >> (k / 8 % 2 * 4) & 15
		signed(y[4*k:], d*float32(1+2*int(s)), grid[row][:4], signs[k/2]>>(k%2*4))
	}
}

// Blocks of 256 elements in vectors of 8 that are rows of a code book of -1, 0 and 1, shifted by an
// eighth, e:
//
//	IQ1_S | d half | 32 indices | 8 u16: 4 x 3 high bits, s of 3 bits, sign of e |   (d*(2s+1))*(g+e)
//	IQ1_M | 32 indices | 32 x (3 high bits, sign of e) | 4 u16: 4 x s of 3 bits |   (d*(2s+1))*(g+e)
//
// The highest 4 bits of the four u16 of IQ1_M make up d, the lowest bits first.

// shifted writes scale times a vector plus e.
func shifted(y []float32, scale float32, vector *[8]int8, minus bool) {
	e := float32(0.125)
	if minus {
		e = -e
	}
	for i, v := range vector {
		y[i] = scale * (float32(v) + e)
	}
}

func unpackIQ1S(y []float32, b []byte) {
	d, grid, index := half(b), bookIQ1.rows(), b[2:34]
	for g := range 8 {
		w := binary.LittleEndian.Uint16(b[34+2*g:])
		scale := d * float32(2*int(w>>12&7)+1)
		for k := range 4 {
			row := int(index[4*g+k]) | int(w>>(3*k)&7)<<8
			shifted(y[32*g+8*k:], scale, &grid[row], w>>15 != 0)
		}
	}
}

func unpackIQ1M(y []float32, b []byte) {
	index, high, d, grid := b[:32], b[32:48], scaleIQ1M(b).Float32(), bookIQ1.rows()
	for k, low := range index {
		n := high[k/2] >> (k % 2 * 4) & 15
		s := binary.LittleEndian.Uint16(b[48+k/8*2:]) >> (k / 2 % 4 * 3) & 7
		scale := d * float32(2*int(s)+1)
		shifted(y[8*k:], scale, &grid[int(low)|int(n&7)<<8], n&8 != 0)
	}
}

// scaleIQ1M returns the scale of a block of IQ1_M.
func scaleIQ1M(b []byte) F16 {
	return F16(b[49]>>4) | F16(b[51]>>4)<<4 | F16(b[53]>>4)<<8 | F16(b[55]>>4)<<12
}

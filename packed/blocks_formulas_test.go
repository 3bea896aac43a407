package packed

import (
	"encoding/binary"
	"math/bits"
)

// formulas are the elements of a block, one by one.
var formulas = map[*Blocks]func(b []byte, i int) float32{
	Q4_0: func(b []byte, i int) float32 { return half(b) * float32(nibble(b[2+i%16], i/16)-8) },
	Q4_1: func(b []byte, i int) float32 {
		return float32(half(b)*float32(nibble(b[4+i%16], i/16))) + half(b[2:])
	},
	Q5_0: func(b []byte, i int) float32 {
		return half(b) * float32((nibble(b[6+i%16], i/16)|bit(b[2:], i)<<4)-16)
	},
	Q5_1: func(b []byte, i int) float32 {
		return float32(half(b)*float32(nibble(b[8+i%16], i/16)|bit(b[4:], i)<<4)) + half(b[2:])
	},
	Q8_0: func(b []byte, i int) float32 { return half(b) * float32(int8(b[2+i])) },
	Q2_K: func(b []byte, i int) float32 {
		s := b[i/16]
		return float32(float32(half(b[80:])*float32(s&15))*float32(two(b[16:], i))) - float32(half(b[82:])*float32(s>>4))
	},
	Q3_K: func(b []byte, i int) float32 {
		s, j := b[96:], i/16
		scale := (nibble(s[j%8], j/8) | int(s[8+j%4])>>(2*(j/4))&3<<4) - 32
		q := two(b[32:], i)
		if b[i%32]>>(i/32)&1 == 0 {
			q -= 4
		}
		return float32(half(b[108:])*float32(scale)) * float32(q)
	},
	Q4_K: func(b []byte, i int) float32 { return formulaK(b, i, nibble(b[16+32*(i/64)+i%32], i/32%2)) },
	Q5_K: func(b []byte, i int) float32 {
		return formulaK(b, i, nibble(b[48+32*(i/64)+i%32], i/32%2)|int(b[16+i%32])>>(i/32)&1<<4)
	},
	Q6_K: func(b []byte, i int) float32 {
		h, k, l := i/128, i%128/32, i%32
		q := nibble(b[64*h+32*(k%2)+l], k/2) | int(b[128+32*h+l])>>(2*k)&3<<4
		return float32(half(b[208:])*float32(int8(b[192+i/16]))) * float32(q-32)
	},
	IQ2_XXS: func(b []byte, i int) float32 {
		g, k := i/32, i/8%4
		w := binary.LittleEndian.Uint32(b[2+8*g+4:])
		return float32(float32(half(b)*(0.5+float32(w>>28)))*0.25) * vector(bookIQ2XXS, int(b[2+8*g+k]), i%8, parity(w>>(7*k)))
	},
	IQ2_XS: func(b []byte, i int) float32 {
		w := binary.LittleEndian.Uint16(b[2+2*(i/8):])
		s := float32(nibble(b[66+i/32], i/16%2))
		return float32(float32(half(b)*(0.5+s))*0.25) * vector(bookIQ2XS, int(w&511), i%8, parity(uint32(w>>9)))
	},
	IQ2_S: func(b []byte, i int) float32 {
		k, s := i/8, float32(nibble(b[74+i/32], i/16%2))
		row := int(b[2+k]) | int(b[66+i/32])>>(2*(k%4))&3<<8
		return float32(float32(half(b)*(0.5+s))*0.25) * vector(bookIQ2S, row, i%8, b[34+k])
	},
	IQ3_XXS: func(b []byte, i int) float32 {
		w := binary.LittleEndian.Uint32(b[66+4*(i/32):])
		signs := parity(w >> (7 * (i / 8 % 4)))
		return float32(float32(half(b)*(0.5+float32(w>>28)))*0.5) * vector(bookIQ3XXS, int(b[2+i/4]), i%4, signs>>(i%8/4*4))
	},
	IQ3_S: func(b []byte, i int) float32 {
		k := i / 4
		row := int(b[2+k]) | int(b[66+i/32])>>(k%8)&1<<8
		s := nibble(b[106+i/64], i/32%2)
		return float32(half(b)*float32(1+2*s)) * vector(bookIQ3S, row, i%4, b[74+i/8]>>(i%8/4*4))
	},
	IQ1_S: func(b []byte, i int) float32 {
		w := binary.LittleEndian.Uint16(b[34+2*(i/32):])
		row := int(b[2+i/8]) | int(w)>>(3*(i/8%4))&7<<8
		return float32(half(b)*float32(2*(w>>12&7)+1)) * (vector(bookIQ1, row, i%8, 0) + eighth(w&0x8000 != 0))
	},
	IQ1_M: func(b []byte, i int) float32 {
		d := F16(b[49]>>4) | F16(b[51]>>4)<<4 | F16(b[53]>>4)<<8 | F16(b[55]>>4)<<12
		k := i / 8
		n := nibble(b[32+k/2], k%2)
		s := int(binary.LittleEndian.Uint16(b[48+2*(i/64):])) >> (3 * (i / 16 % 4)) & 7
		return float32(d.Float32()*float32(2*s+1)) * (vector(bookIQ1, int(b[k])|n&7<<8, i%8, 0) + eighth(n&8 != 0))
	},
	IQ4_NL: func(b []byte, i int) float32 { return half(b) * valuesNL[nibble(b[2+i%16], i/16)] },
	IQ4_XS: func(b []byte, i int) float32 {
		j := i / 32
		s := nibble(b[4+j/2], j%2) | int(binary.LittleEndian.Uint16(b[2:]))>>(2*j)&3<<4
		return float32(half(b)*float32(s-32)) * valuesNL[nibble(b[8+16*j+i%16], i%32/16)]
	},
	TQ1_0: func(b []byte, i int) float32 {
		x, n := b[i%32], i/32
		if i >= 240 {
			x, n = b[48+(i-240)%4], (i-240)/4
		} else if i >= 160 {
			x, n = b[32+(i-160)%16], (i-160)/16
		}
		for range n {
			x *= 3
		}
		return half(b[52:]) * float32(int(x)*3>>8-1)
	},
	TQ2_0: func(b []byte, i int) float32 { return half(b[64:]) * float32(two(b, i)-1) },
	MXFP4: func(b []byte, i int) float32 {
		return power2(int(b[0])-128) * (F4E2M1(nibble(b[1+i%16], i/16)).Float32()*2 + 0)
	},
	NVFP4: func(b []byte, i int) float32 {
		g, j := i/16, i%16
		u := F8E4M3FN(b[g]&0x7f).Float32() / 2
		switch b[g] {
		case 0x7f:
			u = 0
		case 0xff: // not taken for the NaN that it is in E4M3
			u = 240
		}
		return u * (F4E2M1(nibble(b[4+8*g+j%8], j/8)).Float32()*2 + 0)
	},
	Q1_0: func(b []byte, i int) float32 { return half(b) * float32(2*bit(b[2:], i)-1) },
	Q2_0: func(b []byte, i int) float32 { return half(b) * float32(int(b[2+i/4])>>(2*(i%4))&3-1) },
}

func nibble(b byte, k int) int { return int(b) >> (4 * k) & 15 }

func bit(b []byte, i int) int { return int(b[i/8]) >> (i % 8) & 1 }

// two returns the bits of element i in 32 bytes for each 128 elements.
func two(b []byte, i int) int { return int(b[32*(i/128)+i%32]) >> (2 * (i / 32 % 4)) & 3 }

// formulaK is the element with code q of Q4_K and Q5_K.
func formulaK(b []byte, i, q int) float32 {
	s, j := b[4:], i/32
	scale, least := s[j%4]&63, s[4+j%4]&63
	if j >= 4 {
		scale, least = s[j+4]&15|s[j-4]>>6<<4, s[j+4]>>4|s[j]>>6<<4
	}
	return float32(float32(half(b)*float32(scale))*float32(q)) - float32(half(b[2:])*float32(least))
}

// vector returns element i of a row of a code book with its sign.
func vector(b *book, row, i int, signs byte) float32 {
	v := float32(b.values[b.codes[row]>>(i*b.width)&(1<<b.width-1)])
	if signs>>i&1 != 0 {
		return -v
	}
	return v
}

// parity returns 7 bits and an eighth that makes their number even.
func parity(w uint32) byte {
	k := byte(w & 127)
	if bits.OnesCount8(k)%2 != 0 {
		k |= 128
	}
	return k
}

func eighth(minus bool) float32 {
	if minus {
		return -0.125
	}
	return 0.125
}

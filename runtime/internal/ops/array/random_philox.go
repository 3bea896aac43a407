package array

import (
	"math"
	"math/bits"
)

// philox is the counter-based generator Philox 4x32-10 (J. Salmon et al., "Parallel random numbers:
// as easy as 1, 2, 3", 2011). It applies ten rounds of a bijection of 128-bit counters, selected by
// a 64-bit key. Number i of a stream depends on the key and i alone, so numbers may be computed in
// any order.
type philox struct{ key [2]uint32 }

func newPhilox(key uint64) philox { return philox{[2]uint32{uint32(key), uint32(key >> 32)}} }

// block returns the image of a counter.
func (g philox) block(c [4]uint32) [4]uint32 {
	k0, k1 := g.key[0], g.key[1]
	for range 10 {
		hi0, lo0 := bits.Mul32(0xD2511F53, c[0])
		hi1, lo1 := bits.Mul32(0xCD9E8D57, c[2])
		c = [4]uint32{hi1 ^ c[1] ^ k0, lo1, hi0 ^ c[3] ^ k1, lo0}
		k0 += 0x9E3779B9
		k1 += 0xBB67AE85
	}
	return c
}

// pair returns numbers 2i and 2i+1 of the stream, in [0,1) with 53 random bits.
func (g philox) pair(i int) (float64, float64) {
	b := g.block([4]uint32{uint32(i), uint32(uint64(i) >> 32)})
	unit := func(hi, lo uint32) float64 { return float64((uint64(hi)<<32|uint64(lo))>>11) / (1 << 53) }
	return unit(b[0], b[1]), unit(b[2], b[3])
}

// uniform returns number i of the stream, in [0,1).
func (g philox) uniform(i int) float64 {
	a, b := g.pair(i / 2)
	if i%2 == 0 {
		return a
	}
	return b
}

// normal returns number i of a stream of normal numbers with mean 0 and deviation 1. Each pair
// gives two of them (G. Box and M. Muller, 1958).
func (g philox) normal(i int) float64 {
	a, b := g.pair(i / 2)
	r := math.Sqrt(-2 * math.Log(1-a))
	sin, cos := math.Sincos(2 * math.Pi * b)
	if i%2 == 0 {
		return r * cos
	}
	return r * sin
}

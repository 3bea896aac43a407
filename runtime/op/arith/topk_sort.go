package arith

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/op"
)

// manyBest is the least number of elements for each of the best where a heap of the best is faster
// than an order of all.
const manyBest = 8

// digit is the number of bits that one round of sorting looks at.
const digit = 8

// sortTop sorts every lane by its keys, one digit after another, and writes the first k places.
func sortTop[T op.Number](o *TopK, c *op.Run, x []T, s op.AxisView, k int, where []int64, key func(T) uint64) error {
	scratch, err := c.ScratchInt64s(4 * s.N)
	if err != nil {
		return err
	}
	keys, places := scratch[:s.N], scratch[s.N:2*s.N]
	nextKeys, nextPlaces := scratch[2*s.N:3*s.N], scratch[3*s.N:]
	var flip uint64
	if !o.Smallest {
		flip = math.MaxUint64
	}
	for a := range s.Outer {
		for i := range s.Inner {
			all, some := uint64(math.MaxUint64), uint64(0) // bits of all keys, and of some
			for j, at := 0, a*s.N*s.Inner+i; j < s.N; j, at = j+1, at+s.Inner {
				v := key(x[at]) ^ flip
				all, some = all&v, some|v
				keys[j], places[j] = int64(v), int64(j)
			}
			for shift := 0; shift < 64; shift += digit {
				if c.Stopped() {
					return op.ErrStopped
				}
				if (all^some)>>shift%(1<<digit) == 0 {
					continue // the digit of all keys is the same
				}
				sortDigit(keys, places, nextKeys, nextPlaces, shift)
				keys, nextKeys = nextKeys, keys
				places, nextPlaces = nextPlaces, places
			}
			to := a*k*s.Inner + i
			for j, p := range places[:k] {
				where[to+j*s.Inner] = p
			}
		}
	}
	return nil
}

// sortDigit copies keys and places in the order of the digit at that bit; equals keep theirs.
func sortDigit(keys, places, nextKeys, nextPlaces []int64, shift int) {
	var next [1 << digit]int
	for _, v := range keys {
		next[uint8(v>>(shift&63))]++
	}
	sum := 0
	for d, n := range next {
		next[d] = sum
		sum += n
	}
	places = places[:len(keys)]
	for i, v := range keys {
		d := uint8(v >> (shift & 63))
		to := next[d]
		next[d]++
		nextKeys[to], nextPlaces[to] = v, places[i]
	}
}

// float64Key returns a key that orders numbers: both zeros have one key, and all NaNs have the
// largest.
func float64Key(v float64) uint64 {
	if v != v {
		return math.MaxUint64
	}
	b := math.Float64bits(v + 0) // of 0 if v is -0
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

// float32Key is float64Key of float32, in the low 32 bits.
func float32Key(v float32) uint64 {
	switch {
	case v != v:
		return math.MaxUint32
	case v == 0:
		return 1 << 31
	}
	b := math.Float32bits(v)
	return uint64(b ^ (uint32(int32(b)>>31) | 1<<31))
}

func int64Key(v int64) uint64 { return uint64(v) ^ 1<<63 }

func int32Key(v int32) uint64 { return uint64(uint32(v) ^ 1<<31) }

package arith

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// manyBest bounds the use of a heap: it is faster than sorting if a lane has more than manyBest
// elements per result.
const manyBest = 8

// digit is the number of bits that one round of sorting looks at.
const digit = 8

// sortTop sorts every lane by its keys, digit by digit, and writes the first k indices.
func sortTop[T kit.Number](o *TopK, c *op.Run, x []T, s kit.AxisView, k int, where []int64, key func(T) uint64) error {
	list, err := newDigitSort(c, s.N)
	if err != nil {
		return err
	}
	var flip uint64
	if !o.Smallest {
		flip = math.MaxUint64
	}
	for a := range s.Outer {
		for i := range s.Inner {
			for j, at := 0, a*s.N*s.Inner+i; j < s.N; j, at = j+1, at+s.Inner {
				list.set(j, key(x[at])^flip)
			}
			places, err := list.sorted(c)
			if err != nil {
				return err
			}
			to := a*k*s.Inner + i
			for j, p := range places[:k] {
				where[to+j*s.Inner] = p
			}
		}
	}
	return nil
}

// digitSort sorts keys digit by digit.
type digitSort struct {
	keys, places         []int64
	nextKeys, nextPlaces []int64
	all, some            uint64 // bits set in all keys, and in some
}

// newDigitSort returns a digitSort with memory for n keys.
func newDigitSort(c *op.Run, n int) (*digitSort, error) {
	room, err := c.ScratchInt64s(4 * n)
	if err != nil {
		return nil, err
	}
	return &digitSort{keys: room[:n], places: room[n : 2*n], nextKeys: room[2*n : 3*n], nextPlaces: room[3*n:],
		all: math.MaxUint64}, nil
}

// set sets key i. All keys must be set before sorting.
func (s *digitSort) set(i int, key uint64) {
	s.all, s.some = s.all&key, s.some|key
	s.keys[i], s.places[i] = int64(key), int64(i)
}

// sorted returns the indices of the keys in ascending order of the keys; it is stable. The result
// is valid until the next call of set.
func (s *digitSort) sorted(c *op.Run) ([]int64, error) {
	for shift := 0; shift < 64; shift += digit {
		if c.Stopped() {
			return nil, op.ErrStopped
		}
		if (s.all^s.some)>>shift%(1<<digit) == 0 {
			continue // the digit of all keys is the same
		}
		sortDigit(s.keys, s.places, s.nextKeys, s.nextPlaces, shift)
		s.keys, s.nextKeys = s.nextKeys, s.keys
		s.places, s.nextPlaces = s.nextPlaces, s.places
	}
	s.all, s.some = math.MaxUint64, 0
	return s.places, nil
}

// sortDigit copies keys and places in the order of the digit at bit shift; it is stable.
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

// float64Key returns a key that orders numbers. Both zeros have the same key, and all NaNs have the
// largest key.
func float64Key(v float64) uint64 {
	if v != v {
		return math.MaxUint64
	}
	b := math.Float64bits(v + 0) // 0 if v is -0
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

// float32Key is float64Key for float32, in the low 32 bits.
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

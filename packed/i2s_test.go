package packed

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestI2S compares the storage with its diagram for every byte at every place of two blocks, and
// packs what it unpacks.
func TestI2S(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for k := range 64 {
		for v := range 256 {
			b := make([]byte, 64)
			for i := range b {
				b[i] = byte(r.UintN(256))
			}
			b[k] = byte(v)
			codes := make([]int8, 2*I2SBlock)
			UnpackI2S(codes, b)
			for lane, c := range []int{v >> 6, v >> 4 & 3, v >> 2 & 3, v & 3} {
				i := k/32*I2SBlock + k%32 + 32*lane
				if want := int8(c) - 1; codes[i] != want || AtI2S(b, i) != want {
					t.Fatalf("byte %d of %#x: code %d is %d, and %d by itself, want %d", k, v, i, codes[i], AtI2S(b, i), want)
				}
			}
			again := make([]byte, len(b))
			PackI2S(again, codes)
			if !slices.Equal(again, b) {
				t.Fatalf("byte %d of %#x: packed codes are %x, want %x", k, v, again, b)
			}
		}
	}
}

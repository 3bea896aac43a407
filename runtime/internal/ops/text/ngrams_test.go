package text

import (
	"math/rand/v2"
	"testing"
)

// TestDivisor compares remainders with Go's.
func TestDivisor(t *testing.T) {
	const least, most = -1 << 63, 1<<63 - 1
	list := []int64{least, least + 1, -3, -2, -1, 0, 1, 2, 3, 97, 1 << 32, 1<<62 - 1, 1 << 62, most - 1, most}
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		list = append(list, int64(r.Uint64())>>r.IntN(64))
	}
	for _, n := range list {
		if n <= 0 {
			continue
		}
		d := newDivisor(n)
		for _, v := range list {
			want := v % n
			if want < 0 {
				want += n
			}
			if got := d.mod(v); got != want {
				t.Fatalf("%d modulo %d is %d, want %d", v, n, got, want)
			}
		}
	}
}

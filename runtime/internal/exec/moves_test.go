package exec

import (
	"math/rand/v2"
	"testing"
)

// TestMoves gathers blocks in place.
func TestMoves(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		from := make([]int, 1+r.IntN(9))
		list := make(map[int]int, len(from)+1)
		for i := range from {
			from[i], list[i] = r.IntN(len(from)), i
		}
		if r.IntN(2) == 0 {
			copy(from, r.Perm(len(from)))
		}
		for _, m := range moves(from) {
			if m.to == m.from {
				t.Fatalf("%d: block %d moves to itself", from, m.to)
			}
			list[m.to] = list[m.from]
		}
		for i, source := range from {
			if list[i] != source {
				t.Fatalf("%d: block %d became %d", from, i, list[i])
			}
		}
	}
}

package control

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/runtime/op"
)

// TestBestOf compares the best of many scores, in several orders, with the first of all sorted.
func TestBestOf(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pace := (&op.Run{}).Pace()
	for _, n := range []int{1, 2, 7, 100, 10000} {
		scores := make([]float32, n)
		for i := range scores {
			scores[i] = float32(r.IntN(n))
		}
		for _, order := range []string{"any", "rising", "falling"} {
			if order != "any" {
				slices.Sort(scores)
			}
			if order == "falling" {
				slices.Reverse(scores)
			}
			all := make([]candidate, n)
			for i, v := range scores {
				all[i] = candidate{v, i}
			}
			slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
			for _, k := range []int{1, 2, 6, 50} {
				if got, want := bestOf(pace, scores, k), all[:min(k, n)]; !slices.Equal(got, want) {
					t.Fatalf("%d of %d in %s order: got %v, want %v", k, n, order, got, want)
				}
			}
		}
	}
}

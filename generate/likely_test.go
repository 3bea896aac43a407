package generate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDistribution compares log probabilities with sums in plain order, also of infinite logits, and
// the likeliest tokens with sorting.
func TestDistribution(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		logits := randomLogits(r, 1+r.IntN(60))
		want := reference(Sampling{Temperature: 1}, logits)
		if slices.Max(want) == 0 {
			continue
		}
		d, sum := distributionOf(logits), 0.0
		for i, x := range logits {
			got := math.Exp(d.logProb(x))
			if sum += got; math.Abs(got-want[i]) > 1e-12 {
				t.Fatalf("token %d of %v has probability %g, want %g", i, logits, got, want[i])
			}
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("probabilities of %v add up to %g", logits, sum)
		}
		s := newSampler(Sampling{Alternatives: 1 + r.IntN(len(logits)+3)}, false, 0)
		token := Token{ID: int32(r.IntN(len(logits)))}
		s.measure(&token, logits)
		if token.LogProb != d.logProb(logits[token.ID]) {
			t.Fatalf("token %d of %v has log probability %g", token.ID, logits, token.LogProb)
		}
		var order []int32
		for i, p := range want {
			if p > 0 {
				order = append(order, int32(i))
			}
		}
		slices.SortStableFunc(order, func(a, b int32) int {
			if logits[a] > logits[b] {
				return -1
			} else if logits[a] < logits[b] {
				return 1
			}
			return 0
		})
		order = order[:min(len(order), s.Alternatives)]
		var got []int32
		for _, a := range token.Alternatives {
			if got = append(got, a.ID); a.LogProb != d.logProb(logits[a.ID]) {
				t.Fatalf("alternative %v of %v", a, logits)
			}
		}
		if !slices.Equal(got, order) {
			t.Fatalf("the likeliest of %v are %v, want %v", logits, got, order)
		}
	}
}

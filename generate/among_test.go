package generate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// largestOf returns the k largest logits in the order of scores.
func largestOf(logits []float32, k int) scores {
	ids := make([]int64, len(logits))
	for i := range ids {
		ids[i] = int64(i)
	}
	slices.SortStableFunc(ids, func(a, b int64) int {
		x, y := logits[a], logits[b]
		if x != x && y == y {
			return -1
		}
		if y != y && x == x {
			return 1
		}
		return cmp.Compare(y, x)
	})
	x := scores{ids: ids[:k]}
	for _, id := range x.ids {
		x.logits = append(x.logits, logits[id])
	}
	return x
}

// TestChooseAmong compares tokens that few of the logits choose with the tokens of all logits: with
// equal logits, NaN, infinities and suppressed tokens.
func TestChooseAmong(t *testing.T) {
	const n = 40
	r := rand.New(rand.NewPCG(35, 2))
	odd := []float32{float32(math.NaN()), float32(math.Inf(-1)), float32(math.Inf(1)), 0, float32(math.Copysign(0, -1))}
	known, all := 0, 0
	for range 20000 {
		logits := make([]float32, n)
		kinds, coarse := r.IntN(3), r.IntN(2) == 0
		for i := range logits {
			logits[i] = float32(r.NormFloat64() * 3)
			if coarse {
				logits[i] = float32(math.Round(float64(logits[i]) * 2))
			}
			if kinds > 0 && r.IntN(4/kinds) == 0 {
				logits[i] = odd[r.IntN(len(odd)-2*r.IntN(2))]
			}
		}
		s := Sampling{Seed: r.Uint64()}
		if r.IntN(3) > 0 {
			s.Temperature, s.TopK = 0.1+r.Float64()*2, 1+r.IntN(12)
			s.TopP, s.MinP = float64(r.IntN(2))*r.Float64(), float64(r.IntN(2))*r.Float64()/2
		}
		var suppressed []int32
		for range r.IntN(4) {
			suppressed = append(suppressed, int32(r.IntN(n+2)))
		}
		k := min(n, 1+r.IntN(n+10))
		whole, part := newSampler(s, false, 3), newSampler(s, false, 3)
		whole.suppressed, part.suppressed = suppressed, suppressed
		x := largestOf(logits, k)
		got, ok, err := part.chooseAmong(&x, n)
		if all++; !ok {
			if err != nil || k == n {
				t.Fatalf("%d of %d logits %v leave the token of %+v without %v open: %v", k, n, logits, s, suppressed, err)
			}
			continue
		}
		known++
		want, fails := whole.choose(logits)
		if got != want || err != fails || whole.random.Uint64() != part.random.Uint64() {
			t.Fatalf("%d of the logits %v choose %d, %v; want %d, %v: %+v without %v", k, logits, got, err, want, fails, s,
				suppressed)
		}
	}
	if known < all/2 || known == all {
		t.Errorf("%d of %d tokens are known", known, all)
	}
	// Different numbers leave nothing open beyond top-k.
	logits := make([]float32, n)
	for i := range logits {
		logits[i] = float32(i * 7 % n)
	}
	x := largestOf(logits, 6)
	if _, ok, err := newSampler(Sampling{Temperature: 1, TopK: 5}, false, 0).chooseAmong(&x, n); !ok || err != nil {
		t.Errorf("6 different numbers leave a token of 5 open: %v", err)
	}
	if _, ok, err := newSampler(Sampling{Temperature: 1, TopK: 6}, false, 0).chooseAmong(&x, n); ok || err != nil {
		t.Errorf("6 numbers do not leave a token of 6 open, though a seventh may equal the last: %v", err)
	}
}

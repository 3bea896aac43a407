package tokenizer

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
)

// TestVocabulary compares vocabularies of lists and of maps to maps: with tokens that share an id,
// equal tokens, ids without a token, and lists around powers of two.
func TestVocabulary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	check := func(v *vocabulary, want map[string]int32) {
		t.Helper()
		for token, id := range want {
			if got, ok := v.id(token); !ok || got != id {
				t.Fatalf("%d tokens: token %q has the id %d, %v, want %d", len(want), token, got, ok, id)
			}
		}
		for _, token := range []string{"none", "t", "t01", "\x00"} {
			if id, ok := v.id(token); ok {
				t.Fatalf("%d tokens: token %q, which is none, has the id %d", len(want), token, id)
			}
		}
		if got := maps.Collect(v.all()); !maps.Equal(got, want) || v.len() != len(want) {
			t.Fatalf("%d of %d tokens, want %d", len(got), v.len(), len(want))
		}
	}
	for _, n := range []int{0, 1, 2, 3, 4, 5, 63, 64, 65, 1000, 1024, 1025} {
		list, want := make([]string, n), map[string]int32{}
		for i := range list {
			list[i] = fmt.Sprintf("t%d", r.IntN(2*n))
			want[list[i]] = int32(i)
		}
		check(listVocabulary(list), want)
		ids := map[string]int64{}
		for token, id := range want {
			ids[token] = int64(id)
			if r.IntN(4) == 0 {
				ids[token+"'"], want[token+"'"] = int64(id), id
			}
		}
		v, err := newVocabulary(&work{}, ids)
		if err != nil {
			t.Fatal(err)
		}
		check(v, want)
	}
	check(&vocabulary{others: map[string]int32{"a": 3}}, map[string]int32{"a": 3})
}

// TestScoreRanks compares ranks to the numbers of greater scores.
func TestScoreRanks(t *testing.T) {
	for _, scores := range [][]float32{
		{}, {3}, {0, -1, -2, -3}, {0, -1, -1, -1, -2}, {-2, 5, 5, 0, -1, 0, 5, 4}, {0, 0, 0, -1, -1, -3, -2, 7},
	} {
		for i, got := range scoreRanks(scores) {
			want := int32(0)
			for _, s := range scores {
				if s > scores[i] {
					want++
				}
			}
			if got != want {
				t.Errorf("%v: score %d has rank %d, not %d", scores, i, got, want)
			}
		}
	}
}

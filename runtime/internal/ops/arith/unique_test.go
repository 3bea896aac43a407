package arith

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNumberTable compares groups with a map, for keys that make the table grow.
func TestNumberTable(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, distinct := range []uint64{1, 2, 31, 33, 5000, math.MaxUint64} {
		keys := []uint64{0, math.MaxUint64, 0, 1 << 63, math.MaxUint64}
		for range 10000 {
			keys = append(keys, r.Uint64N(distinct)<<r.IntN(2))
		}
		table, of := newNumberTable(keys), make([]int64, len(keys))
		list := table.add(nil, of, 0, 100)
		list = table.add(list, of, 100, len(keys))
		groups, want := map[uint64]int{}, []group(nil)
		for i, k := range keys {
			g, ok := groups[k]
			if !ok {
				g = len(want)
				groups[k], want = g, append(want, group{first: i})
			}
			want[g].count++
			if of[i] != int64(g) {
				t.Fatalf("%d values: key %d, %#x, is in group %d, want %d", distinct, i, k, of[i], g)
			}
		}
		if !slices.Equal(list, want) {
			t.Fatalf("%d values: groups are %v, want %v", distinct, list, want)
		}
	}
}

// TestFloat64Key checks that the keys of ascending floats ascend.
func TestFloat64Key(t *testing.T) {
	least := math.SmallestNonzeroFloat64
	list := []float64{math.Inf(-1), -math.MaxFloat64, -1, -least, 0, least, 1, math.MaxFloat64, math.Inf(1), math.NaN()}
	for i, v := range list[1:] {
		if float64Key(list[i]) >= float64Key(v) {
			t.Errorf("the key of %v is not below that of %v", list[i], v)
		}
	}
	if float64Key(math.Copysign(0, -1)) != float64Key(0) ||
		float64Key(math.Copysign(math.NaN(), -1)) != float64Key(math.NaN()) {
		t.Error("keys of zeros or of NaNs differ")
	}
}

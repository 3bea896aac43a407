package ml

import (
	"math"
	"testing"
)

// TestNumbering looks up entries of trees that form runs, and of others.
func TestNumbering(t *testing.T) {
	for name, c := range map[string]struct{ trees, ids []int64 }{
		"runs":        {[]int64{0, 0, 0, 7, 7, -1}, []int64{0, 1, 2, 5, 6, 3}},
		"apart":       {[]int64{0, 1, 0, 1}, []int64{0, 0, 1, 1}},
		"downwards":   {[]int64{2, 2, 2}, []int64{9, 8, 7}},
		"with holes":  {[]int64{2, 2, 2}, []int64{0, 2, 4}},
		"none":        {nil, nil},
		"at the ends": {[]int64{math.MaxInt64, math.MinInt64}, []int64{math.MinInt64, math.MaxInt64}},
	} {
		n, err := newNumbering(c.trees, c.ids)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := map[[2]int64]int32{}
		for i := range c.trees {
			want[[2]int64{c.trees[i], c.ids[i]}] = int32(i)
		}
		for _, tree := range append([]int64{0, 1, 2, 3, 7, -1, math.MaxInt64}, c.trees...) {
			ids := []int64{-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, math.MaxInt64, math.MinInt64}
			for _, id := range append(ids, c.ids...) {
				at, ok := n.find(tree, id)
				if w, there := want[[2]int64{tree, id}]; ok != there || ok && at != w {
					t.Errorf("%s: node %d of tree %d is %d, %v, want %d, %v", name, id, tree, at, ok, w, there)
				}
			}
		}
	}
	for name, c := range map[string]struct{ trees, ids []int64 }{
		"twice": {[]int64{0, 0, 0}, []int64{0, 1, 1}}, "twice apart": {[]int64{0, 1, 0}, []int64{0, 0, 0}},
	} {
		if _, err := newNumbering(c.trees, c.ids); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

package ml

import (
	"math"
	"testing"
)

// TestNumbering looks entries up: in trees that stand together and are numbered upwards, and
// in others.
func TestNumbering(t *testing.T) {
	for name, c := range map[string]struct{ trees, ids []int }{
		"runs":        {[]int{0, 0, 0, 7, 7, -1}, []int{0, 1, 2, 5, 6, 3}},
		"apart":       {[]int{0, 1, 0, 1}, []int{0, 0, 1, 1}},
		"downwards":   {[]int{2, 2, 2}, []int{9, 8, 7}},
		"with holes":  {[]int{2, 2, 2}, []int{0, 2, 4}},
		"none":        {nil, nil},
		"at the ends": {[]int{math.MaxInt, math.MinInt}, []int{math.MinInt, math.MaxInt}},
	} {
		n, err := newNumbering(c.trees, c.ids)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := map[[2]int]int32{}
		for i := range c.trees {
			want[[2]int{c.trees[i], c.ids[i]}] = int32(i)
		}
		for _, tree := range append([]int{0, 1, 2, 3, 7, -1, math.MaxInt}, c.trees...) {
			for _, id := range append([]int{-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, math.MaxInt, math.MinInt}, c.ids...) {
				at, ok := n.find(tree, id)
				if w, there := want[[2]int{tree, id}]; ok != there || ok && at != w {
					t.Errorf("%s: node %d of tree %d is %d, %v, want %d, %v", name, id, tree, at, ok, w, there)
				}
			}
		}
	}
	for name, c := range map[string]struct{ trees, ids []int }{
		"twice": {[]int{0, 0, 0}, []int{0, 1, 1}}, "twice apart": {[]int{0, 1, 0}, []int{0, 0, 0}},
	} {
		if _, err := newNumbering(c.trees, c.ids); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

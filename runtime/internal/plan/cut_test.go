package plan

import (
	"math/rand/v2"
	"testing"
)

// cutEdges is an edge as it was added.
type cutEdges struct{ from, to, cost int }

// costOf returns the cost of a division of the vertices. If bit v of side is set, vertex v stays
// with source.
func costOf(edges []cutEdges, side int) int {
	cost := 0
	for _, e := range edges {
		if side>>e.from&1 == 1 && side>>e.to&1 == 0 {
			cost += e.cost
		}
	}
	return cost
}

// TestCut compares cuts of random graphs with the cheapest of all divisions. Of several such
// divisions the cut must have the fewest vertices at source.
func TestCut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		n := firstVertex + 1 + r.IntN(7)
		c := newCut()
		for range n - firstVertex {
			c.vertex()
		}
		var edges []cutEdges
		for range r.IntN(20) {
			e := cutEdges{r.IntN(n), r.IntN(n), r.IntN(10)}
			if e.from == sink || e.to == source {
				continue
			}
			edges = append(edges, e)
			c.edge(e.from, e.to, e.cost)
		}
		got := 0
		for v, stays := range c.solve() {
			if stays {
				got |= 1 << v
			}
		}
		best := 1 << source
		for side := range 1 << n {
			if side>>source&1 == 1 && side>>sink&1 == 0 && costOf(edges, side) < costOf(edges, best) {
				best = side
			}
		}
		if got>>source&1 == 0 || got>>sink&1 == 1 || costOf(edges, got) != costOf(edges, best) {
			t.Fatalf("%v: %b costs %d, %b costs %d", edges, got, costOf(edges, got), best, costOf(edges, best))
		}
		for side := range 1 << n {
			if side>>source&1 == 1 && side>>sink&1 == 0 && costOf(edges, side) == costOf(edges, got) && side&got != got {
				t.Fatalf("%v: %b has more vertices than %b", edges, got, side)
			}
		}
	}
}

package diagram

import (
	"context"
	"slices"
	"unicode/utf8"
)

// Sizes of boxes and the space between them, in pixels of the viewer at scale 1.
const (
	letter    = 7.2 // width of a letter of a title
	small     = 6.2 // width of a letter below it
	margin    = 14
	titleHigh = 30
	lineHigh  = 16
	across    = 24   // between boxes of a rank
	longest   = 64   // ranks that an edge of a large graph is routed through
	large     = 2000 // boxes
	sweeps    = 10
)

// size sets the width and the height of a box.
func (b *Box) size() {
	if b.Kind == "in" || b.Kind == "out" {
		return
	}
	wide := letter * float64(utf8.RuneCountInString(b.Title))
	for _, line := range b.Lines {
		wide = max(wide, small*float64(utf8.RuneCountInString(line)))
	}
	b.Width = min(max(wide+2*margin, 64), 320)
	b.Height = titleHigh + lineHigh*float64(len(b.Lines))
	if len(b.Lines) > 0 {
		b.Height += 4
	}
}

// layout is a graph with a rank for every box. Places that edges go through are items, too.
type layout struct {
	g     *Graph
	rank  []int   // by box
	items []item  // boxes, then places of edges
	ranks [][]int // items of each rank, from left to right
}

// item is a box, or a place of an edge.
type item struct {
	x, width float64
	weight   float64
	up, down []int // neighbours in the ranks beside
	order    float64
}

// place gives every box and every edge its place: ranks by the longest path from the inputs, in each
// rank an order with few crossings, and positions near the neighbours'.
func (g *Graph) place(ctx context.Context) error {
	for _, b := range g.Boxes {
		b.size()
	}
	if len(g.Boxes) == 0 {
		return nil
	}
	l := &layout{g: g}
	l.assignRanks()
	through := l.route()
	for i := range sweeps {
		if err := ctx.Err(); err != nil {
			return err
		}
		l.sort(i%2 == 0)
	}
	l.spread()
	for i := range 2*sweeps + 1 {
		if err := ctx.Err(); err != nil {
			return err
		}
		l.shift(i%2 == 0)
	}
	l.finish(through)
	return nil
}

// assignRanks sets the ranks: below all inputs, and right above the first user for boxes without
// inputs. Edges of a cycle, which only a broken model has, count for nothing.
func (l *layout) assignRanks() {
	n := len(l.g.Boxes)
	l.rank = make([]int, n)
	waits, out := make([]int, n), make([][]int, n)
	for _, e := range l.g.Edges {
		waits[e.To]++
		out[e.From] = append(out[e.From], e.To)
	}
	roots := make([]bool, n)
	var ready, order []int
	for i := range n {
		if waits[i] == 0 {
			ready, roots[i] = append(ready, i), true
		}
	}
	for len(ready) > 0 {
		i := ready[0]
		ready, order = ready[1:], append(order, i)
		for _, to := range out[i] {
			l.rank[to] = max(l.rank[to], l.rank[i]+1)
			if waits[to]--; waits[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	for _, i := range slices.Backward(order) {
		if !roots[i] || len(out[i]) == 0 || l.g.Boxes[i].Kind == "in" {
			continue
		}
		first := l.rank[out[i][0]]
		for _, to := range out[i] {
			first = min(first, l.rank[to])
		}
		l.rank[i] = max(first-1, 0)
	}
	last := slices.Max(l.rank)
	for i, b := range l.g.Boxes {
		switch {
		case b.Kind == "out":
			l.rank[i] = last
		case b.Kind == "output" && len(l.g.Boxes) < large:
			l.rank[i] = max(l.rank[i], min(last, l.rank[i]+longest/2))
		}
	}
}

// route makes the items. It returns, by edge, the items that the edge goes through.
func (l *layout) route() [][]int {
	l.ranks = make([][]int, slices.Max(l.rank)+1)
	for i, b := range l.g.Boxes {
		l.items = append(l.items, item{width: b.Width + across, weight: 1})
		l.ranks[l.rank[i]] = append(l.ranks[l.rank[i]], i)
	}
	through := make([][]int, len(l.g.Edges))
	for i, e := range l.g.Edges {
		from, to := l.rank[e.From], l.rank[e.To]
		if to <= from || to-from > longest && len(l.g.Boxes) >= large {
			continue
		}
		last := e.From
		for r := from + 1; r < to; r++ {
			at := len(l.items)
			l.items = append(l.items, item{width: across, weight: 4})
			l.ranks[r] = append(l.ranks[r], at)
			l.join(last, at)
			through[i], last = append(through[i], at), at
		}
		l.join(last, e.To)
	}
	return through
}

func (l *layout) join(above, below int) {
	l.items[above].down = append(l.items[above].down, below)
	l.items[below].up = append(l.items[below].up, above)
}

// sort orders each rank by the mean place of the neighbours above, or below.
func (l *layout) sort(downwards bool) {
	for _, r := range l.ranks {
		for k, i := range r {
			l.items[i].order = float64(k)
		}
	}
	l.each(downwards, func(rank []int) {
		for k, i := range rank {
			l.items[i].order = l.mean(i, downwards, float64(k), func(j int) float64 { return l.items[j].order })
		}
		slices.SortStableFunc(rank, func(i, j int) int {
			switch a, b := l.items[i].order, l.items[j].order; {
			case a < b:
				return -1
			case a > b:
				return 1
			}
			return 0
		})
		for k, i := range rank {
			l.items[i].order = float64(k)
		}
	})
}

// each visits the ranks from the second down, or from the last but one up.
func (l *layout) each(downwards bool, visit func(rank []int)) {
	if downwards {
		for _, r := range l.ranks[1:] {
			visit(r)
		}
		return
	}
	for i := len(l.ranks) - 2; i >= 0; i-- {
		visit(l.ranks[i])
	}
}

// mean returns the mean of a number of the neighbours above, or below, or otherwise.
func (l *layout) mean(i int, above bool, otherwise float64, of func(j int) float64) float64 {
	list := l.items[i].down
	if above {
		list = l.items[i].up
	}
	if len(list) == 0 {
		return otherwise
	}
	sum := 0.0
	for _, j := range list {
		sum += of(j)
	}
	return sum / float64(len(list))
}

// spread places the items of each rank beside each other, around 0.
func (l *layout) spread() {
	for _, r := range l.ranks {
		wide := 0.0
		for _, i := range r {
			wide += l.items[i].width
		}
		x := -wide / 2
		for _, i := range r {
			l.items[i].x = x + l.items[i].width/2
			x += l.items[i].width
		}
	}
}

// shift moves items towards their neighbours above, or below. Of all places that keep the order and
// the space between items, it takes the ones nearest to the wanted ones (isotonic regression).
func (l *layout) shift(downwards bool) {
	l.each(downwards, func(rank []int) {
		type run struct{ sum, weight, x float64 }
		var runs []run
		counts := []int{}
		offsets := make([]float64, len(rank))
		for k, i := range rank {
			if k > 0 {
				offsets[k] = offsets[k-1] + (l.items[rank[k-1]].width+l.items[i].width)/2
			}
			want := l.mean(i, downwards, l.items[i].x, func(j int) float64 { return l.items[j].x }) - offsets[k]
			w := l.items[i].weight
			runs, counts = append(runs, run{want * w, w, want}), append(counts, 1)
			for n := len(runs); n > 1 && runs[n-2].x > runs[n-1].x; n = len(runs) {
				a, b := runs[n-2], runs[n-1]
				sum, weight := a.sum+b.sum, a.weight+b.weight
				runs[n-2] = run{sum, weight, sum / weight}
				counts[n-2] += counts[n-1]
				runs, counts = runs[:n-1], counts[:n-1]
			}
		}
		k := 0
		for r, run := range runs {
			for range counts[r] {
				l.items[rank[k]].x = run.x + offsets[k]
				k++
			}
		}
	})
}

// finish writes the places of boxes and edges, with the left at 0.
func (l *layout) finish(through [][]int) {
	left, right := l.items[0].x, l.items[0].x
	for _, it := range l.items {
		left, right = min(left, it.x-it.width/2), max(right, it.x+it.width/2)
	}
	for i, b := range l.g.Boxes {
		b.Rank, b.X, b.Width = l.rank[i], round(l.items[i].x-left), round(b.Width)
	}
	for i, e := range l.g.Edges {
		for _, at := range through[i] {
			e.Through = append(e.Through, round(l.items[at].x-left))
		}
	}
	l.g.Width = round(right - left)
}

// round returns x in tenths of a pixel.
func round(x float64) float64 { return float64(int(x*10+0.5)) / 10 }

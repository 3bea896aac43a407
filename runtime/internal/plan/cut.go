package plan

import "math"

// cut is a graph with capacities. Its minimum cut separates the vertices that stay with source from
// the vertices that stay with sink.
type cut struct {
	edges []cutEdge // each edge is followed by its reverse
	out   [][]int   // by vertex: its edges
	level []int     // by vertex: edges from source; -1 if not reached
	tried []int     // by vertex: how many of its edges are exhausted
}

type cutEdge struct{ to, left int }

// The vertices of every cut, and the capacity of edges that no cut severs.
const (
	source = iota
	sink
	firstVertex

	unbounded = math.MaxInt / 4
)

func newCut() *cut { return &cut{out: make([][]int, firstVertex)} }

// vertex adds a vertex.
func (c *cut) vertex() int {
	c.out = append(c.out, nil)
	return len(c.out) - 1
}

// edge adds a cost that is paid if from stays with source and to with sink.
func (c *cut) edge(from, to, cost int) {
	if from == to || cost == 0 {
		return
	}
	c.out[from] = append(c.out[from], len(c.edges))
	c.out[to] = append(c.out[to], len(c.edges)+1)
	c.edges = append(c.edges, cutEdge{to, cost}, cutEdge{from, 0})
}

// solve finds the maximum flow and reports, by vertex, whether it stays with source in the minimum
// cut. Of several minimum cuts it takes the one with the fewest vertices at source.
func (c *cut) solve() []bool {
	for c.levels() {
		c.tried = make([]int, len(c.out))
		for c.push(source, unbounded) > 0 {
		}
	}
	side := make([]bool, len(c.out))
	for v, l := range c.level {
		side[v] = l >= 0
	}
	return side
}

// levels counts the edges from source to each vertex, and reports whether sink is reached.
func (c *cut) levels() bool {
	c.level = make([]int, len(c.out))
	for v := range c.level {
		c.level[v] = -1
	}
	c.level[source] = 0
	queue := []int{source}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, e := range c.out[v] {
			if to := c.edges[e].to; c.edges[e].left > 0 && c.level[to] < 0 {
				c.level[to] = c.level[v] + 1
				queue = append(queue, to)
			}
		}
	}
	return c.level[sink] >= 0
}

// push sends at most most units from v to sink, and returns how many it sent.
func (c *cut) push(v, most int) int {
	if v == sink {
		return most
	}
	for ; c.tried[v] < len(c.out[v]); c.tried[v]++ {
		e := c.out[v][c.tried[v]]
		if x := c.edges[e]; x.left > 0 && c.level[x.to] == c.level[v]+1 {
			if n := c.push(x.to, min(most, x.left)); n > 0 {
				c.edges[e].left -= n
				c.edges[e^1].left += n
				return n
			}
		}
	}
	return 0
}

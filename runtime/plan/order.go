package plan

import (
	"container/heap"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// sorted returns the nodes that the graph's outputs need, each after those that
// compute its inputs, otherwise in the order of the file. A cycle is an error.
func sorted(g *graph.Graph) ([]*graph.Node, error) {
	maker := map[string]int{}
	for i, n := range g.Nodes {
		for _, o := range n.Outputs {
			if o != "" {
				maker[o] = i
			}
		}
	}
	needed := reach(g, maker)
	users := make([][]int, len(g.Nodes))
	missing := make([]int, len(g.Nodes))
	var ready intHeap
	total := 0
	for i, n := range g.Nodes {
		if !needed[i] {
			continue
		}
		total++
		for _, in := range n.Inputs {
			if m, ok := maker[in]; ok {
				users[m] = append(users[m], i)
				missing[i]++
			}
		}
		if missing[i] == 0 {
			heap.Push(&ready, i)
		}
	}
	order := make([]*graph.Node, 0, total)
	for len(ready) > 0 {
		i := heap.Pop(&ready).(int)
		order = append(order, g.Nodes[i])
		for _, u := range users[i] {
			if missing[u]--; missing[u] == 0 {
				heap.Push(&ready, u)
			}
		}
	}
	if len(order) < total {
		i := slices.IndexFunc(missing, func(n int) bool { return n > 0 })
		return nil, graph.Mark(graph.ErrFormat, "node %q is part of a cycle", g.Nodes[i].Label())
	}
	return order, nil
}

// reach marks the nodes that the graph's outputs need.
func reach(g *graph.Graph, maker map[string]int) []bool {
	needed := make([]bool, len(g.Nodes))
	var stack []int
	visit := func(name string) {
		if i, ok := maker[name]; ok && !needed[i] {
			needed[i] = true
			stack = append(stack, i)
		}
	}
	for _, o := range g.Outputs {
		visit(o.Name)
	}
	for len(stack) > 0 {
		n := g.Nodes[stack[len(stack)-1]]
		stack = stack[:len(stack)-1]
		for _, in := range n.Inputs {
			visit(in)
		}
	}
	return needed
}

// intHeap is a container/heap of ints, smallest first.
type intHeap []int

func (h intHeap) Len() int           { return len(h) }
func (h intHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h intHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *intHeap) Push(x any)        { *h = append(*h, x.(int)) }
func (h *intHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

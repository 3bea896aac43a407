package graph

import (
	"slices"
	"strconv"
)

// Names is a set of names, from which new ones differ.
type Names struct {
	taken map[string]bool
	last  map[string]int // the number of the last name that begins so
}

// NamesOf returns the names of the values and the nodes of a graph and of its bodies.
func NamesOf(g *Graph) *Names {
	n := &Names{taken: map[string]bool{}, last: map[string]int{}}
	n.add(g)
	return n
}

func (n *Names) add(g *Graph) {
	for _, v := range slices.Concat(g.Inputs, g.Outputs, g.Values) {
		n.taken[v.Name] = true
	}
	for _, x := range g.Initializers {
		n.taken[x.Name] = true
	}
	for _, x := range g.Sparse {
		n.taken[x.Name] = true
	}
	for _, node := range g.Nodes {
		n.taken[node.Name] = true
		for _, name := range slices.Concat(node.Inputs, node.Outputs) {
			n.taken[name] = true
		}
		for _, a := range node.Attrs {
			for _, body := range a.Subgraphs() {
				n.add(body)
			}
		}
	}
}

// New returns a name that is not in the set, and adds it: like itself, or like with a number.
func (n *Names) New(like string) string {
	name := like
	for i := max(n.last[like], 1) + 1; n.taken[name]; i++ {
		name = like + "_" + strconv.Itoa(i)
		n.last[like] = i
	}
	n.taken[name] = true
	return name
}

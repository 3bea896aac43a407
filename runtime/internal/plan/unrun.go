package plan

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// noteUnrun notes the types of the outputs of a node's graph before passes rewrite it.
func (k *check) noteUnrun(g *graph.Graph, b *Body) {
	list := slices.Clone(g.Outputs)
	for i, t := range b.declaredTypes() {
		v := *list[i]
		v.Unrun = t
		list[i] = &v
	}
	k.unrun[g] = list
}

// noted returns the graph with the noted types in the graphs of its nodes.
func (k *check) noted(g *graph.Graph) *graph.Graph {
	out := *g
	outputs, changed := k.unrun[g]
	if changed {
		out.Outputs = outputs
	}
	for i, n := range g.Nodes {
		m := k.notedNode(n)
		if m == n {
			continue
		}
		if len(g.Nodes) > 0 && &out.Nodes[0] == &g.Nodes[0] {
			out.Nodes = slices.Clone(g.Nodes)
		}
		out.Nodes[i], changed = m, true
	}
	if !changed {
		return g
	}
	return &out
}

// notedNode returns the node with the noted types in its graphs.
func (k *check) notedNode(n *graph.Node) *graph.Node {
	out := n
	for i, a := range n.Attrs {
		if a.Graph == nil {
			continue
		}
		g := k.noted(a.Graph)
		if g == a.Graph {
			continue
		}
		if out == n {
			m := *n
			m.Attrs = slices.Clone(n.Attrs)
			out = &m
		}
		b := *a
		b.Graph = g
		out.Attrs[i] = &b
	}
	return out
}

// DeclaredType returns the type of output i that was noted before passes. If none was noted, it
// returns the type of declaredTypes.
func (b *Body) DeclaredType(i int) graph.Type {
	if t := b.results[i].Unrun; t.Kind != graph.NoType {
		return t
	}
	return b.declaredTypes()[i]
}

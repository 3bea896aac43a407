package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// rule replaces matches of a pattern.
type rule struct {
	pattern pattern
	// when is a condition on the match. Nil accepts every match.
	when func(m *match) bool
	// write returns a node that computes the first output of the match's root. Nil refuses the
	// match.
	write func(m *match) *graph.Node
}

// rewriting returns a pass that applies rules to a graph. Earlier rules take precedence.
func rewriting(rules ...rule) run {
	return func(s *Scope) (*Edit, error) {
		m := newMatcher(s)
		for _, r := range rules {
			for _, n := range m.candidates(r.pattern) {
				m.find(r.pattern, n, func(found *match) bool {
					if !m.private(found.nodes, n) || r.when != nil && !r.when(found) {
						return false
					}
					by := r.write(found)
					return by != nil && !found.reads(by) && m.replaceMatch(found, by)
				})
			}
		}
		return m.result()
	}
}

// reads reports whether a node reads a value that nodes of the match compute. These nodes would
// then stay in the graph.
func (m *match) reads(n *graph.Node) bool {
	return slices.ContainsFunc(n.Inputs, func(name string) bool {
		return slices.Contains(m.nodes, m.maker(m.canonical(name)))
	})
}

// candidates returns the nodes with first outputs that a pattern may match, in topological order.
func (m *matcher) candidates(p pattern) []*graph.Node {
	roots, needs := limits(p)
	switch {
	case slices.ContainsFunc(needs, func(op string) bool { return len(m.makes[op]) == 0 }):
		return nil
	case roots == nil:
		return m.live
	}
	var at []int
	for _, op := range roots {
		at = append(at, m.makes[op]...)
	}
	slices.Sort(at)
	at = slices.Compact(at)
	list := make([]*graph.Node, len(at))
	for i, k := range at {
		list[i] = m.live[k]
	}
	return list
}

// find matches a pattern with the first output of root and calls accept for every match, until
// accept returns true. It reports whether a call returned true. If root is part of a replaced
// match, it has no match.
func (m *matcher) find(p pattern, root *graph.Node, accept func(found *match) bool) bool {
	if m.replaced[root] || root.Outputs[0] == "" {
		return false
	}
	found := &match{matcher: m, root: root}
	return p.match(found, root.Outputs[0], func() bool { return accept(found) })
}

// replaceMatch replaces the root of a match and retires its nodes.
func (m *matcher) replaceMatch(found *match, by ...*graph.Node) bool {
	if !m.replace(found.root, by...) {
		return false
	}
	m.retire(found.nodes...)
	return true
}

// retire bars nodes from being roots.
func (m *matcher) retire(nodes ...*graph.Node) {
	for _, n := range nodes {
		m.replaced[n] = true
	}
}

// nodeOf returns the node that computes the value of a variable.
func (m *match) nodeOf(v variable) *graph.Node { return m.maker(m.values[v]) }

// instead returns a node that computes the first output of the root from variables.
func (m *match) instead(domain, op string, version int, inputs []variable, attrs ...*graph.Attr) *graph.Node {
	values := make([]string, len(inputs))
	for i, v := range inputs {
		values[i] = m.values[v]
	}
	return instead(m.root, domain, op, version, values, attrs...)
}

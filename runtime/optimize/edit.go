package optimize

import (
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Edit is a change of a model's main graph. A nil Edit changes nothing.
type Edit struct {
	// Replace lists nodes that go, each with those that come in its place.
	Replace map[*graph.Node][]*graph.Node
	// Add lists constants that come.
	Add []*graph.Initializer
	// Drop names constants that go.
	Drop map[string]bool
}

// apply returns the edited model, which shares what did not change.
func (e *Edit) apply(m *graph.Model) *graph.Model {
	if e == nil {
		return m
	}
	g := *m.Graph
	g.Nodes = make([]*graph.Node, 0, len(m.Graph.Nodes))
	for _, n := range m.Graph.Nodes {
		if by, ok := e.Replace[n]; ok {
			g.Nodes = append(g.Nodes, by...)
		} else {
			g.Nodes = append(g.Nodes, n)
		}
	}
	g.Initializers = make([]*graph.Initializer, 0, len(m.Graph.Initializers)+len(e.Add))
	for _, init := range m.Graph.Initializers {
		if !e.Drop[init.Name] {
			g.Initializers = append(g.Initializers, init)
		}
	}
	g.Initializers = append(g.Initializers, e.Add...)
	edited := *m
	edited.Graph = &g
	return &edited
}

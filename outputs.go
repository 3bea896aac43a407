package nacre

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// withOutputs returns the model with these outputs only, and the inputs that they need. It
// shares everything else with m; without names it is m.
func withOutputs(m *graph.Model, names []string) (*graph.Model, error) {
	if len(names) == 0 {
		return m, nil
	}
	g := *m.Graph
	g.Outputs = nil
	for _, name := range names {
		v := output(m.Graph, name)
		if v == nil {
			return nil, markf(ErrOption, "%s: option Outputs: no node computes %q; the model's outputs are %s",
				m.File, name, describe(m.Graph.Outputs))
		}
		g.Outputs = append(g.Outputs, v)
	}
	used := needs(&g)
	g.Inputs = slices.DeleteFunc(slices.Clone(g.Inputs), func(v *graph.Value) bool { return !used[v.Name] })
	c := *m
	c.Graph = &g
	c.Closer = nil
	return &c, nil
}

func describe(list []*graph.Value) string { return names(infos(list, never)) }

// output returns an output of the graph, or a value that a node computes, by name; nil if
// there is none.
func output(g *graph.Graph, name string) *graph.Value {
	named := func(v *graph.Value) bool { return v.Name == name }
	if i := slices.IndexFunc(g.Outputs, named); i >= 0 {
		return g.Outputs[i]
	}
	if name == "" || !slices.ContainsFunc(g.Nodes, func(n *graph.Node) bool { return slices.Contains(n.Outputs, name) }) {
		return nil
	}
	if i := slices.IndexFunc(g.Values, named); i >= 0 {
		return g.Values[i]
	}
	return &graph.Value{Name: name}
}

// needs returns the names that the graph's outputs depend on.
func needs(g *graph.Graph) map[string]bool {
	used := map[string]bool{}
	for _, v := range g.Outputs {
		used[v.Name] = true
	}
	for _, n := range g.Live() {
		for _, name := range n.Inputs {
			used[name] = true
		}
		for _, name := range n.Captured() {
			used[name] = true
		}
	}
	return used
}

package optimize

import "github.com/nacre-ml/nacre/runtime/graph"

// dropDead removes nodes and constants that no output needs.
func dropDead(m *graph.Model, _ Context) (*Edit, error) {
	g := m.Graph
	e := &Edit{Replace: map[*graph.Node][]*graph.Node{}, Drop: map[string]bool{}}
	for _, n := range g.Nodes {
		e.Replace[n] = nil
	}
	needed := map[string]bool{}
	for _, n := range g.Live() {
		delete(e.Replace, n)
		for _, name := range n.Inputs {
			needed[name] = true
		}
		for _, name := range n.Captured() {
			needed[name] = true
		}
	}
	for _, o := range g.Outputs {
		needed[o.Name] = true
	}
	for _, in := range g.Inputs {
		// An input's default stays, or the input would have to be given.
		needed[in.Name] = true
	}
	for _, init := range g.Initializers {
		if !needed[init.Name] {
			e.Drop[init.Name] = true
		}
	}
	return e, nil
}

package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// dropDead removes nodes and constants that no output needs.
func dropDead(m *graph.Model, _ Context) (*Edit, error) {
	g := m.Graph
	maker := map[string]*graph.Node{}
	for _, n := range g.Nodes {
		for _, o := range n.Outputs {
			if o != "" {
				maker[o] = n
			}
		}
	}
	needed := map[string]bool{}
	var stack []string
	need := func(name string) {
		if name != "" && !needed[name] {
			needed[name] = true
			stack = append(stack, name)
		}
	}
	for _, o := range g.Outputs {
		need(o.Name)
	}
	for len(stack) > 0 {
		name := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n := maker[name]
		if n == nil {
			continue
		}
		for _, in := range n.Inputs {
			need(in)
		}
		for _, a := range n.Attrs {
			for _, sub := range a.Subgraphs() {
				sub.Captures(need)
			}
		}
	}
	e := &Edit{Replace: map[*graph.Node][]*graph.Node{}, Drop: map[string]bool{}}
	for _, n := range g.Nodes {
		if !slices.ContainsFunc(n.Outputs, func(o string) bool { return needed[o] }) {
			e.Replace[n] = nil
		}
	}
	isInput := map[string]bool{}
	for _, in := range g.Inputs {
		isInput[in.Name] = true
	}
	for _, init := range g.Initializers {
		// An input's default stays, or the input would have to be given.
		if !needed[init.Name] && !isInput[init.Name] {
			e.Drop[init.Name] = true
		}
	}
	return e, nil
}

package optimize

import (
	"maps"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Edit is a set of changes to one graph. A nil Edit changes nothing. Added nodes may precede the
// nodes that compute their inputs, because the edited graph is sorted.
type Edit struct {
	// Replace maps each removed node to the nodes that replace it.
	Replace map[*graph.Node][]*graph.Node
	// Add lists new constants.
	Add []*graph.Initializer
	// Drop is the set of removed constants.
	Drop map[string]bool
	// Sparse maps removed sparse constants to the nodes that replace them.
	Sparse map[string]*graph.Node
	// Rename maps values to new names, in nodes and in subgraphs. Graph outputs must not be
	// renamed. If the new name already names another value, one of the two nodes that compute them
	// must be removed.
	Rename map[string]string
}

func newEdit() *Edit {
	return &Edit{Replace: map[*graph.Node][]*graph.Node{}, Drop: map[string]bool{}, Rename: map[string]string{}}
}

// empty reports whether the edit changes nothing.
func (e *Edit) empty() bool {
	return e == nil || len(e.Replace) == 0 && len(e.Add) == 0 && len(e.Drop) == 0 &&
		len(e.Sparse) == 0 && len(e.Rename) == 0
}

// removes reports whether the edit removes or replaces a node.
func (e *Edit) removes(n *graph.Node) bool {
	_, ok := e.Replace[n]
	return ok
}

// add adds a constant and returns its name.
func (e *Edit) add(name string, t *tensor.Tensor) string {
	e.Add = append(e.Add, &graph.Initializer{Name: name, Tensor: t})
	return name
}

// name returns the name of a value after the edit.
func (e *Edit) name(s string) string {
	for {
		to, ok := e.Rename[s]
		if !ok {
			return s
		}
		s = to
	}
}

// bypass removes node n, with output 0 equal to value x, and gives both values one name. If further
// outputs are used, it does nothing. Nor does it if neither can take the other's name: both are
// graph outputs, n's is one and no node of this graph computes x, or a subgraph redefines the name.
func (e *Edit) bypass(s *Scope, n *graph.Node, x string) {
	x, y := e.name(x), e.name(n.Outputs[0])
	switch {
	case x == y || slices.ContainsFunc(n.Outputs[1:], func(name string) bool { return s.uses(name) > 0 && name != "" }):
		return
	case !s.isOutput(y) && !s.inner[x]:
		e.Rename[y] = x
	case s.isOutput(y) && !s.isOutput(x) && s.maker(x) != nil && !s.inner[y]:
		e.Rename[x] = y
	default:
		return
	}
	e.Replace[n] = nil
}

// apply returns the edited graph. It shares unchanged parts with the old one.
func (e *Edit) apply(old *graph.Graph) *graph.Graph {
	if e == nil {
		return old
	}
	g := *old
	g.Nodes = make([]*graph.Node, 0, len(old.Nodes))
	for _, n := range old.Nodes {
		if by, ok := e.Replace[n]; ok {
			g.Nodes = append(g.Nodes, by...)
		} else {
			g.Nodes = append(g.Nodes, n)
		}
	}
	g.Initializers = make([]*graph.Initializer, 0, len(old.Initializers)+len(e.Add))
	for _, init := range old.Initializers {
		if !e.Drop[init.Name] {
			g.Initializers = append(g.Initializers, init)
		}
	}
	g.Initializers = append(g.Initializers, e.Add...)
	e.unfold(&g, old)
	to := make(map[string]string, len(e.Rename))
	for name := range e.Rename {
		to[name] = e.name(name)
	}
	for i, n := range g.Nodes {
		g.Nodes[i] = renamed(n, to)
	}
	g.Nodes = graph.Sorted(g.Nodes)
	defined := map[string]bool{}
	define(&g, defined, true)
	g.Values = slices.DeleteFunc(slices.Clone(old.Values), func(v *graph.Value) bool { return !defined[v.Name] })
	return &g
}

// unfold replaces sparse constants by nodes, even if they are defaults of inputs.
func (e *Edit) unfold(g, old *graph.Graph) {
	if len(e.Sparse) == 0 {
		return
	}
	g.Sparse = nil
	for _, init := range old.Sparse {
		if n := e.Sparse[init.Name]; n != nil {
			g.Nodes = append(g.Nodes, n)
		} else {
			g.Sparse = append(g.Sparse, init)
		}
	}
	g.Inputs = slices.DeleteFunc(slices.Clone(old.Inputs), func(v *graph.Value) bool { return e.Sparse[v.Name] != nil })
}

// renamed returns a copy of the node with renamed inputs, outputs and captured
// values, or the node itself if none is renamed.
func renamed(n *graph.Node, to map[string]string) *graph.Node {
	has := func(name string) bool { _, ok := to[name]; return ok }
	if len(to) == 0 || !slices.ContainsFunc(slices.Concat(n.Inputs, n.Outputs, n.Captured()), has) {
		return n
	}
	r := *n
	r.Inputs, r.Outputs = listRenamed(n.Inputs, to), listRenamed(n.Outputs, to)
	return withGraphs(&r, func(_ string, g *graph.Graph) *graph.Graph { return graphRenamed(g, to) })
}

func listRenamed(list []string, to map[string]string) []string {
	list = slices.Clone(list)
	for i, name := range list {
		if other, ok := to[name]; ok {
			list[i] = other
		}
	}
	return list
}

// graphRenamed returns a copy of a subgraph with renamed captured values.
func graphRenamed(old *graph.Graph, to map[string]string) *graph.Graph {
	hidden := map[string]bool{}
	define(old, hidden, true)
	to = maps.Clone(to)
	maps.DeleteFunc(to, func(name, _ string) bool { return hidden[name] })
	g := *old
	g.Nodes = slices.Clone(old.Nodes)
	for i, n := range g.Nodes {
		g.Nodes[i] = renamed(n, to)
	}
	g.Outputs = slices.Clone(old.Outputs)
	for i, v := range g.Outputs {
		if other, ok := to[v.Name]; ok {
			output := *v
			output.Name = other
			g.Outputs[i] = &output
		}
	}
	return &g
}

// withGraphs returns a copy of the node with its subgraphs mapped by change. If change returns
// every subgraph as it is, it returns the node itself.
func withGraphs(n *graph.Node, change func(attr string, g *graph.Graph) *graph.Graph) *graph.Node {
	r, same := *n, true
	r.Attrs = slices.Clone(n.Attrs)
	for i, a := range r.Attrs {
		if len(a.Subgraphs()) == 0 {
			continue
		}
		b := *a
		b.Graphs = slices.Clone(a.Graphs)
		for k, g := range a.Graphs {
			b.Graphs[k] = change(a.Name, g)
			same = same && b.Graphs[k] == g
		}
		if a.Graph != nil {
			b.Graph = change(a.Name, a.Graph)
			same = same && b.Graph == a.Graph
		}
		r.Attrs[i] = &b
	}
	if same {
		return n
	}
	return &r
}

package optimize

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/fold"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Scope describes the graph that a pass reads: the main graph of a model or a
// subgraph. Values of enclosing graphs are visible unless the graph redefines their
// names. The graph does not change while a pass runs.
type Scope struct {
	Context
	Model *graph.Model // the model before the pass
	Graph *graph.Graph
	// Nodes lists the nodes of registered operators with a valid number of inputs and outputs, in
	// topological order. Passes ignore other nodes: the planner reports them.
	Nodes []*graph.Node

	outer   *Scope
	names   *names
	inputs  []graph.Type           // types of graph inputs that the file does not declare
	inner   map[string]bool        // names that its subgraphs define
	makers  map[string]*graph.Node // by output: the node of Nodes that computes it
	users   map[string]int         // number of uses by nodes, including captures of subgraphs
	outputs map[string]bool
	nested  bool                 // whether nodes have subgraphs
	known   map[string]*op.Value // facts by each name that the graph defines, nil for none; nil before inference
	index   *index               // of the graph; nil before the first matcher
	room    *int                 // bytes that inference may still compute, with enclosing graphs
	facts   *facts               // of earlier inference of the main graph; nil for subgraphs
}

func newScope(c Context, m *graph.Model, g *graph.Graph, outer *Scope, n *names) *Scope {
	s := &Scope{
		Context: c, Model: m, Graph: g, outer: outer, names: n,
		inner: map[string]bool{}, outputs: map[string]bool{},
		makers: make(map[string]*graph.Node, len(g.Nodes)), users: make(map[string]int, len(g.Nodes)+len(g.Initializers)),
	}
	if outer != nil {
		s.room = outer.room
	} else {
		room := fold.Facts.Total
		s.room = &room
	}
	for _, n := range graph.Sorted(g.Nodes) {
		if _, _, err := c.Registry.Match(n); err == nil {
			s.Nodes = append(s.Nodes, n)
			for _, name := range n.Outputs {
				s.makers[name] = n
			}
		}
		for _, name := range n.Inputs {
			s.users[name]++
		}
		for _, name := range n.Captured() {
			s.users[name]++
		}
		for _, sub := range subgraphs(n) {
			s.nested = true
			defineAll(sub, s.inner)
		}
	}
	delete(s.makers, "")
	for _, v := range g.Outputs {
		s.outputs[v.Name] = true
	}
	return s
}

// define sets the names that a graph defines, without its subgraphs, to v.
func define[T any](g *graph.Graph, set map[string]T, v T) {
	for _, in := range g.Inputs {
		set[in.Name] = v
	}
	for _, t := range g.Initializers {
		set[t.Name] = v
	}
	for _, t := range g.Sparse {
		set[t.Name] = v
	}
	for _, n := range g.Nodes {
		for _, name := range n.Outputs {
			set[name] = v
		}
	}
	delete(set, "")
}

// defineAll adds the names that a graph and its subgraphs define to set.
func defineAll(g *graph.Graph, set map[string]bool) {
	define(g, set, true)
	for _, n := range g.Nodes {
		for _, sub := range subgraphs(n) {
			defineAll(sub, set)
		}
	}
}

// subgraphs returns the graphs in the attributes of a node.
func subgraphs(n *graph.Node) []*graph.Graph {
	var list []*graph.Graph
	for _, a := range n.Attrs {
		list = append(list, a.Subgraphs()...)
	}
	return list
}

// names generates names that a model does not use.
type names struct {
	model   *graph.Model
	values  *graph.Names // nil before the first name
	prefix  string       // of symbols
	symbols int
}

func newNames(m *graph.Model) *names {
	n := &names{model: m, prefix: "#"}
	for slices.ContainsFunc(m.Graph.Inputs, n.has) {
		n.prefix += "#"
	}
	return n
}

// symbol returns a new symbolic extent. It equals no other extent.
func (n *names) symbol() graph.Dim {
	n.symbols++
	return graph.Symbol(fmt.Sprint(n.prefix, n.symbols))
}

// has reports whether an extent of a value contains the prefix of new symbols.
func (n *names) has(v *graph.Value) bool { return slices.ContainsFunc(v.Type.Dims, n.in) }

// in reports whether an extent contains the prefix of new symbols.
func (n *names) in(d graph.Dim) bool {
	return slices.ContainsFunc(d.Symbols(), func(s string) bool { return strings.Contains(s, n.prefix) })
}

// without returns the extents with unknown extents instead of extents with new symbols.
func (n *names) without(list []graph.Dim) []graph.Dim {
	list = slices.Clone(list)
	for i, d := range list {
		if n.in(d) {
			list[i] = graph.Unknown()
		}
	}
	return list
}

// fresh returns a new name that begins with like. The model has no value or node of this name.
func (s *Scope) fresh(like string) string {
	n := s.names
	if n.values == nil {
		n.values = graph.NamesOf(n.model.Graph)
	}
	return n.values.New(like)
}

// maker returns the node of Nodes that computes a value as any of its outputs, or nil.
func (s *Scope) maker(name string) *graph.Node { return s.makers[name] }

// isOutput reports whether a value is an output of the graph.
func (s *Scope) isOutput(name string) bool { return s.outputs[name] }

// uses returns the number of uses of a value: as an input of a node, as a captured
// value of a node's subgraphs, and as an output of the graph.
func (s *Scope) uses(name string) int {
	if s.outputs[name] {
		return s.users[name] + 1
	}
	return s.users[name]
}

package optimize

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Scope is one graph of a model as a pass sees it: the main graph, or one that an
// attribute of a node holds. What the graphs around it define is visible, as far
// as no name here hides it. A pass does not change the graph, and asks a Scope
// only about the graph as it was.
type Scope struct {
	Context
	Model *graph.Model // that the pass was given
	Graph *graph.Graph
	// Nodes are those of the graph whose operators the registry has and which have
	// as many inputs and outputs as these need, in an order in which they can run.
	// The planner reports others; no method returns them.
	Nodes []*graph.Node

	outer   *Scope
	names   *names
	inputs  []graph.Type // what is known of the graph's inputs when the file is silent
	defined map[string]bool
	inner   map[string]bool      // names that graphs within this one define
	fits    map[*graph.Node]bool // whether a node is one of Nodes
	makers  map[string]*graph.Node
	users   map[string][]*graph.Node // one for each time a node, or a graph within it, uses the value
	outputs map[string]bool
	known   map[string]*op.Value // nil until it is asked for
}

func newScope(c Context, m *graph.Model, g *graph.Graph, outer *Scope, n *names) *Scope {
	s := &Scope{
		Context: c, Model: m, Graph: g, outer: outer, names: n,
		defined: map[string]bool{}, inner: map[string]bool{}, outputs: map[string]bool{},
		makers: make(map[string]*graph.Node, len(g.Nodes)), users: make(map[string][]*graph.Node, len(g.Nodes)),
		fits: make(map[*graph.Node]bool, len(g.Nodes)),
	}
	define(g, s.defined)
	for _, n := range graph.Sorted(g.Nodes) {
		if _, _, err := c.Registry.Match(n); err == nil {
			s.Nodes = append(s.Nodes, n)
			s.fits[n] = true
			for _, name := range n.Outputs {
				s.makers[name] = n
			}
		}
		for _, name := range slices.Concat(n.Inputs, n.Captured()) {
			s.users[name] = append(s.users[name], n)
		}
		for _, sub := range subgraphs(n) {
			defineAll(sub, s.inner)
		}
	}
	delete(s.makers, "")
	for _, v := range g.Outputs {
		s.outputs[v.Name] = true
	}
	return s
}

// define adds the names that a graph itself defines.
func define(g *graph.Graph, set map[string]bool) {
	for _, v := range g.Inputs {
		set[v.Name] = true
	}
	for _, t := range g.Initializers {
		set[t.Name] = true
	}
	for _, t := range g.Sparse {
		set[t.Name] = true
	}
	for _, n := range g.Nodes {
		for _, name := range n.Outputs {
			set[name] = true
		}
	}
	delete(set, "")
}

// defineAll adds the names that a graph and those within it define.
func defineAll(g *graph.Graph, set map[string]bool) {
	define(g, set)
	for _, n := range g.Nodes {
		for _, sub := range subgraphs(n) {
			defineAll(sub, set)
		}
	}
}

// subgraphs returns the graphs that the node's attributes hold.
func subgraphs(n *graph.Node) []*graph.Graph {
	var list []*graph.Graph
	for _, a := range n.Attrs {
		list = append(list, a.Subgraphs()...)
	}
	return list
}

// names makes names that a model does not have.
type names struct {
	model   *graph.Model
	taken   map[string]bool // nil until a name is made
	made    map[string]int
	prefix  string // of symbols
	symbols int
}

func newNames(m *graph.Model) *names {
	n := &names{model: m, prefix: "#"}
	for slices.ContainsFunc(m.Graph.Inputs, n.has) {
		n.prefix += "#"
	}
	return n
}

// symbol returns an extent that is known to equal itself only.
func (n *names) symbol() graph.Dim {
	n.symbols++
	return graph.Symbol(fmt.Sprint(n.prefix, n.symbols))
}

// has reports whether an extent of a value contains the prefix of symbols.
func (n *names) has(v *graph.Value) bool { return slices.ContainsFunc(v.Type.Dims, n.in) }

func (n *names) in(d graph.Dim) bool {
	return slices.ContainsFunc(d.Symbols(), func(s string) bool { return strings.Contains(s, n.prefix) })
}

// without returns extents without those that contain symbols made here.
func (n *names) without(list []graph.Dim) []graph.Dim {
	list = slices.Clone(list)
	for i, d := range list {
		if n.in(d) {
			list[i] = graph.Unknown()
		}
	}
	return list
}

// fresh returns a name like another one, which no graph of the model has.
func (s *Scope) fresh(like string) string {
	n := s.names
	if n.taken == nil {
		n.taken, n.made = map[string]bool{}, map[string]int{}
		defineAll(n.model.Graph, n.taken)
	}
	for {
		n.made[like]++
		if name := fmt.Sprintf("%s.%d", like, n.made[like]); !n.taken[name] {
			n.taken[name] = true
			return name
		}
	}
}

// maker returns the node of Nodes that computes a value, or nil.
func (s *Scope) maker(name string) *graph.Node { return s.makers[name] }

// isOutput reports whether the graph has an output of that name, which must stay.
func (s *Scope) isOutput(name string) bool { return s.outputs[name] }

// uses is how often the value is used: by inputs of nodes, by nodes whose graphs
// take it from here, and as an output of the graph.
func (s *Scope) uses(name string) int {
	if s.outputs[name] {
		return len(s.users[name]) + 1
	}
	return len(s.users[name])
}

// user returns the node of Nodes that uses the value, as an input, if nothing else does,
// else nil.
func (s *Scope) user(name string) *graph.Node {
	if s.uses(name) != 1 || s.outputs[name] {
		return nil
	}
	if n := s.users[name][0]; s.fits[n] && slices.Contains(n.Inputs, name) {
		return n
	}
	return nil
}

// value returns what is known of a value here or around before anything runs;
// never nil. The kind is graph.NoType where not even the type is known.
func (s *Scope) value(name string) *op.Value {
	for ; s != nil; s = s.outer {
		if s.defined[name] {
			if s.known == nil {
				s.infer()
			}
			if v := s.known[name]; v != nil {
				return v
			}
			break
		}
	}
	return &op.Value{}
}

// constant returns the value of that name if it is the same in every run, else
// nil. It has an element for every one of the value, and need not be aligned.
func (s *Scope) constant(name string) *tensor.Tensor { return s.value(name).Const }

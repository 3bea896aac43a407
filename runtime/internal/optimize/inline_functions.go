package optimize

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// maxInlined bounds the nodes that functions may add to a graph. Nested calls let a
// short file describe exponentially many.
const maxInlined = 1 << 18

// inlineFunctions replaces every call of a function of the model by the function's
// nodes. A validated model has no recursive functions.
func inlineFunctions(s *Scope) (*Edit, error) {
	if len(s.Model.Functions) == 0 || s.outer != nil {
		return nil, nil // expanding the main graph expands its subgraphs
	}
	in := &inliner{functions: map[functionKey]*graph.Function{}}
	for _, f := range s.Model.Functions {
		in.functions[functionKey{f.Domain, f.Name, f.Overload}] = f
	}
	e := &Edit{Replace: map[*graph.Node][]*graph.Node{}}
	for _, n := range s.Graph.Nodes {
		nodes, err := in.expand(n)
		if err != nil {
			return nil, err
		}
		if len(nodes) != 1 || nodes[0] != n {
			e.Replace[n] = nodes
		}
	}
	return e, nil
}

type functionKey struct{ domain, name, overload string }

type inliner struct {
	functions map[functionKey]*graph.Function
	calls     int
	nodes     int
}

// expand returns the nodes that replace n. If n calls no function, it returns n.
func (in *inliner) expand(n *graph.Node) ([]*graph.Node, error) {
	f := in.functions[functionKey{n.Domain, n.Op, n.Overload}]
	if f == nil {
		return in.expandAttrs(n)
	}
	if len(n.Inputs) > len(f.Inputs) || len(n.Outputs) > len(f.Outputs) {
		return nil, graph.Errorf(graph.ErrFormat,
			"node %q passes %d inputs and %d outputs to function %s, which has %d and %d",
			n.Label(), len(n.Inputs), len(n.Outputs), f.Name, len(f.Inputs), len(f.Outputs))
	}
	in.calls++
	c := &call{names: map[string]string{}, attrs: map[string]*graph.Attr{},
		prefix: fmt.Sprintf("%s.%d/", f.Name, in.calls)}
	for i, name := range f.Inputs {
		c.names[name] = ""
		if i < len(n.Inputs) {
			c.names[name] = n.Inputs[i]
		}
	}
	for i, name := range f.Outputs {
		if i < len(n.Outputs) && n.Outputs[i] != "" {
			c.names[name] = n.Outputs[i]
		}
	}
	for _, a := range f.Defaults {
		c.attrs[a.Name] = a
	}
	for _, a := range n.Attrs {
		c.attrs[a.Name] = a
	}
	var list []*graph.Node
	for _, body := range f.Nodes {
		if in.nodes++; in.nodes > maxInlined {
			return nil, graph.Errorf(graph.ErrUnsupported, "functions expand to more than %d nodes", maxInlined)
		}
		nodes, err := in.expand(c.node(body))
		if err != nil {
			return nil, err
		}
		list = append(list, nodes...)
	}
	return list, nil
}

// expandAttrs expands calls in the subgraphs of n.
func (in *inliner) expandAttrs(n *graph.Node) ([]*graph.Node, error) {
	changed := *n
	changed.Attrs = nil
	same := true
	for _, a := range n.Attrs {
		b := *a
		b.Graphs = nil
		for _, g := range a.Subgraphs() {
			sub := *g
			sub.Nodes = nil
			for _, inner := range g.Nodes {
				nodes, err := in.expand(inner)
				if err != nil {
					return nil, err
				}
				same = same && len(nodes) == 1 && nodes[0] == inner
				sub.Nodes = append(sub.Nodes, nodes...)
			}
			if a.Kind == graph.AttrGraph {
				b.Graph = &sub
			} else {
				b.Graphs = append(b.Graphs, &sub)
			}
		}
		changed.Attrs = append(changed.Attrs, &b)
	}
	if same {
		return []*graph.Node{n}, nil
	}
	return []*graph.Node{&changed}, nil
}

// call binds the names and attributes of a function to the caller's.
type call struct {
	names  map[string]string
	attrs  map[string]*graph.Attr
	prefix string
}

// name returns the caller's name for a name of the function's body.
func (c *call) name(s string) string {
	if s == "" {
		return ""
	}
	if outer, ok := c.names[s]; ok {
		return outer
	}
	return c.prefix + s
}

// node returns a node of the body with the caller's names.
func (c *call) node(n *graph.Node) *graph.Node {
	r := *n
	r.Name = c.prefix + n.Label()
	r.Inputs = c.list(n.Inputs)
	r.Outputs = c.list(n.Outputs)
	r.Attrs = nil
	for _, a := range n.Attrs {
		if a.Ref != "" {
			value, ok := c.attrs[a.Ref]
			if !ok {
				continue // neither given nor a default: the node lacks the attribute
			}
			b := *value
			b.Name = a.Name
			r.Attrs = append(r.Attrs, &b)
			continue
		}
		b := *a
		b.Graphs = nil
		for _, g := range a.Subgraphs() {
			if a.Kind == graph.AttrGraph {
				b.Graph = c.graph(g)
			} else {
				b.Graphs = append(b.Graphs, c.graph(g))
			}
		}
		r.Attrs = append(r.Attrs, &b)
	}
	return &r
}

func (c *call) list(names []string) []string {
	out := make([]string, len(names))
	for i, s := range names {
		out[i] = c.name(s)
	}
	return out
}

// graph returns a subgraph of the body with the caller's names.
func (c *call) graph(g *graph.Graph) *graph.Graph {
	r := *g
	r.Inputs, r.Outputs, r.Values = c.values(g.Inputs), c.values(g.Outputs), c.values(g.Values)
	r.Initializers = nil
	for _, init := range g.Initializers {
		b := *init
		b.Name = c.name(init.Name)
		r.Initializers = append(r.Initializers, &b)
	}
	r.Sparse = nil
	for _, init := range g.Sparse {
		r.Sparse = append(r.Sparse, &graph.SparseInitializer{Name: c.name(init.Name), Tensor: init.Tensor})
	}
	r.Nodes = nil
	for _, n := range g.Nodes {
		r.Nodes = append(r.Nodes, c.node(n))
	}
	return &r
}

func (c *call) values(list []*graph.Value) []*graph.Value {
	out := make([]*graph.Value, len(list))
	for i, v := range list {
		b := *v
		b.Name = c.name(v.Name)
		out[i] = &b
	}
	return out
}

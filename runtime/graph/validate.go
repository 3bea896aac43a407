package graph

import "fmt"

// Bounds of the checks of Problems.
const (
	maxProblems = 100
	maxNesting  = 64   // graphs within graphs
	maxCalls    = 1000 // functions that call functions, in a chain
)

// Validate returns the first of the model's Problems, or nil.
func Validate(m *Model) error { return ValidateWithin(m, nil) }

// ValidateWithin is Validate that calls look for every node, and ends with its error. A nil
// look is not called.
func ValidateWithin(m *Model, look func() error) error {
	c := &checker{file: m.File, look: look}
	c.model(m)
	switch {
	case c.ended != nil:
		return &Error{Stage: "validate", File: m.File, Offset: -1, Err: c.ended}
	case len(c.problems) > 0:
		return c.problems[0]
	}
	return nil
}

// Problems returns the errors in the names of a model: names defined twice or never, values used
// before they are computed or computed from themselves, outputs that no node computes, functions
// that call themselves, and inputs with an initializer of another type. The list ends after 100
// entries. A name may hide one of a surrounding graph.
func Problems(m *Model) []error {
	c := &checker{file: m.File}
	c.model(m)
	return c.problems
}

// model checks the graph and the functions of a model.
func (c *checker) model(m *Model) {
	c.calls(m.Functions)
	if m.Graph == nil {
		c.report(nil, "model has no graph")
	} else {
		c.graph(m.Graph, nil)
	}
	for _, f := range m.Functions {
		c.function(f)
	}
}

// checker collects problems.
type checker struct {
	file     string
	problems []error
	in       *Function       // the function under check
	attrs    map[string]bool // the attributes of that function
	depth    int

	look  func() error // whether to go on; nil for always
	ended error        // of look
}

// ends reports whether look has ended the check, after asking it.
func (c *checker) ends() bool {
	if c.look != nil && c.ended == nil {
		c.ended = c.look()
	}
	return c.ended != nil
}

// report adds a problem of node n, or of no node if n is nil.
func (c *checker) report(n *Node, format string, args ...any) {
	if len(c.problems) >= maxProblems {
		return
	}
	e := &Error{Stage: "validate", File: c.file, Offset: -1, Kind: ErrFormat, Err: fmt.Errorf(format, args...)}
	if c.in != nil {
		e.Err = fmt.Errorf("function %q: %w", c.in.Name, e.Err)
	}
	if n != nil {
		e.Node, e.Op = n.Label(), n.OpName()
	}
	c.problems = append(c.problems, e)
}

// level holds the names of one graph while its nodes are walked.
type level struct {
	names map[string]bool // defined names; true once the value is computed
	node  *Node           // the node under check
	late  []lateUse
	outer *level
}

// lateUse is a node that uses a value of its graph before it is computed.
type lateUse struct {
	node *Node
	name string
}

// add defines a name. ready means that its value exists from the start.
func (c *checker) add(l *level, n *Node, what, name string, ready bool) {
	if name == "" {
		c.report(n, "%s without a name", what)
		return
	}
	if _, twice := l.names[name]; twice {
		c.report(n, "%s %q is defined more than once", what, name)
		return
	}
	l.names[name] = ready
}

func (c *checker) graph(g *Graph, outer *level) {
	if c.depth++; c.depth > maxNesting {
		c.report(nil, "graphs nested more than %d deep", maxNesting)
	} else {
		l := &level{names: make(map[string]bool, len(g.Nodes)+len(g.Initializers)+len(g.Inputs)), outer: outer}
		c.initial(g, l)
		c.nodes(g.Nodes, l)
		for _, v := range g.Outputs {
			c.output(v.Name, l)
		}
	}
	c.depth--
}

// initial defines initializers and inputs. An input may have one initializer, of its declared type.
func (c *checker) initial(g *Graph, l *level) {
	for _, t := range g.Initializers {
		c.add(l, nil, "initializer", t.Name, true)
	}
	for _, t := range g.Sparse {
		c.add(l, nil, "sparse initializer", t.Name, true)
	}
	inputs := level{names: make(map[string]bool, len(g.Inputs))}
	declared := map[string]Type{}
	for _, v := range g.Inputs {
		c.add(&inputs, nil, "input", v.Name, true)
		if l.names[v.Name] {
			declared[v.Name] = v.Type
		}
		l.names[v.Name] = true
	}
	if len(declared) == 0 {
		return
	}
	for _, t := range g.Initializers {
		if t.Tensor != nil {
			c.initialType(t.Name, declared[t.Name], TensorOf(t.Tensor.DType(), DimsOf(t.Tensor.Shape())))
		}
	}
	for _, t := range g.Sparse {
		if t.Tensor != nil && t.Tensor.Values != nil {
			c.initialType(t.Name, declared[t.Name], TensorOf(t.Tensor.Values.DType(), DimsOf(t.Tensor.Shape)))
		}
	}
}

// initialType checks an initializer against the declared type of the input of its name.
func (c *checker) initialType(name string, declared, has Type) {
	if declared.Kind == NoType {
		return
	}
	if declared.Kind == SparseType {
		declared.Kind = TensorType
	}
	if !declared.SameElements(has) || !declared.Dims.admit(has.Dims) {
		c.report(nil, "input %q is declared to be %v, and its initializer is %v", name, declared, has)
	}
}

func (c *checker) nodes(nodes []*Node, l *level) {
	for _, n := range nodes {
		if c.ends() {
			return
		}
		for _, name := range n.Outputs {
			if name != "" {
				c.add(l, n, "output", name, false)
			}
		}
	}
	for _, n := range nodes {
		if c.ends() {
			return
		}
		l.node = n
		c.node(n, l)
		for _, name := range n.Outputs {
			if name != "" {
				l.names[name] = true
			}
		}
	}
	l.node = nil
	c.order(nodes, l.late)
}

// order reports values used too early. If there are cycles, it reports those instead.
func (c *checker) order(nodes []*Node, late []lateUse) {
	if len(late) == 0 {
		return
	}
	s := sorter{nodes: nodes, maker: makers(nodes), state: make([]visit, len(nodes))}
	for i := range nodes {
		s.from(i)
	}
	for _, i := range s.cycles {
		c.report(nodes[i], "node is part of a cycle: it needs a value computed from its outputs")
	}
	if len(s.cycles) > 0 {
		return
	}
	for _, u := range late {
		c.report(u.node, "input %q is computed by a later node", u.name)
	}
}

func (c *checker) node(n *Node, l *level) {
	if n.Op == "" {
		c.report(n, "node has no operator")
	}
	for _, name := range n.Inputs {
		if name != "" {
			c.use(n, name, l)
		}
	}
	if name, ok := repeated(n.Attrs); ok {
		c.report(n, "attribute %q is given more than once", name)
	}
	for _, a := range n.Attrs {
		if a.Ref != "" {
			c.ref(n, a)
		}
		for _, g := range a.Subgraphs() {
			c.graph(g, l)
		}
	}
}

// repeated returns the name of an attribute that occurs twice.
func repeated(attrs []*Attr) (string, bool) {
	if len(attrs) <= 1 {
		return "", false
	}
	met := make(map[string]bool, len(attrs))
	for _, a := range attrs {
		if met[a.Name] {
			return a.Name, true
		}
		met[a.Name] = true
	}
	return "", false
}

// use looks a name up from the innermost graph outwards. If an outer graph computes it only later,
// the outer node's use is late.
func (c *checker) use(n *Node, name string, l *level) {
	for ; l != nil; l = l.outer {
		ready, defined := l.names[name]
		if !defined {
			continue
		}
		if !ready {
			l.late = append(l.late, lateUse{l.node, name})
		}
		return
	}
	c.report(n, "input %q is defined nowhere", name)
}

// ref checks an attribute that refers to one of the function.
func (c *checker) ref(n *Node, a *Attr) {
	switch {
	case c.in == nil:
		c.report(n, "attribute %q refers to %q of a function and stands in none", a.Name, a.Ref)
	case !c.attrs[a.Ref]:
		c.report(n, "attribute %q refers to %q, which the function does not have", a.Name, a.Ref)
	}
}

// output checks an output of a graph. An output of a subgraph may be a value of a surrounding
// graph.
func (c *checker) output(name string, l *level) {
	if name == "" {
		c.report(nil, "output without a name")
		return
	}
	for ; l != nil; l = l.outer {
		if ready, defined := l.names[name]; defined {
			if !ready {
				l.late = append(l.late, lateUse{l.node, name})
			}
			return
		}
	}
	c.report(nil, "output %q is computed by no node", name)
}

func (c *checker) function(f *Function) {
	c.in = f
	defer func() { c.in = nil }()
	c.attrs = make(map[string]bool, len(f.Attrs)+len(f.Defaults))
	for _, name := range f.Attrs {
		c.attrs[name] = true
	}
	for _, a := range f.Defaults {
		c.attrs[a.Name] = true
	}
	if f.Name == "" {
		c.report(nil, "function without a name")
	}
	l := &level{names: make(map[string]bool, len(f.Inputs)+len(f.Nodes))}
	for _, name := range f.Inputs {
		c.add(l, nil, "input", name, true)
	}
	c.nodes(f.Nodes, l)
	for _, name := range f.Outputs {
		c.output(name, l)
	}
}

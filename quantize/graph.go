package quantize

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// product is a node that reads a constant matrix.
type product struct {
	node    *graph.Node
	weight  *graph.Initializer
	input   int  // of the node
	columns bool // the weight has a column for each output, not a row
	table   bool // Gather
	filters bool // Conv: the weight has a filter for each output
}

// nodes quantises the weights of a model's nodes, also of those within bodies.
func (j *job) nodes(out *graph.Model) error {
	g := j.graph
	if out.IR > 0 && out.IR < overridableIR {
		withoutDefaults(out, g)
	}
	e := &editor{job: j, out: out, constants: constantsOf(g), names: graph.NamesOf(j.source.Graph),
		made: map[form]*linear{}, codes: map[form]*nbits{}, coded: map[*graph.Node]*linear{}}
	found, open := e.count(g, nil), overridable(g)
	switch {
	case !found:
		return j.noWeights(open)
	case len(open) > 0:
		j.report.Warnings = append(j.report.Warnings, fmt.Sprintf("weights that are inputs too stay as they are: %s", named(open)))
	}
	if err := e.scope(g, nil, false); err != nil {
		return err
	}
	if j.Ranges != nil {
		if err := e.activations(); err != nil {
			return err
		}
		e.warnSaturation()
	}
	g.Nodes = e.nodes
	g.Initializers = append(used(g, e.nodes, j.source.Graph), e.added...)
	return nil
}

// within returns the constants that nodes of g read. outer are those of the graph around g.
func within(g *graph.Graph, outer map[string]*graph.Initializer) map[string]*graph.Initializer {
	names := maps.Clone(outer)
	for _, v := range g.Inputs {
		delete(names, v.Name)
	}
	if names == nil {
		return constantsOf(g)
	}
	maps.Copy(names, constantsOf(g))
	return names
}

// count adds the elements of weights to the total. It reports whether there are any.
func (e *editor) count(g *graph.Graph, outer map[string]*graph.Initializer) (found bool) {
	names := within(g, outer)
	for _, n := range g.Nodes {
		for _, a := range n.Attrs {
			for _, body := range a.Subgraphs() {
				found = e.count(body, names) || found
			}
		}
		if p, ok := productOf(n, names); ok {
			found = true
			if !e.counted(p.weight) {
				e.total += int64(p.weight.Tensor.Len())
			}
		}
	}
	return found
}

// scope sets e.nodes to the nodes of g with quantised weights. Constants, and the nodes that make
// numbers of them, are in the graph around all bodies.
func (e *editor) scope(g *graph.Graph, outer map[string]*graph.Initializer, body bool) error {
	names := within(g, outer)
	e.nodes = nil
	for _, n := range g.Nodes {
		n, err := e.bodies(n, names)
		if err != nil {
			return err
		}
		if !body {
			e.nodes, e.hoisted = append(e.nodes, e.hoisted...), nil
		}
		p, ok := productOf(n, names)
		if !ok {
			e.nodes = append(e.nodes, n)
			continue
		}
		if err := e.replace(p, body); err != nil {
			return err
		}
	}
	return nil
}

// bodies returns a node with quantised weights in its bodies.
func (e *editor) bodies(n *graph.Node, names map[string]*graph.Initializer) (*graph.Node, error) {
	if !slices.ContainsFunc(n.Attrs, func(a *graph.Attr) bool { return len(a.Subgraphs()) > 0 }) {
		return n, nil
	}
	around := e.nodes
	defer func() { e.nodes = around }()
	body := func(g *graph.Graph) (*graph.Graph, error) {
		if err := e.scope(g, names, true); err != nil {
			return nil, err
		}
		c := *g
		c.Nodes = e.nodes
		c.Initializers = used(&c, e.nodes, g)
		return &c, nil
	}
	c := *n
	c.Attrs = slices.Clone(n.Attrs)
	for i, a := range c.Attrs {
		var err error
		b := *a
		if a.Graph != nil {
			if b.Graph, err = body(a.Graph); err != nil {
				return nil, err
			}
		}
		b.Graphs = slices.Clone(a.Graphs)
		for k, g := range a.Graphs {
			if b.Graphs[k], err = body(g); err != nil {
				return nil, err
			}
		}
		c.Attrs[i] = &b
	}
	return &c, nil
}

// productOf returns the constant matrix or the filters that a node reads. If it reads none, ok is
// false.
func productOf(n *graph.Node, constants map[string]*graph.Initializer) (p product, ok bool) {
	p = product{node: n, input: 1, columns: true}
	whole := func(name string, otherwise int64) bool {
		a := n.Attr(name)
		return a == nil || a.Kind == graph.AttrInt && a.Int == otherwise
	}
	one := func(name string) bool {
		a := n.Attr(name)
		return a == nil || a.Kind == graph.AttrFloat && a.Float == 1
	}
	switch {
	case n.Domain != "":
		return p, false
	case n.Op == "MatMul":
	case n.Op == "Gemm" && whole("transA", 0) && one("alpha") && one("beta"):
		p.columns = whole("transB", 0)
	case n.Op == "Gather" && whole("axis", 0):
		p.input, p.table, p.columns = 0, true, false
	case n.Op == "Conv":
		p.columns, p.filters = false, true
	default:
		return p, false
	}
	if len(n.Inputs) <= p.input {
		return p, false
	}
	if p.weight = constants[n.Inputs[p.input]]; p.weight == nil {
		return p, false
	}
	t := p.weight.Tensor
	axes := len(t.Shape())
	return p, (axes == 2 || p.filters && axes > 2) && t.Len() > 0 && t.DType().IsFloat() && t.DType().Bits() >= 16
}

// size returns the rows and the elements of a row, as the product takes them.
func (p *product) size() (n, k int) {
	s := p.weight.Tensor.Shape()
	if p.columns {
		return s[1], s[0]
	}
	return s[0], p.weight.Tensor.Len() / s[0]
}

// rows returns the matrix of a product, with the importance of its columns.
func (e *editor) rows(p product) (*rows, error) {
	n, k := p.size()
	read, err := reader(p.weight.Tensor, k)
	if p.columns {
		read, err = columns(p.weight.Tensor, n)
	}
	if err != nil {
		return nil, graph.Errorf(graph.ErrUnsupported, "weight %q: %w", p.weight.Name, err)
	}
	weigh, err := e.Importance.of(p.weight.Name, tensor.Shape{n, k})
	return &rows{name: p.weight.Name, source: p.weight.Tensor, n: n, k: k, read: read, weigh: weigh}, err
}

// editor makes the nodes and the constants of the result.
type editor struct {
	*job
	out   *graph.Model
	nodes []*graph.Node
	added []*graph.Initializer
	names *graph.Names
	seen  map[*graph.Initializer]bool
	made  map[form]*linear
	codes map[form]*nbits

	hoisted []*graph.Node // of weights in bodies, which go before the node with the body

	constants  map[string]*graph.Initializer
	coded      map[*graph.Node]*linear // that read weights of int8
	saturating int                     // weights
}

// counted reports whether a weight was met before.
func (e *editor) counted(x *graph.Initializer) bool {
	if e.seen == nil {
		e.seen = map[*graph.Initializer]bool{}
	}
	met := e.seen[x]
	e.seen[x] = true
	return met
}

// constant adds a constant and returns its name.
func (e *editor) constant(x *graph.Initializer) string {
	x.Name = e.names.New(x.Name)
	e.added = append(e.added, x)
	return x.Name
}

// used returns the initializers of g that nodes, their bodies or outputs read, and those that nothing
// read before.
func used(g *graph.Graph, nodes []*graph.Node, before *graph.Graph) (kept []*graph.Initializer) {
	reads := func(nodes []*graph.Node) map[string]bool {
		names := map[string]bool{}
		for _, n := range nodes {
			for _, v := range slices.Concat(n.Inputs, n.Captured()) {
				names[v] = true
			}
		}
		return names
	}
	now, then := reads(nodes), reads(before.Nodes)
	for _, v := range slices.Concat(g.Inputs, g.Outputs) {
		now[v.Name] = true
	}
	for _, x := range g.Initializers {
		if now[x.Name] || !then[x.Name] {
			kept = append(kept, x)
		}
	}
	return kept
}

// form is a weight as products of one kind read it, for a type. Names of weights are not enough: bodies
// may have different ones of the same name.
type form struct {
	weight         *graph.Initializer
	columns, table bool
	to             string
}

// replace adds the nodes that take the place of a product, which may be in a body.
func (e *editor) replace(p product, body bool) error {
	to, _ := e.wanted(p.weight.Name)
	if p.node.Name != "" && to.name == e.Type.name {
		to, _ = e.wanted(p.node.Name)
	}
	var done bool
	var err error
	switch {
	case to.keep:
		e.kept(p, "kept by a rule", 0)
	case to.bits != 0 && p.filters:
		e.kept(p, "filters of Conv have no form in bits; int4 to uint8 are for them", 0)
	case to.bits != 0:
		done, err = e.nbits(p, to)
	default:
		done, err = e.linear(p, to, body)
	}
	if !done && err == nil {
		e.nodes = append(e.nodes, p.node)
	}
	return err
}

// kept reports a weight that stays as it is, once.
func (e *editor) kept(p product, note string, lost float64) {
	t := p.weight.Tensor
	bytes := int64(t.Size())
	l := Layer{Name: p.weight.Name, Shape: t.Shape(), From: t.DType().String(), To: t.DType().String(), Bytes: bytes,
		Before: bytes, Bits: bitsOf(bytes, t.Len()), Error: lost, Note: note}
	for _, old := range e.report.Layers {
		if old.Name == l.Name && old.Note == l.Note {
			return
		}
	}
	e.report.Layers = append(e.report.Layers, l)
}

// changed reports a weight that has become other constants.
func (e *editor) changed(p product, to Type, s sums, constants ...*graph.Initializer) {
	t := p.weight.Tensor
	l := Layer{Name: p.weight.Name, Shape: t.Shape(), From: t.DType().String(), To: to.name, Before: int64(t.Size())}
	for _, x := range constants {
		if x != nil {
			l.Bytes += int64(x.Tensor.Size())
		}
	}
	l.Bits = bitsOf(l.Bytes, t.Len())
	e.add(l, s)
}

// opset makes the model import version 1 of a domain.
func (e *editor) opset(domain string) {
	for _, o := range e.out.Opsets {
		if o.Domain == domain {
			return
		}
	}
	e.out.Opsets = append(slices.Clone(e.out.Opsets), graph.Opset{Domain: domain, Version: 1})
}

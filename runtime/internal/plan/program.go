// Package plan decides, before anything runs, the order of the steps and the place of every value.
// A Program is a graph bound to operators. A Plan is a Program for inputs of known extents. Both
// are immutable and safe for concurrent use.
package plan

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Program is a graph with nodes bound to operators and values numbered. Nodes are in an order in
// which they can run.
type Program struct {
	File    string
	Inner   bool           // the program belongs to a body
	Names   []string       // of values, by id
	Inputs  []int          // ids of the values that a run takes
	Decl    []*graph.Value // the model's declarations of Inputs
	Outputs []int          // ids of the results
	Nodes   []*Node

	values  []*op.Value    // by id: facts known without the extents of the inputs
	results []*graph.Value // the model's declarations of Outputs
	device  device.Device
	plans   planCache
	decided atomic.Int64 // plans made for elements that decide extents
}

// Node is one bound node. Id -1 stands for an operand left out.
type Node struct {
	*graph.Node
	Op      op.Op
	Row     *op.Row
	In, Out []int // In has the node's inputs, then the captures of Bodies
	Bodies  map[string]*Body
}

// Body is a graph in an attribute of a node. Its program takes the graph's own inputs, then the
// values that it captures from the graph around it.
type Body struct {
	*Program
	Captures []int // ids in the graph around it
}

// inputs returns the ids of the node's own inputs.
func (n *Node) inputs() []int { return n.In[:len(n.Inputs)] }

// Compile binds the graph of a validated model to operators. Initializers are constants, even if
// they are defaults of inputs.
func Compile(m *graph.Model, registry *op.Registry, dev device.Device) (*Program, error) {
	c := &compiler{Program: &Program{File: m.File, device: dev}, registry: registry, ids: map[string]int{}}
	return c.Program, c.compile(m.Graph, nil)
}

type compiler struct {
	*Program
	registry *op.Registry
	ids      map[string]int
	outer    *compiler // of the graph around, or nil
	captures []int     // ids there, one for each input after the graph's own
	check    *check    // of the graph; nil unless Check compiles it
}

// lookup finds a name here or in the graphs around. A name found there becomes a constant or an
// input of this graph.
func (c *compiler) lookup(name string) (id int, ok bool) {
	if id, ok = c.ids[name]; ok || c.outer == nil {
		return id, ok
	}
	from, ok := c.outer.lookup(name)
	if !ok {
		return 0, false
	}
	v := c.outer.values[from]
	if v.Const != nil {
		return c.define(name, v), true
	}
	id = c.define(name, &op.Value{Type: v.Type})
	c.Inputs = append(c.Inputs, id)
	c.captures = append(c.captures, from)
	return id, true
}

func (c *compiler) define(name string, v *op.Value) int {
	id := len(c.Names)
	c.ids[name] = id
	c.Names = append(c.Names, name)
	c.values = append(c.values, v)
	return id
}

// compile binds a graph. types are used for inputs without a declared type.
func (c *compiler) compile(g *graph.Graph, types []graph.Type) error {
	nodes := g.Live()
	if err := c.known(nodes); err != nil {
		return err
	}
	if c.check != nil {
		nodes = c.check.begin(g, nodes)
	}
	if len(g.Sparse) > 0 {
		return c.fail(nil, graph.Errorf(graph.ErrUnsupported, "initializer %q is sparse; store it as a dense tensor",
			g.Sparse[0].Name))
	}
	for _, init := range g.Initializers {
		c.define(init.Name, constant(init.Tensor))
	}
	for i, in := range g.Inputs {
		if _, ok := c.ids[in.Name]; ok {
			continue
		}
		v := *in
		if v.Type.Kind == graph.NoType && i < len(types) {
			v.Type = types[i]
		}
		if v.Type.Kind == graph.NoType {
			return c.fail(nil, graph.Errorf(graph.ErrFormat, "input %q has no type", in.Name))
		}
		given := v.Type
		if c.outer != nil {
			given = loose(given)
		}
		c.Inputs = append(c.Inputs, c.define(v.Name, &op.Value{Type: given}))
		c.Decl = append(c.Decl, &v)
	}
	for _, n := range nodes {
		if c.check != nil && c.check.skips(c, n) {
			continue
		}
		if err := c.node(n); err != nil {
			return c.fail(n, err)
		}
	}
	for _, out := range g.Outputs {
		id, ok := c.lookup(out.Name)
		if !ok {
			return c.fail(nil, graph.Errorf(graph.ErrFormat, "output %q is computed by no node", out.Name))
		}
		if c.check != nil {
			if err := c.check.declared(out.Name, c.values[id].Type); err != nil {
				return c.fail(nil, err)
			}
		}
		c.Outputs = append(c.Outputs, id)
	}
	c.results = g.Outputs
	return nil
}

// known returns an error for the first node with an operator that the registry lacks. The message
// also names the other missing operators.
func (c *compiler) known(nodes []*graph.Node) error {
	var first *graph.Node
	var cause error
	var others []string
	for _, n := range nodes {
		_, _, err := c.registry.Find(n)
		switch {
		case err == nil:
		case first == nil:
			first, cause = n, err
		case n.OpName() != first.OpName() && !slices.Contains(others, n.OpName()):
			others = append(others, n.OpName())
		}
	}
	if first == nil {
		return nil
	}
	if others != nil {
		cause = fmt.Errorf("%w; the model also needs %s", cause, strings.Join(others, ", "))
	}
	return c.fail(first, cause)
}

func constant(t *tensor.Tensor) *op.Value {
	return &op.Value{Type: graph.TensorOf(t.DType(), graph.DimsOf(t.Shape())), Const: t}
}

// node binds one node and defines its outputs.
func (c *compiler) node(n *graph.Node) error {
	o, row, err := c.registry.New(n)
	if err != nil {
		return err
	}
	b := &Node{Node: n, Op: o, Row: row, In: make([]int, len(n.Inputs)), Out: make([]int, len(n.Outputs))}
	in := make([]*op.Value, len(n.Inputs))
	for i, name := range n.Inputs {
		b.In[i] = -1
		if name == "" {
			continue
		}
		id, ok := c.lookup(name)
		if !ok {
			return graph.Errorf(graph.ErrFormat, "input %d, %q, is computed by no node", i, name)
		}
		b.In[i], in[i] = id, c.values[id]
	}
	if err := row.CheckTypes(in); err != nil {
		return err
	}
	if err := c.bodies(b, in); err != nil {
		return err
	}
	out, err := b.infer(in, c.values)
	if err != nil {
		return fmt.Errorf("%w; inputs %s", err, describe(in))
	}
	for i, name := range n.Outputs {
		b.Out[i] = -1
		if name == "" {
			continue
		}
		if _, dup := c.ids[name]; dup {
			return graph.Errorf(graph.ErrFormat, "output %d, %q, is defined twice", i, name)
		}
		if c.check != nil {
			if err := c.check.declared(name, out[i].Type); err != nil {
				return err
			}
		}
		b.Out[i] = c.define(name, out[i])
	}
	c.Nodes = append(c.Nodes, b)
	return nil
}

// loose returns a type without extents. A body may be given other extents in each call, even if the
// file declares extents for the first.
func loose(t graph.Type) graph.Type {
	t.Dims = nil
	return t
}

// bodies binds the graphs that the node's attributes hold.
func (c *compiler) bodies(b *Node, in []*op.Value) error {
	for _, a := range b.Attrs {
		if len(a.Graphs) > 0 {
			return graph.Errorf(graph.ErrUnsupported, "attribute %q holds several graphs", a.Name)
		}
		if a.Kind != graph.AttrGraph {
			continue
		}
		var types []graph.Type
		if t, ok := b.Op.(op.BodyTyper); ok {
			var used bool
			if types, used = t.BodyTypes(a.Name, in); !used {
				continue
			}
		}
		sub := &compiler{Program: &Program{File: c.File, Inner: true, device: c.device}, registry: c.registry,
			ids: map[string]int{}, outer: c}
		if c.check != nil {
			sub.check = &check{unrun: c.check.unrun}
		}
		if err := sub.compile(a.Graph, types); err != nil {
			return fmt.Errorf("graph %q: %w", a.Name, err)
		}
		if b.Bodies == nil {
			b.Bodies = map[string]*Body{}
		}
		b.Bodies[a.Name] = &Body{sub.Program, sub.captures}
		if c.check != nil {
			c.check.noteUnrun(a.Graph, b.Bodies[a.Name])
		}
		b.In = append(b.In, sub.captures...)
	}
	return nil
}

// Fail returns an error that names the node at which a stage failed. Only the outermost graph adds
// file and stage, so that they appear once.
func (p *Program) Fail(stage string, n *graph.Node, err error) error {
	e := &graph.Error{Stage: stage, File: p.File, Offset: -1, Err: err}
	if p.Inner {
		e.Stage, e.File = "", ""
	}
	if n != nil {
		e.Node, e.Op = n.Label(), n.OpName()
	}
	return e
}

func (p *Program) fail(n *graph.Node, err error) error { return p.Fail("plan", n, err) }

// describe lists the types of operands for messages.
func describe(in []*op.Value) string {
	parts := make([]string, len(in))
	for i, v := range in {
		parts[i] = "none"
		if v != nil {
			parts[i] = v.Type.String()
		}
	}
	return strings.Join(parts, ", ")
}

// Type returns the type of a value as far as the model alone determines it.
func (p *Program) Type(id int) graph.Type { return p.values[id].Type }

// Package outline describes models for readers: the types of values, the weights and the work of
// nodes, and groups of nodes by the scopes of their names and by blocks that repeat.
package outline

import (
	"context"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Outline is the graphs of a model: the main graph first, then the graphs of nodes and functions.
type Outline struct {
	Graphs []*Graph
	Unused []*Weight // weights that no node takes
}

// Graph is a graph with the nodes in an order in which they can run.
type Graph struct {
	*graph.Graph
	// Path is empty for the main graph. For the graph of a node it is NODE.ATTRIBUTE of each node
	// around it, outermost first, with " > " between them, as in a profile; for a function its name.
	Path  string
	Nodes []*Node
	Root  *Group // all nodes that are no constants

	outer     *Graph
	types     map[string]*op.Value
	constants map[string]bool
	makers    map[string]int   // nodes by the values that they make
	users     map[string][]int // nodes by the values that they use
	inputs    map[string]bool
	outputs   map[string]bool
}

// Node is a node with its place in the model.
type Node struct {
	*graph.Node
	Bodies  []Body
	Weights []*Weight // weights that no node before takes
	// Constant reports whether the node computes from constants alone: it has no inputs and its only
	// attribute is its value, or all its inputs are constants, every run gives the same, and it makes no
	// output of the graph.
	Constant bool
	// Work is the multiplications and additions of a convolution, a product or a recurrent layer; 0
	// for other operators, and if an extent is not known.
	Work float64
	// Product and Elementwise report whether the operator multiplies and adds, or computes element by
	// element.
	Product, Elementwise bool

	before []int // nodes that make its inputs
	scope  []string
}

// Body is a graph of a node, by its number in the outline. Name is its attribute, or "function".
type Body struct {
	Name  string
	Graph int
}

// Weight is a constant of a graph or of an attribute.
type Weight struct {
	Name   string
	Tensor *tensor.Tensor // nil for a list of an attribute
	Count  int            // parameters: elements, unless they are int64, bool or text
	Bytes  int
}

// Options are facts that a file leaves open.
type Options struct {
	Shapes map[string][]int // extents of inputs of the main graph
}

// Of returns the outline of a model. If ctx is done, it returns the error of ctx.
func Of(ctx context.Context, m *graph.Model, o Options) (*Outline, error) {
	b := &builder{ctx: ctx, options: o, out: &Outline{}, functions: map[graph.FunctionID]*function{}, taken: map[any]bool{}}
	for _, f := range m.Functions {
		b.functions[f.ID()] = &function{f, -1}
	}
	if _, err := b.graph("", m.Graph, nil); err != nil {
		return nil, err
	}
	for _, w := range m.Graph.Initializers {
		if !b.taken[w.Tensor] {
			b.out.Unused = append(b.out.Unused, weightOf(w.Name, w.Tensor))
		}
	}
	return b.out, nil
}

// builder is the state of Of.
type builder struct {
	ctx       context.Context
	options   Options
	out       *Outline
	functions map[graph.FunctionID]*function
	taken     map[any]bool // tensors and attributes that a node has
}

// function is a function with the number of its graph, -1 before it has one.
type function struct {
	*graph.Function
	number int
}

// graph adds a graph and returns its number.
func (b *builder) graph(path string, g *graph.Graph, outer *Graph) (int, error) {
	out := &Graph{Graph: g, Path: path, outer: outer, types: map[string]*op.Value{}, constants: map[string]bool{},
		makers: map[string]int{}, users: map[string][]int{}, inputs: map[string]bool{}, outputs: map[string]bool{}}
	number := len(b.out.Graphs)
	b.out.Graphs = append(b.out.Graphs, out)
	b.declare(out, number == 0)
	for _, v := range g.Outputs {
		out.outputs[v.Name] = true
	}
	for i, n := range graph.Sorted(g.Nodes) {
		if err := b.ctx.Err(); err != nil {
			return 0, err
		}
		if err := b.node(out, i, n); err != nil {
			return 0, err
		}
	}
	for _, v := range g.Inputs {
		out.inputs[v.Name] = !out.constants[v.Name]
	}
	return number, out.group(b.ctx)
}

// declare notes the types that the graph itself has.
func (b *builder) declare(g *Graph, main bool) {
	for _, list := range [][]*graph.Value{g.Values, g.Outputs, g.Inputs} {
		for _, v := range list {
			g.types[v.Name] = &op.Value{Type: v.Type}
			if shape, ok := b.options.Shapes[v.Name]; main && ok && v.Type.Kind == graph.TensorType {
				g.types[v.Name] = &op.Value{Type: graph.TensorOf(v.Type.DType, graph.DimsOf(shape))}
			}
		}
	}
	for _, w := range g.Initializers {
		g.types[w.Name] = op.Known(w.Tensor)
		g.constants[w.Name] = true
	}
	for _, w := range g.Sparse {
		g.constants[w.Name] = true
	}
}

// node adds a node with its graphs.
func (b *builder) node(g *Graph, i int, n *graph.Node) error {
	row, _, err := standard.Registry().Find(n)
	found := err == nil
	out := &Node{Node: n, Constant: isConstant(n) || found && !row.Impure && b.derived(g, n)}
	g.Nodes = append(g.Nodes, out)
	sound := g.infer(n)
	for _, name := range n.Outputs {
		if name != "" {
			g.makers[name] = i
			g.constants[name] = out.Constant
		}
	}
	for _, name := range slices.Concat(n.Inputs, n.Captured()) {
		if list := g.users[name]; name != "" && (len(list) == 0 || list[len(list)-1] != i) {
			g.users[name] = append(list, i)
		}
		if maker, ok := g.makers[name]; ok && maker != i && !g.Nodes[maker].Constant && !slices.Contains(out.before, maker) {
			out.before = append(out.before, maker)
		}
	}
	b.weigh(g, out)
	if found {
		out.Product, out.Elementwise = row.Work != nil, row.Elementwise
		if row.Work != nil && sound {
			out.Work = g.work(n, row)
		}
	}
	return b.bodies(g, out)
}

// bodies adds the graphs of a node's attributes, and of the function that it calls.
func (b *builder) bodies(g *Graph, n *Node) error {
	for _, a := range n.Attrs {
		for _, body := range a.Subgraphs() {
			path := n.Label() + "." + a.Name
			if g.Path != "" {
				path = g.Path + " > " + path
			}
			number, err := b.graph(path, body, g)
			if err != nil {
				return err
			}
			n.Bodies = append(n.Bodies, Body{a.Name, number})
		}
	}
	f := b.functions[n.Callee()]
	if f == nil {
		return nil
	}
	if f.number < 0 {
		// A function that calls itself is an error of the model; its graph is listed once.
		f.number = len(b.out.Graphs)
		body := &graph.Graph{Name: f.Name, Inputs: named(f.Inputs), Outputs: named(f.Outputs), Nodes: f.Nodes, Values: f.Values}
		if _, err := b.graph(f.Name, body, nil); err != nil {
			return err
		}
	}
	n.Bodies = append(n.Bodies, Body{"function", f.number})
	return nil
}

func named(names []string) []*graph.Value {
	list := make([]*graph.Value, len(names))
	for i, name := range names {
		list[i] = &graph.Value{Name: name}
	}
	return list
}

// isConstant reports whether a node has no inputs, and its only attribute is its value.
func isConstant(n *graph.Node) bool {
	return len(n.Inputs) == 0 && len(n.Outputs) == 1 && len(n.Attrs) == 1 &&
		(strings.HasPrefix(n.Attrs[0].Name, "value") || n.Attrs[0].Kind == graph.AttrSparse)
}

// derived reports whether a node has inputs, all of them constants, and makes no output of the graph.
// Nodes with graphs are not derived.
func (b *builder) derived(g *Graph, n *graph.Node) bool {
	constant := false
	for _, name := range n.Inputs {
		if name != "" && !g.IsConstant(name) {
			return false
		}
		constant = constant || name != ""
	}
	nested := func(a *graph.Attr) bool { return a.Ref != "" || a.Subgraphs() != nil }
	return constant && b.functions[n.Callee()] == nil && !slices.ContainsFunc(n.Attrs, nested) &&
		!slices.ContainsFunc(n.Outputs, g.IsOutput)
}

// Type returns what is known of a value that nodes of the graph see, or nil.
func (g *Graph) Type(name string) *op.Value {
	for ; g != nil; g = g.outer {
		if v := g.types[name]; v != nil {
			return v
		}
	}
	return nil
}

// IsConstant reports whether a value is an initializer, or made by a constant node.
func (g *Graph) IsConstant(name string) bool {
	for ; g != nil; g = g.outer {
		if g.constants[name] {
			return true
		}
	}
	return false
}

// Maker returns the number of the node of this graph that makes a value. ok is false for inputs,
// constants and values of other graphs.
func (g *Graph) Maker(name string) (node int, ok bool) {
	node, ok = g.makers[name]
	return node, ok && !g.Nodes[node].Constant
}

// IsCaptured reports whether a value is an input of a graph around this one, or made by its nodes, and no
// constant.
func (g *Graph) IsCaptured(name string) bool {
	if _, made := g.makers[name]; made || g.inputs[name] || g.IsConstant(name) {
		return false
	}
	for at := g.outer; at != nil; at = at.outer {
		if _, made := at.makers[name]; made || at.inputs[name] {
			return true
		}
	}
	return false
}

// Origin follows a constant back through constant nodes of one input. It returns the value that the
// first of them takes, and their operators, the last one first. If a constant node of several inputs
// makes the value, Origin returns the value and the operator of the node.
func (g *Graph) Origin(name string) (origin string, ops []string) {
	for at := g; at != nil; at = at.outer {
		i, made := at.makers[name]
		for last := len(at.Nodes); made && i < last && at.Nodes[i].Constant && len(at.Nodes[i].Inputs) > 0; i, made = at.makers[name] {
			ops = append(ops, at.Nodes[i].Op)
			if len(at.Nodes[i].Inputs) > 1 {
				return name, ops
			}
			last, name = i, at.Nodes[i].Inputs[0]
		}
		if made || at.constants[name] {
			break
		}
	}
	return name, ops
}

// Constants returns the number of constant nodes.
func (g *Graph) Constants() (count int) {
	for _, n := range g.Nodes {
		if n.Constant {
			count++
		}
	}
	return count
}

// Users returns the numbers of the nodes that use a value, also within their graphs.
func (g *Graph) Users(name string) []int { return g.users[name] }

// IsInput reports whether a value is an input of the graph without a value in the model.
func (g *Graph) IsInput(name string) bool { return g.inputs[name] }

// IsOutput reports whether a value is an output of the graph.
func (g *Graph) IsOutput(name string) bool { return g.outputs[name] }

// infer finds the types of a node's outputs. It reports whether the node could be understood; if not,
// the types are as they were.
func (g *Graph) infer(n *graph.Node) bool {
	in := make([]*op.Value, len(n.Inputs))
	for i, name := range n.Inputs {
		if name == "" {
			continue
		}
		if in[i] = g.Type(name); in[i] == nil || in[i].Kind == graph.NoType {
			return false
		}
	}
	out, err := runtime.Infer(n, in)
	if err != nil {
		return false
	}
	for i, v := range out {
		name := n.Outputs[i]
		if name == "" || v == nil || v.Kind == graph.NoType {
			continue
		}
		if old := g.types[name]; old == nil || v.Const != nil || v.Ints != nil || known(v.Dims) >= known(old.Dims) {
			g.types[name] = v
		}
	}
	return true
}

// known returns the number of extents that are numbers; -1 if the number of axes is not known.
func known(d graph.Dims) int {
	if d == nil {
		return -1
	}
	n := 0
	for _, x := range d {
		if x.IsKnown() {
			n++
		}
	}
	return n
}

// work returns the multiplications and additions of a node, 0 if an extent is not known.
func (g *Graph) work(n *graph.Node, row *op.Row) float64 {
	shapes := func(names []string) (list []tensor.Shape, ok bool) {
		list = make([]tensor.Shape, len(names))
		for i, name := range names {
			v := g.Type(name)
			if name == "" {
				continue
			}
			if v == nil || v.Kind != graph.TensorType {
				return nil, false
			}
			if list[i], ok = v.Dims.Concrete(); !ok {
				return nil, false
			}
		}
		return list, true
	}
	in, ok := shapes(n.Inputs)
	out, known := shapes(n.Outputs)
	if !ok || !known {
		return 0
	}
	return row.Work(in, out)
}

// Package diagram draws models: it gives the nodes of a graph places on a plane, and the viewer,
// a script for browsers, shows them.
package diagram

import (
	"context"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Drawing is the graphs of a model: the main graph first, then the graphs of nodes and functions.
type Drawing struct {
	Graphs []*Graph `json:"graphs"`
}

// Graph is a graph with the places of its boxes. The origin is at the upper left, y grows downwards.
type Graph struct {
	Name   string  `json:"name"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
	Nodes  int     `json:"nodes"` // nodes of the model, also ones without a box
	Boxes  []*Box  `json:"boxes"`
	Edges  []*Edge `json:"edges"`
}

// Box is an input or output of a graph or one of its nodes. X and Y are its middle.
type Box struct {
	Kind    string   `json:"kind"` // input, output, product, elementwise, body or node
	Title   string   `json:"title"`
	Name    string   `json:"name,omitempty"`
	Op      string   `json:"op,omitempty"` // with domain and version
	Doc     string   `json:"doc,omitempty"`
	Lines   []string `json:"lines,omitempty"` // below the title
	X       float64  `json:"x"`
	Y       float64  `json:"y"`
	Width   float64  `json:"w"`
	Height  float64  `json:"h"`
	Attrs   []Pair   `json:"attrs,omitempty"`
	Inputs  []Port   `json:"inputs,omitempty"`
	Outputs []Port   `json:"outputs,omitempty"`
	Bodies  []Body   `json:"bodies,omitempty"`

	node  *graph.Node
	value string // of an output
}

// Pair is an attribute as text.
type Pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Port is an operand of a node. Value is the beginning of a constant.
type Port struct {
	Name  string `json:"name"`
	Type  string `json:"type,omitempty"`
	Value string `json:"value,omitempty"`
	Bytes int    `json:"bytes,omitempty"` // of a constant
}

// Body is an attribute of a node with a graph, by its number in the drawing.
type Body struct {
	Name  string `json:"name"`
	Graph int    `json:"graph"`
}

// Edge leads from one box to another. Points are x and y of its ends and of places between them.
type Edge struct {
	From   int       `json:"from"`
	To     int       `json:"to"`
	Name   string    `json:"name"`
	Type   string    `json:"type,omitempty"`
	Points []float64 `json:"points"`
}

// Draw draws a model. If ctx is done, it returns the error of ctx.
func Draw(ctx context.Context, m *graph.Model) (*Drawing, error) {
	d := &drawer{ctx: ctx, drawing: &Drawing{}, functions: map[graph.FunctionID]int{}}
	for _, f := range m.Functions {
		d.functions[f.ID()] = -1
	}
	d.functionList = m.Functions
	if _, err := d.graph("", m.Graph, nil); err != nil {
		return nil, err
	}
	return d.drawing, nil
}

// drawer is the state of Draw.
type drawer struct {
	ctx          context.Context
	drawing      *Drawing
	functions    map[graph.FunctionID]int // numbers of the graphs of functions; -1 before they are drawn
	functionList []*graph.Function
}

// scope is the values that a graph's nodes see.
type scope struct {
	outer *scope
	types map[string]*op.Value // known types and constants
	from  map[string]int       // the boxes that make values
	fold  map[string]bool      // constants without a box
}

// find returns the type of a value, or nil.
func (s *scope) find(name string) *op.Value {
	for ; s != nil; s = s.outer {
		if v := s.types[name]; v != nil {
			return v
		}
	}
	return nil
}

// constant reports whether a value is a constant without a box.
func (s *scope) constant(name string) bool {
	for ; s != nil; s = s.outer {
		if s.fold[name] {
			return true
		}
	}
	return false
}

// graph draws a graph and returns its number.
func (d *drawer) graph(name string, g *graph.Graph, outer *scope) (int, error) {
	number := len(d.drawing.Graphs)
	out := &Graph{Name: name, Nodes: len(g.Nodes), Boxes: []*Box{}, Edges: []*Edge{}}
	if name == "" {
		out.Name = shown(g.Name, 60)
	}
	d.drawing.Graphs = append(d.drawing.Graphs, out)
	s := &scope{outer: outer, types: map[string]*op.Value{}, from: map[string]int{}, fold: map[string]bool{}}
	for _, v := range g.Values {
		s.types[v.Name] = &op.Value{Type: v.Type}
	}
	for _, w := range g.Initializers {
		s.types[w.Name] = op.Known(w.Tensor)
		s.fold[w.Name] = true
	}
	for _, w := range g.Sparse {
		s.fold[w.Name] = true
	}
	for _, v := range g.Inputs {
		if s.fold[v.Name] {
			continue
		}
		s.types[v.Name] = &op.Value{Type: v.Type}
		s.from[v.Name] = len(out.Boxes)
		out.Boxes = append(out.Boxes, edgeOfGraph("input", v))
	}
	for _, n := range g.Nodes {
		if err := d.ctx.Err(); err != nil {
			return 0, err
		}
		if err := d.node(out, s, n); err != nil {
			return 0, err
		}
	}
	for _, v := range g.Outputs {
		b := edgeOfGraph("output", v)
		b.value = v.Name
		b.Inputs = []Port{s.port(v.Name)}
		out.Boxes = append(out.Boxes, b)
	}
	out.connect(s)
	return number, out.place(d.ctx)
}

// edgeOfGraph returns the box of an input or an output.
func edgeOfGraph(kind string, v *graph.Value) *Box {
	b := &Box{Kind: kind, Title: shown(v.Name, 40), Name: shown(v.Name, 200), Doc: shown(v.Doc, 400)}
	if t := typeText(v.Type); t != "" {
		b.Lines = []string{t}
		b.Outputs = []Port{{Name: b.Name, Type: t}}
	}
	return b
}

// node adds a node. A constant of a node has no box: it is shown where it is used.
func (d *drawer) node(g *Graph, s *scope, n *graph.Node) error {
	d.infer(s, n)
	if isConstant(n) {
		s.fold[n.Outputs[0]] = true
		return nil
	}
	b := &Box{Kind: "node", Title: n.Op, Op: n.OpName(), Name: shown(n.Name, 200), Doc: shown(n.Doc, 400), node: n}
	for _, name := range n.Inputs {
		b.Inputs = append(b.Inputs, s.port(name))
	}
	for _, name := range n.Outputs {
		b.Outputs = append(b.Outputs, s.port(name))
		if name != "" {
			s.from[name] = len(g.Boxes)
		}
	}
	at := len(g.Boxes)
	g.Boxes = append(g.Boxes, b)
	if err := d.bodies(g, s, n, at); err != nil {
		return err
	}
	row, _, err := standard.Registry().Find(n)
	switch {
	case len(b.Bodies) > 0:
		b.Kind = "body"
	case err == nil && row.Work != nil:
		b.Kind = "product"
	case err == nil && row.Elementwise:
		b.Kind = "elementwise"
	}
	for i, name := range n.Inputs {
		if s.constant(name) && len(b.Lines) < 2 && b.Inputs[i].Type != "" {
			b.Lines = append(b.Lines, b.Inputs[i].summary())
		}
	}
	return nil
}

// bodies adds attributes of a node, and draws its graphs.
func (d *drawer) bodies(g *Graph, s *scope, n *graph.Node, at int) error {
	b := g.Boxes[at]
	for _, a := range n.Attrs {
		for _, body := range a.Subgraphs() {
			number, err := d.graph(shown(n.Label()+" · "+a.Name, 80), body, s)
			if err != nil {
				return err
			}
			b.Bodies = append(b.Bodies, Body{a.Name, number})
		}
		if a.Subgraphs() == nil {
			b.Attrs = append(b.Attrs, Pair{shown(a.Name, 80), attrText(a)})
		}
	}
	number, ok := d.functions[n.Callee()]
	if !ok {
		return nil
	}
	if number < 0 {
		f := d.function(n.Callee())
		// A function that calls itself is an error of the model; its graph is drawn once.
		d.functions[n.Callee()] = len(d.drawing.Graphs)
		inputs, outputs := namedValues(f.Inputs), namedValues(f.Outputs)
		body := &graph.Graph{Name: f.Name, Inputs: inputs, Outputs: outputs, Nodes: f.Nodes, Values: f.Values}
		var err error
		if number, err = d.graph(shown(f.Name, 80), body, nil); err != nil {
			return err
		}
	}
	b.Bodies = append(b.Bodies, Body{"function", number})
	return nil
}

func (d *drawer) function(id graph.FunctionID) *graph.Function {
	for _, f := range d.functionList {
		if f.ID() == id {
			return f
		}
	}
	return nil
}

func namedValues(names []string) []*graph.Value {
	list := make([]*graph.Value, len(names))
	for i, name := range names {
		list[i] = &graph.Value{Name: name}
	}
	return list
}

// infer finds the types of a node's outputs. A node that cannot be understood leaves them unknown.
func (d *drawer) infer(s *scope, n *graph.Node) {
	in := make([]*op.Value, len(n.Inputs))
	for i, name := range n.Inputs {
		if name == "" {
			continue
		}
		if in[i] = s.find(name); in[i] == nil || in[i].Kind == graph.NoType {
			return
		}
	}
	out, err := runtime.Infer(n, in)
	if err != nil {
		return
	}
	for i, v := range out {
		if name := n.Outputs[i]; name != "" && v != nil && v.Kind != graph.NoType {
			if old := s.types[name]; old == nil || old.Dims == nil || v.Const != nil || v.Ints != nil {
				s.types[name] = v
			}
		}
	}
}

// isConstant reports whether a node has no inputs, and its only attribute is its value.
func isConstant(n *graph.Node) bool {
	return len(n.Inputs) == 0 && len(n.Outputs) == 1 && len(n.Attrs) == 1 &&
		(strings.HasPrefix(n.Attrs[0].Name, "value") || n.Attrs[0].Kind == graph.AttrSparse)
}

// port describes an operand.
func (s *scope) port(name string) Port {
	p := Port{Name: shown(name, 200)}
	v := s.find(name)
	if v == nil {
		return p
	}
	p.Type = typeText(v.Type)
	if v.Const != nil && s.constant(name) {
		p.Value, p.Bytes = beginning(v.Const), len(v.Const.Bytes())
	}
	return p
}

// summary is a constant in a box: its value if it is a scalar, or its shape.
func (p Port) summary() string {
	if !strings.Contains(p.Value, ",") && len(p.Value) < 16 && p.Value != "" {
		return p.Value
	}
	return p.Type
}

func typeText(t graph.Type) string {
	if t.Kind == graph.NoType {
		return ""
	}
	return shown(t.String(), 100)
}

// attrText returns the value of an attribute, cut where it is long.
func attrText(a *graph.Attr) string {
	if a.Ref != "" {
		return "attribute " + shown(a.Ref, 80) + " of the function"
	}
	switch a.Kind {
	case graph.AttrFloat:
		return strconv.FormatFloat(float64(a.Float), 'g', -1, 32)
	case graph.AttrInt:
		return strconv.FormatInt(a.Int, 10)
	case graph.AttrString:
		return shown(string(a.Str), 200)
	case graph.AttrTensor:
		return typeText(op.Known(a.Tensor).Type) + " " + beginning(a.Tensor)
	case graph.AttrFloats:
		return list(len(a.Floats), func(i int) string { return strconv.FormatFloat(float64(a.Floats[i]), 'g', -1, 32) })
	case graph.AttrInts:
		return list(len(a.Ints), func(i int) string { return strconv.FormatInt(a.Ints[i], 10) })
	case graph.AttrStrings:
		return list(len(a.Strs), func(i int) string { return shown(string(a.Strs[i]), 40) })
	case graph.AttrType:
		return typeText(*a.Type)
	}
	return a.Kind.String()
}

// mostShown is the number of elements of a list or a constant that are shown.
const mostShown = 12

func list(n int, text func(i int) string) string {
	parts := make([]string, min(n, mostShown))
	for i := range parts {
		parts[i] = text(i)
	}
	if n > mostShown {
		parts = append(parts, "… ("+strconv.Itoa(n)+")")
	}
	return strings.Join(parts, ", ")
}

// beginning returns the first elements of a constant.
func beginning(t *tensor.Tensor) string {
	return list(t.Len(), func(i int) string { return shown(t.Text(i), 40) })
}

// shown returns text of a file without control characters, of at most n characters.
func shown(s string, n int) string {
	return printable.Text(printable.Cut(strings.Join(strings.Fields(s), " "), n))
}

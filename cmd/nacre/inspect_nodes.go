package main

import (
	"context"
	"io"
	"strings"

	"github.com/nacre-ml/nacre/internal/outline"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// printedNodes is the nodes of a model as JSON.
type printedNodes struct {
	Model string        `json:"model"`
	Nodes []printedNode `json:"nodes"`
}

// printedNode is a node with its operands. Graph is the path of its graph, empty for the main one.
type printedNode struct {
	Graph      string           `json:"graph,omitempty"`
	Name       string           `json:"name"` // or the first output of a node without a name
	Op         string           `json:"op"`
	Domain     string           `json:"domain,omitempty"`
	Version    int              `json:"version"`
	Inputs     []printedOperand `json:"inputs"`
	Outputs    []printedOperand `json:"outputs"`
	Attributes map[string]any   `json:"attributes,omitempty"`

	node *graph.Node
}

// printedOperand is an operand. The name is empty for one that is left out, and the type if it is not
// known. Value is the beginning of a constant.
type printedOperand struct {
	Name  string `json:"name"`
	Type  string `json:"type,omitempty"`
	Value string `json:"value,omitempty"`
}

// inspectNodes prints the nodes of all graphs of a model with filter in their names, their operators
// or the names of their operands, in any case.
func inspectNodes(ctx context.Context, m *graph.Model, filter string, asJSON bool, w io.Writer) error {
	o, err := outline.Of(ctx, m, outline.Options{})
	if err != nil {
		return err
	}
	out := printedNodes{Model: m.File}
	for _, g := range o.Graphs {
		for _, n := range g.Nodes {
			if p := nodeOf(g, n); p.has(strings.ToLower(filter)) {
				out.Nodes = append(out.Nodes, p)
			}
		}
	}
	if asJSON {
		return writeJSON(w, out)
	}
	for i := range out.Nodes {
		if err := ctx.Err(); err != nil {
			return err
		}
		out.Nodes[i].text(w)
	}
	return nil
}

func nodeOf(g *outline.Graph, n *outline.Node) printedNode {
	p := printedNode{Graph: g.Path, Name: n.Label(), Op: n.Op, Domain: n.Domain, Version: n.Version, node: n.Node,
		Inputs: operandsOf(g, n.Inputs), Outputs: operandsOf(g, n.Outputs), Attributes: map[string]any{}}
	for _, a := range n.Attrs {
		p.Attributes[a.Name] = attributeOf(a)
	}
	return p
}

func operandsOf(g *outline.Graph, names []string) []printedOperand {
	list := make([]printedOperand, len(names))
	for i, name := range names {
		list[i].Name = name
		v := g.Type(name)
		if name == "" || v == nil {
			continue
		}
		list[i].Type = outline.TypeText(v.Type)
		if v.Const != nil && g.IsConstant(name) {
			list[i].Value = outline.Beginning(v.Const)
		}
	}
	return list
}

// attributeOf returns numbers, text and lists in full, and other attributes in short.
func attributeOf(a *graph.Attr) any {
	if a.Ref != "" {
		return outline.AttrText(a)
	}
	switch a.Kind {
	case graph.AttrFloat:
		return number(float64(a.Float), 32)
	case graph.AttrInt:
		return a.Int
	case graph.AttrString:
		return string(a.Str)
	case graph.AttrFloats:
		list := make([]any, len(a.Floats))
		for i, x := range a.Floats {
			list[i] = number(float64(x), 32)
		}
		return list
	case graph.AttrInts:
		return append([]int64{}, a.Ints...)
	case graph.AttrStrings:
		list := make([]string, len(a.Strs))
		for i, s := range a.Strs {
			list[i] = string(s)
		}
		return list
	}
	return outline.AttrText(a)
}

// has reports whether text, in lower case, is in the node.
func (p *printedNode) has(text string) bool {
	words := []string{p.Name, p.Op, p.Domain}
	for _, list := range [][]printedOperand{p.Inputs, p.Outputs} {
		for _, o := range list {
			words = append(words, o.Name)
		}
	}
	return strings.Contains(strings.ToLower(strings.Join(words, "\n")), text)
}

// text prints the node as one line: graph, name, operator, operands with their types, and attributes.
func (p *printedNode) text(w io.Writer) {
	if p.Graph != "" {
		printable.Fprintf(w, "%s > ", p.Graph)
	}
	printable.Fprintf(w, "%s  %s  (%s) -> (%s)", p.Name, p.node.OpName(), operands(p.Inputs), operands(p.Outputs))
	for _, a := range p.node.Attrs {
		printable.Fprintf(w, "  %s=%s", a.Name, strings.ReplaceAll(outline.AttrText(a), ", ", ","))
	}
	printable.Fprintln(w)
}

func operands(list []printedOperand) string {
	words := make([]string, len(list))
	for i, o := range list {
		words[i] = o.Name
		if o.Name == "" {
			words[i] = "-"
		}
		if o.Type != "" {
			words[i] += " " + o.Type
		}
		if o.Value != "" && !strings.Contains(o.Value, ",") {
			words[i] += " = " + o.Value
		}
	}
	return strings.Join(words, ", ")
}

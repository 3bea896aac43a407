package graph_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// node makes a node from text such as "y = Add(a, b)".
func node(text string, attrs ...*graph.Attr) *graph.Node {
	out, rest, _ := strings.Cut(text, " = ")
	op, in, _ := strings.Cut(strings.TrimSuffix(rest, ")"), "(")
	return &graph.Node{Op: op, Version: 1, Outputs: names(out), Inputs: names(in), Attrs: attrs}
}

func names(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ", ")
}

func values(s string) []*graph.Value {
	var list []*graph.Value
	for _, n := range names(s) {
		list = append(list, &graph.Value{Name: n})
	}
	return list
}

// net makes a graph from inputs, outputs and nodes.
func net(in, out string, nodes ...*graph.Node) *graph.Graph {
	return &graph.Graph{Inputs: values(in), Outputs: values(out), Nodes: nodes}
}

func body(g *graph.Graph) *graph.Attr {
	return &graph.Attr{Name: "body", Kind: graph.AttrGraph, Graph: g}
}

func function(name string, nodes ...*graph.Node) *graph.Function {
	return &graph.Function{Domain: "f", Name: name, Inputs: []string{"x"}, Outputs: []string{"y"}, Nodes: nodes}
}

func call(name string) *graph.Node {
	n := node("y = " + name + "(x)")
	n.Domain = "f"
	return n
}

func withConstant(g *graph.Graph, names ...string) *graph.Graph {
	for _, n := range names {
		g.Initializers = append(g.Initializers, &graph.Initializer{Name: n, Tensor: tensor.New(tensor.F32)})
	}
	return g
}

// typed makes a graph with an input of a declared type and an initializer of float32[2,3].
func typed(t graph.Type) *graph.Graph {
	g := net("x, w", "y", node("y = Add(x, w)"))
	g.Inputs[1].Type = t
	g.Initializers = []*graph.Initializer{{Name: "w", Tensor: tensor.New(tensor.F32, 2, 3)}}
	return g
}

func TestValidate(t *testing.T) {
	identity := node("y = Identity(x)")
	cases := []struct {
		name      string
		graph     *graph.Graph
		functions []*graph.Function
		want      string // part of the first problem; empty for none
	}{
		{"sound", net("x", "y", identity), nil, ""},
		{"constant input", withConstant(net("x, w", "y", node("y = Add(x, w)")), "w"), nil, ""},
		{"constant input of its type", typed(graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("n"), graph.Known(3)})), nil, ""},
		{"constant input of another type", typed(graph.TensorOf(tensor.I64, nil)), nil, `input "w" is declared to be int64[...], and its initializer is float32[2,3]`},
		{"constant input of another rank", typed(graph.TensorOf(tensor.F32, graph.Dims{graph.Known(6)})), nil, "float32[6]"},
		{"constant input of other extents", typed(graph.TensorOf(tensor.F32, graph.Dims{graph.Known(2), graph.Known(4)})), nil, "float32[2,4]"},
		{"constant input of another kind", typed(graph.Type{Kind: graph.SequenceType}), nil, "sequence"},
		{"input left out", net("x", "y", node("y = Clip(x, , )")), nil, ""},
		{"no graph", nil, nil, "no graph"},
		{"dangling", net("x", "y", node("y = Add(x, q)")), nil, `node "y" (Add-1): input "q" is defined nowhere`},
		{"output missing", net("x", "y, z", identity), nil, `output "z" is computed by no node`},
		{"input is output", net("x", "x"), nil, ""},
		{"input twice", net("x, x", "y", identity), nil, `input "x" is defined more than once`},
		{"input nameless", &graph.Graph{Inputs: []*graph.Value{{}}}, nil, "input without a name"},
		{"constant twice", withConstant(net("x", "y", identity), "w", "w"), nil, `initializer "w" is defined more than once`},
		{"output twice", net("x", "y", identity, node("y = Neg(x)")), nil, `output "y" is defined more than once`},
		{"output over input", net("x", "x", node("x = Neg(x)")), nil, `output "x" is defined more than once`},
		{"late", net("x", "y", node("y = Neg(z)"), node("z = Neg(x)")), nil, `input "z" is computed by a later node`},
		{"cycle", net("x", "y", node("y = Neg(z)"), node("z = Add(y, x)")), nil, "part of a cycle"},
		{"own output", net("x", "y", node("y = Add(x, y)")), nil, "part of a cycle"},
		{"no operator", net("x", "y", node("y = (x)")), nil, "no operator"},
		{"attribute twice", net("x", "y", node("y = Neg(x)", &graph.Attr{Name: "a"}, &graph.Attr{Name: "a"})), nil, `attribute "a" is given more than once`},
		{"attribute of no function", net("x", "y", node("y = Neg(x)", &graph.Attr{Name: "a", Ref: "b"})), nil, "stands in none"},

		{"outer name", net("x", "y", node("y = If(x)", body(net("", "z", node("z = Neg(x)"))))), nil, ""},
		{"outer name as output", net("x", "y", node("y = If(x)", body(net("", "x")))), nil, ""},
		{"outer name hidden", net("x", "y", node("y = Loop(x)", body(net("x", "z", node("z = Neg(x)"))))), nil, ""},
		{"outer name late", net("x", "y", node("y = If(x)", body(net("", "z", node("z = Neg(q)")))), node("q = Neg(x)")), nil, `node "y" (If-1): input "q" is computed by a later node`},
		{"outer name cyclic", net("x", "y", node("y = If(x)", body(net("", "z", node("z = Neg(q)")))), node("q = Neg(y)")), nil, "part of a cycle"},
		{"outer output cyclic", net("x", "y", node("y = If(x)", body(net("", "y")))), nil, "part of a cycle"},
		{"inner name outside", net("x", "z", node("y = If(x)", body(net("", "z", node("z = Neg(x)"))))), nil, `output "z" is computed by no node`},
		{"inner dangling", net("x", "y", node("y = If(x)", body(net("", "z", node("z = Neg(nix)"))))), nil, `input "nix" is defined nowhere`},

		{"function", net("x", "y", call("a")), []*graph.Function{function("a", identity)}, ""},
		{"function twice", net("x", "x"), []*graph.Function{function("a", identity), function("a", identity)}, `function "a" of domain "f" is defined more than once`},
		{"function sees no outer name", net("x, q", "y", call("a")), []*graph.Function{function("a", node("y = Add(x, q)"))}, `function "a": input "q" is defined nowhere`},
		{"function output missing", net("x", "x"), []*graph.Function{function("a")}, `function "a": output "y" is computed by no node`},
		{"function attribute", net("x", "x"), []*graph.Function{{Name: "a", Attrs: []string{"p"}, Nodes: []*graph.Node{node("y = Neg()", &graph.Attr{Name: "a", Ref: "p"})}}}, ""},
		{"function attribute unknown", net("x", "x"), []*graph.Function{function("a", node("y = Neg(x)", &graph.Attr{Name: "a", Ref: "p"}))}, "which the function does not have"},
		{"recursion", net("x", "x"), []*graph.Function{function("a", call("a"))}, "calls itself"},
		{"recursion by a detour", net("x", "x"), []*graph.Function{function("a", call("b")), function("b", call("c")), function("c", call("a"))}, "calls itself"},
		{"recursion in a subgraph", net("x", "x"), []*graph.Function{function("a", node("y = If(x)", body(net("", "y", call("a")))))}, "calls itself"},
		{"diamond", net("x", "x"), []*graph.Function{function("a", call("c")), function("b", call("c")), function("c", identity)}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := graph.Validate(&graph.Model{Graph: c.graph, Functions: c.functions})
			switch {
			case c.want == "" && err != nil:
				t.Errorf("unexpected: %v", err)
			case c.want != "" && err == nil:
				t.Errorf("no error where %q was expected", c.want)
			case c.want != "" && (!strings.Contains(err.Error(), c.want) || !errors.Is(err, graph.ErrFormat)):
				t.Errorf("got %q, want %q", err, c.want)
			}
		})
	}
}

func TestProblemsReportsAll(t *testing.T) {
	m := &graph.Model{Graph: net("x", "y, z", node("y = Add(p, q)"))}
	if got := graph.Problems(m); len(got) != 3 {
		t.Errorf("%d problems: %v", len(got), got)
	}
	var nodes []*graph.Node
	for i := range 1000 {
		nodes = append(nodes, node(fmt.Sprintf("y%d = Neg(q%d)", i, i)))
	}
	if got := graph.Problems(&graph.Model{Graph: net("", "", nodes...)}); len(got) != 100 {
		t.Errorf("%d problems where 100 are the most", len(got))
	}
}

// TestValidateLongChains validates chains that are too long for a recursive walk or a quadratic
// one.
func TestValidateLongChains(t *testing.T) {
	const n = 50_000
	chain := make([]*graph.Node, n)
	for i := range chain {
		chain[i] = node(fmt.Sprintf("v%d = Neg(v%d)", i+1, i))
	}
	g := net("v0", fmt.Sprintf("v%d", n), chain...)
	if err := graph.Validate(&graph.Model{Graph: g}); err != nil {
		t.Error(err)
	}
	reversed := make([]*graph.Node, n)
	for i := range chain {
		reversed[n-1-i] = chain[i]
	}
	if sorted := graph.Sorted(reversed); sorted[0] != chain[0] || sorted[n-1] != chain[n-1] {
		t.Error("reversed chain is not put in order")
	}
	chain[0].Inputs[0] = fmt.Sprintf("v%d", n)
	if err := graph.Validate(&graph.Model{Graph: g}); err == nil || !strings.Contains(err.Error(), "cycle") {
		t.Errorf("long cycle: %v", err)
	}

	functions := make([]*graph.Function, n)
	for i := range functions {
		functions[i] = function(fmt.Sprint(i), call(fmt.Sprint((i+1)%n)))
	}
	m := &graph.Model{Graph: net("x", "x"), Functions: functions}
	if err := graph.Validate(m); err == nil || !strings.Contains(err.Error(), "calls itself") {
		t.Errorf("long recursion: %v", err)
	}
	functions[n-1].Nodes = []*graph.Node{node("y = Neg(x)")}
	if err := graph.Validate(m); err == nil || !strings.Contains(err.Error(), "chain of more than") {
		t.Errorf("long chain of calls: %v", err)
	}
}

func TestValidateDeepGraphs(t *testing.T) {
	g := net("", "y", node("y = Neg(x)"))
	for range 100 {
		g = net("", "y", node("y = If(x)", body(g)))
	}
	g.Inputs = values("x")
	if err := graph.Validate(&graph.Model{Graph: g}); err == nil || !strings.Contains(err.Error(), "deep") {
		t.Errorf("deep graph: %v", err)
	}
}

func TestSortedKeepsOrder(t *testing.T) {
	a, b, c := node("a = Neg(x)"), node("b = Neg(c)"), node("c = Neg(x)")
	got := graph.Sorted([]*graph.Node{a, b, c})
	if got[0] != a || got[1] != c || got[2] != b {
		t.Errorf("order is %s %s %s", got[0].Label(), got[1].Label(), got[2].Label())
	}
	sub := node("y = If(x)", body(net("", "z", node("z = Neg(c)"))))
	if got := graph.Sorted([]*graph.Node{sub, c}); got[0] != c {
		t.Error("what a subgraph uses is not put before it")
	}
	if got := graph.Sorted([]*graph.Node{node("p = Neg(q)"), node("q = Neg(p)")}); len(got) != 2 {
		t.Error("nodes on a cycle got lost")
	}
}

func TestCaptured(t *testing.T) {
	inner := net("i", "o", node("o = Add(i, p)"), node("unused = If(q)", body(net("", "p, r"))))
	got := fmt.Sprint(node("y = Loop(x)", body(inner)).Captured())
	if got != "[p q r]" {
		t.Errorf("captured %s", got)
	}
}

package runtime_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// These tests run whole models of the operators that hold graphs or work on values other than
// tensors. Numbers are int64 vectors unless a name says more.

const opset = 17

func node(op, in, out string, attrs ...*graph.Attr) *graph.Node {
	n := &graph.Node{Name: "n_" + strings.Fields(out)[0], Op: op, Version: opset, Outputs: strings.Fields(out), Attrs: attrs}
	for _, name := range strings.Fields(in) {
		n.Inputs = append(n.Inputs, strings.Trim(name, "_"))
	}
	return n
}

func vec(v ...int64) *tensor.Tensor {
	t, err := tensor.From(v, len(v))
	if err != nil {
		panic(err)
	}
	return t
}

func scalar[T tensor.Element](v T) *tensor.Tensor {
	t, err := tensor.From([]T{v})
	if err != nil {
		panic(err)
	}
	return t
}

func value(spec string) *graph.Value {
	name, kind, _ := strings.Cut(spec, ":")
	v := &graph.Value{Name: name}
	numbers := graph.TensorOf(tensor.I64, graph.UnknownDims(1))
	switch kind {
	case "":
		v.Type = numbers
	case "int":
		v.Type = graph.TensorOf(tensor.I64, graph.Dims{})
	case "bool":
		v.Type = graph.TensorOf(tensor.Bool, graph.Dims{})
	case "bools":
		v.Type = graph.TensorOf(tensor.Bool, graph.UnknownDims(1))
	case "rows":
		v.Type = graph.TensorOf(tensor.I64, graph.UnknownDims(2))
	case "seq":
		v.Type = graph.Type{Kind: graph.SequenceType, Elem: &numbers}
	case "opt":
		v.Type = graph.Type{Kind: graph.OptionalType, Elem: &numbers}
	}
	return v
}

func subgraph(in, out string, nodes ...*graph.Node) *graph.Graph {
	g := &graph.Graph{Name: "g", Nodes: nodes}
	for _, spec := range strings.Fields(in) {
		g.Inputs = append(g.Inputs, value(spec))
	}
	for _, name := range strings.Fields(out) {
		g.Outputs = append(g.Outputs, &graph.Value{Name: name})
	}
	return g
}

func body(name string, g *graph.Graph) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrGraph, Graph: g}
}

func attr(name string, v int64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrInt, Int: v}
}

func attrs(name string, v ...int64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrInts, Ints: v}
}

func constant(name string, t *tensor.Tensor) *graph.Node {
	return node("Constant", "", name, &graph.Attr{Name: "value", Kind: graph.AttrTensor, Tensor: t})
}

func seq(items ...tensor.Value) *tensor.Sequence { return &tensor.Sequence{Items: items} }

type values map[string]tensor.Value

// addUp adds x to a carried sum and outputs every sum. It stops above 10.
func addUp() *graph.Graph {
	return subgraph("i:int more:bool sum", "go next next",
		constant("ten", vec(10)), node("Add", "sum x", "next"), node("Add", "next i", "unused"),
		node("ReduceMax", "next", "top", attr("keepdims", 0)), node("Squeeze", "ten", "limit"), node("Less", "top limit", "go"))
}

var controlCases = []struct {
	name  string
	graph *graph.Graph
	in    values
	want  values
	say   string // part of the error message; empty for no error
}{
	{"if true", choose(), values{"c": scalar(true), "x": vec(1, 2)}, values{"y": vec(2, 4)}, ""},
	{"if false", choose(), values{"c": scalar(false), "x": vec(1, 2)}, values{"y": vec(1, 2, 1, 2)}, ""},
	{"if of two conditions", subgraph("c:bools x", "y", node("If", "c", "y",
		body("then_branch", subgraph("", "x")), body("else_branch", subgraph("", "x")))), values{"c": tensor.New(tensor.Bool, 2), "x": vec(1)}, nil, "not one bool"},
	{"if constant", subgraph("x", "y", constant("c", scalar(true)), node("If", "c", "y",
		body("then_branch", subgraph("", "t", node("Neg", "x", "t"))),
		body("else_branch", subgraph("", "e", node("Reshape", "x x", "e"))))), values{"x": vec(3)}, values{"y": vec(-3)}, ""},
	{"loop by count", looping(), values{"n": scalar[int64](3), "x": vec(1, 2), "s": vec(0, 0)},
		values{"last": vec(3, 6), "all": rows(2, 1, 2, 2, 4, 3, 6)}, ""},
	{"loop by condition", looping(), values{"n": scalar[int64](100), "x": vec(4), "s": vec(0)},
		values{"last": vec(12), "all": rows(1, 4, 8, 12)}, ""},
	{"loop never", looping(), values{"n": scalar[int64](0), "x": vec(4), "s": vec(7)},
		values{"last": vec(7), "all": tensor.New(tensor.I64, 0, 0)}, ""},
	{"loop that grows", subgraph("x n:int", "y", node("Loop", "n _ x", "y", body("body",
		subgraph("i:int c:bool v", "c2 w", node("Identity", "c", "c2"), node("Concat", "v v", "w", attr("axis", 0)))))),
		values{"x": vec(1), "n": scalar[int64](3)}, values{"y": vec(1, 1, 1, 1, 1, 1, 1, 1)}, ""},
	{"loop in loop", subgraph("x n:int", "y", node("Loop", "n _ x", "y", body("body",
		subgraph("i:int c:bool v", "c2 w", node("Identity", "c", "c2"), node("Loop", "n _ v", "w", body("body",
			subgraph("j:int d:bool u", "d2 t", node("Identity", "d", "d2"), node("Add", "u x", "t")))))))),
		values{"x": vec(1), "n": scalar[int64](3)}, values{"y": vec(10)}, ""},
	{"loop passes on", subgraph("x n:int", "y", node("Neg", "x", "m"), node("Loop", "n _ m", "k", body("body",
		subgraph("i:int c:bool v", "c v"))), node("Abs", "k", "y")), values{"x": vec(5), "n": scalar[int64](2)}, values{"y": vec(5)}, ""},
	{"loop body with other outputs", subgraph("x n:int", "y", node("Loop", "n _ x", "y", body("body",
		subgraph("i:int c:bool v", "c")))), values{"x": vec(5), "n": scalar[int64](2)}, nil, "body has 1 outputs"},
	{"scan", scanning(nil), values{"s": vec(0, 0), "x": rows(2, 1, 2, 3, 4)}, values{"last": vec(4, 6), "all": rows(2, 1, 2, 4, 6)}, ""},
	{"scan from the end", scanning([]*graph.Attr{attrs("scan_input_directions", 1), attrs("scan_output_directions", 1)}),
		values{"s": vec(0, 0), "x": rows(2, 1, 2, 3, 4)}, values{"last": vec(4, 6), "all": rows(2, 4, 6, 3, 4)}, ""},
	{"scan along axis 1", scanning([]*graph.Attr{attrs("scan_input_axes", 1), attrs("scan_output_axes", -1)}),
		values{"s": vec(0, 0), "x": rows(2, 1, 2, 3, 4)}, values{"last": vec(3, 7), "all": rows(2, 1, 3, 3, 7)}, ""},
	{"scan that carries its input", subgraph("s x:rows", "last all", node("Scan", "s x", "last all", attr("num_scan_inputs", 1), body("body",
		subgraph("s x", "x d", node("Sub", "x s", "d"))))), values{"s": vec(1, 1), "x": rows(2, 3, 4, 7, 6, 8, 9)},
		values{"last": vec(8, 9), "all": rows(2, 2, 3, 4, 2, 1, 3)}, ""},
	{"loop that carries its number", subgraph("n:int s:int", "last all", node("Loop", "n _ s", "last all", body("body",
		subgraph("i:int c:bool v:int", "c i d", node("Sub", "i v", "d"))))), values{"n": scalar[int64](4), "s": scalar[int64](-5)},
		values{"last": scalar[int64](3), "all": vec(5, 1, 1, 1)}, ""},
	{"construct and read", subgraph("x p:int", "y n", node("Neg", "x", "m"), node("SequenceConstruct", "x m", "q"),
		node("SequenceAt", "q p", "y"), node("SequenceLength", "q", "n")),
		values{"x": vec(1, 2), "p": scalar[int64](-1)}, values{"y": vec(-1, -2), "n": scalar[int64](2)}, ""},
	{"read outside", subgraph("q:seq p:int", "y", node("SequenceAt", "q p", "y")), values{"q": seq(vec(1)), "p": scalar[int64](1)}, nil, "position 1"},
	{"insert", subgraph("q:seq x p:int", "r", node("SequenceInsert", "q x p", "r")),
		values{"q": seq(vec(1), vec(2)), "x": vec(3), "p": scalar[int64](1)}, values{"r": seq(vec(1), vec(3), vec(2))}, ""},
	{"append to none", subgraph("x", "r", node("SequenceEmpty", "", "q", attr("dtype", 7)), node("SequenceInsert", "q x", "r")),
		values{"x": vec(3)}, values{"r": seq(vec(3))}, ""},
	{"erase", subgraph("q:seq", "r", node("SequenceErase", "q", "r")), values{"q": seq(vec(1), vec(2))}, values{"r": seq(vec(1))}, ""},
	{"erase from none", subgraph("q:seq", "r", node("SequenceErase", "q", "r")), values{"q": seq()}, nil, "empty"},
	{"split and join", subgraph("x", "y q", node("SplitToSequence", "x", "q"), node("ConcatFromSequence", "q", "y", attr("axis", 0))),
		values{"x": vec(1, 2)}, values{"y": vec(1, 2), "q": seq(vec(1), vec(2))}, ""},
	{"split a view and change both", subgraph("x:rows", "y z q", node("Neg", "x", "m"), node("SplitToSequence", "m", "q"), node("Abs", "m", "z"),
		node("ConcatFromSequence", "q", "y", attr("axis", 1))),
		values{"x": rows(2, 1, 2, 3, 4)}, values{"y": rows(4, -1, -2, -3, -4), "z": rows(2, 1, 2, 3, 4), "q": seq(rows(2, -1, -2), rows(2, -3, -4))}, ""},
	{"split along axis 1", subgraph("x:rows n:int", "q r", node("SplitToSequence", "x n", "q", attr("axis", 1)),
		node("SplitToSequence", "x", "r", attr("axis", -1), attr("keepdims", 0))),
		values{"x": rows(3, 1, 2, 3, 4, 5, 6), "n": scalar[int64](2)},
		values{"q": seq(rows(2, 1, 2, 4, 5), rows(1, 3, 6)), "r": seq(vec(1, 4), vec(2, 5), vec(3, 6))}, ""},
	{"joined twice", subgraph("q:seq", "y z", node("ConcatFromSequence", "q", "y", attr("axis", 0)), node("Identity", "y", "z")),
		values{"q": seq(vec(1), vec(2))}, values{"y": vec(1, 2), "z": vec(1, 2)}, ""},
	{"map", subgraph("q:seq x", "r", node("SequenceMap", "q x", "r", body("body", subgraph("a b", "s", node("Add", "a b", "s"))))),
		values{"q": seq(vec(1), vec(2, 3)), "x": vec(10)}, values{"r": seq(vec(11), vec(12, 13))}, ""},
	{"identity of a sequence", subgraph("q:seq", "r", node("Identity", "q", "r")), values{"q": seq(vec(1))}, values{"r": seq(vec(1))}, ""},
	{"optional", subgraph("x", "o h y", node("Optional", "x", "o"), node("OptionalHasElement", "o", "h"), node("OptionalGetElement", "o", "y")),
		values{"x": vec(1)}, values{"o": &tensor.Optional{Item: vec(1)}, "h": scalar(true), "y": vec(1)}, ""},
	{"empty optional", subgraph("o:opt", "y", node("OptionalGetElement", "o", "y")), values{"o": &tensor.Optional{}}, nil, "empty"},
}

func choose() *graph.Graph {
	return subgraph("c:bool x", "y", node("If", "c", "y",
		body("then_branch", subgraph("", "t", node("Add", "x x", "t"))),
		body("else_branch", subgraph("", "e", node("Concat", "x x", "e", attr("axis", 0))))))
}

func looping() *graph.Graph {
	return subgraph("n:int x s", "last all", node("Loop", "n _ s", "last all", body("body", addUp())))
}

func scanning(more []*graph.Attr) *graph.Graph {
	b := subgraph("s x", "next next", node("Add", "s x", "next"))
	return subgraph("s x:rows", "last all", node("Scan", "s x", "last all", append(more, attr("num_scan_inputs", 1), body("body", b))...))
}

func rows(n int, v ...int64) *tensor.Tensor {
	t := vec(v...)
	r, err := t.Reshape(tensor.Shape{len(v) / n, n})
	if err != nil {
		panic(err)
	}
	return r
}

func TestControl(t *testing.T) {
	for _, tt := range controlCases {
		t.Run(tt.name, func(t *testing.T) {
			got, err := runModel(t, tt.graph, tt.in)
			if tt.say != "" {
				if err == nil || !strings.Contains(err.Error(), tt.say) || strings.Count(err.Error(), "control.onnx") != 1 {
					t.Fatalf("got %v, want an error that says %q", err, tt.say)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range tt.want {
				if text(got[name]) != text(want) {
					t.Errorf("%s is %s, want %s", name, text(got[name]), text(want))
				}
			}
		})
	}
}

// TestInputsLeftOut leaves out each input of each node of the cases. If the operator needs the
// input, the result is an error of the file. No case meets a defect.
func TestInputsLeftOut(t *testing.T) {
	for _, tt := range controlCases {
		for k, n := range tt.graph.Nodes {
			_, row, err := standard.Registry().New(n)
			if err != nil {
				t.Fatal(err)
			}
			for i := range n.Inputs {
				less, g := *n, *tt.graph
				less.Inputs = slices.Clone(n.Inputs)
				less.Inputs[i] = ""
				g.Nodes = slices.Clone(g.Nodes)
				g.Nodes[k] = &less
				_, err := runOnce(&g, tt.in)
				needs := n.Inputs[i] != "" && row.Arity(n.Version).Needs(i)
				if needs && !errors.Is(err, graph.ErrFormat) || errors.Is(err, guard.ErrInternal) {
					t.Errorf("%s: %s without input %d: %v", tt.name, n.Op, i, err)
				}
			}
		}
	}
}

// runOnce runs a graph, for at most a second.
func runOnce(g *graph.Graph, in values) (map[string]tensor.Value, error) {
	m := &graph.Model{File: "control.onnx", Opsets: []graph.Opset{{Version: opset}}, Graph: g}
	s, err := byname.New(m, runtime.Options{Threads: 1, MemoryLimit: 64 << 20})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return s.RunValues(ctx, in)
}

// TestEveryGraphOperator checks that the cases above use every row that optest leaves to them.
func TestEveryGraphOperator(t *testing.T) {
	used := map[string]bool{}
	var visit func(g *graph.Graph)
	visit = func(g *graph.Graph) {
		for _, n := range g.Nodes {
			used[n.Op] = true
			for _, a := range n.Attrs {
				for _, sub := range a.Subgraphs() {
					visit(sub)
				}
			}
		}
	}
	for _, tt := range controlCases {
		visit(tt.graph)
	}
	for _, row := range standard.Registry().Rows() {
		if row.DynamicOutputs && row.Domain == "" && !used[row.Name] {
			t.Errorf("no case has %s", row.Name)
		}
	}
}

func runModel(t *testing.T, g *graph.Graph, in values) (map[string]tensor.Value, error) {
	t.Helper()
	kept := text(seq(sorted(in)...))
	m := &graph.Model{File: "control.onnx", Opsets: []graph.Opset{{Version: opset}}, Graph: g}
	s, err := byname.New(m, runtime.Options{Threads: 1})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var out map[string]tensor.Value
	for range 2 { // the second run starts from the memory of the first
		if out, err = s.RunValues(context.Background(), in); err != nil {
			return nil, err
		}
		if text(seq(sorted(in)...)) != kept {
			t.Error("an input was written")
		}
	}
	// Results must be the caller's: writing them changes no input.
	for _, v := range out {
		tensor.Walk(v, func(t *tensor.Tensor) { clear(t.Bytes()) })
	}
	if text(seq(sorted(in)...)) != kept {
		t.Error("a result shares memory with an input")
	}
	return s.RunValues(context.Background(), in)
}

func sorted(in values) []tensor.Value {
	var names []string
	for name := range in {
		names = append(names, name)
	}
	slices.Sort(names)
	var list []tensor.Value
	for _, name := range names {
		list = append(list, in[name])
	}
	return list
}

// text returns the type and the elements of a value.
func text(v tensor.Value) string {
	if v == nil {
		return "none"
	}
	s := v.String()
	tensor.Walk(v, func(t *tensor.Tensor) {
		for i := range t.Len() {
			s += " " + t.Text(i)
		}
	})
	return s
}

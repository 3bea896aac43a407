package exec_test

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
	"github.com/nacre-ml/nacre/runtime/internal/optest/nets"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// These tests run whole models of the operators that hold graphs or work on values other than
// tensors. Numbers are int64 vectors unless a name says more.

func seq(items ...tensor.Value) *tensor.Sequence { return &tensor.Sequence{Items: items} }

type values map[string]tensor.Value

// addUp adds x to a carried sum and outputs every sum. It stops above 10.
func addUp() *graph.Graph {
	return nets.Graph("i:int more:bool sum", "go next next",
		nets.Constant("ten", nets.Vec(10)), nets.Node("Add", "sum x", "next"), nets.Node("Add", "next i", "unused"),
		nets.Node("ReduceMax", "next", "top", graph.IntAttr("keepdims", 0)), nets.Node("Squeeze", "ten", "limit"), nets.Node("Less", "top limit", "go"))
}

var controlCases = []struct {
	name  string
	graph *graph.Graph
	in    values
	want  values
	say   string // part of the error message; empty for no error
}{
	{"if true", choose(), values{"c": nets.Scalar(true), "x": nets.Vec(1, 2)}, values{"y": nets.Vec(2, 4)}, ""},
	{"if false", choose(), values{"c": nets.Scalar(false), "x": nets.Vec(1, 2)}, values{"y": nets.Vec(1, 2, 1, 2)}, ""},
	{"if of two conditions", nets.Graph("c:bools x", "y", nets.Node("If", "c", "y",
		graph.GraphAttr("then_branch", nets.Graph("", "x")), graph.GraphAttr("else_branch", nets.Graph("", "x")))), values{"c": tensor.New(tensor.Bool, 2), "x": nets.Vec(1)}, nil, "not one bool"},
	{"if constant", nets.Graph("x", "y", nets.Constant("c", nets.Scalar(true)), nets.Node("If", "c", "y",
		graph.GraphAttr("then_branch", nets.Graph("", "t", nets.Node("Neg", "x", "t"))),
		graph.GraphAttr("else_branch", nets.Graph("", "e", nets.Node("Reshape", "x x", "e"))))), values{"x": nets.Vec(3)}, values{"y": nets.Vec(-3)}, ""},
	{"loop by count", looping(), values{"n": nets.Scalar[int64](3), "x": nets.Vec(1, 2), "s": nets.Vec(0, 0)},
		values{"last": nets.Vec(3, 6), "all": nets.Rows(2, 1, 2, 2, 4, 3, 6)}, ""},
	{"loop by condition", looping(), values{"n": nets.Scalar[int64](100), "x": nets.Vec(4), "s": nets.Vec(0)},
		values{"last": nets.Vec(12), "all": nets.Rows(1, 4, 8, 12)}, ""},
	{"loop never", looping(), values{"n": nets.Scalar[int64](0), "x": nets.Vec(4), "s": nets.Vec(7)},
		values{"last": nets.Vec(7), "all": tensor.New(tensor.I64, 0, 0)}, ""},
	{"loop that grows", nets.Graph("x n:int", "y", nets.Node("Loop", "n _ x", "y", graph.GraphAttr("body",
		nets.Graph("i:int c:bool v", "c2 w", nets.Node("Identity", "c", "c2"),
			nets.Node("Concat", "v v", "w", graph.IntAttr("axis", 0)))))),
		values{"x": nets.Vec(1), "n": nets.Scalar[int64](3)}, values{"y": nets.Vec(1, 1, 1, 1, 1, 1, 1, 1)}, ""},
	{"loop in loop", nets.Graph("x n:int", "y", nets.Node("Loop", "n _ x", "y", graph.GraphAttr("body",
		nets.Graph("i:int c:bool v", "c2 w", nets.Node("Identity", "c", "c2"),
			nets.Node("Loop", "n _ v", "w", graph.GraphAttr("body",
				nets.Graph("j:int d:bool u", "d2 t", nets.Node("Identity", "d", "d2"), nets.Node("Add", "u x", "t")))))))),
		values{"x": nets.Vec(1), "n": nets.Scalar[int64](3)}, values{"y": nets.Vec(10)}, ""},
	{"loop passes on", nets.Graph("x n:int", "y", nets.Node("Neg", "x", "m"),
		nets.Node("Loop", "n _ m", "k", graph.GraphAttr("body",
			nets.Graph("i:int c:bool v", "c v"))), nets.Node("Abs", "k", "y")), values{"x": nets.Vec(5), "n": nets.Scalar[int64](2)}, values{"y": nets.Vec(5)}, ""},
	{"loop body with other outputs", nets.Graph("x n:int", "y", nets.Node("Loop", "n _ x", "y", graph.GraphAttr("body",
		nets.Graph("i:int c:bool v", "c")))),
		values{"x": nets.Vec(5), "n": nets.Scalar[int64](2)}, nil, "body has 1 outputs"},
	{"scan", scanning(nil), values{"s": nets.Vec(0, 0), "x": nets.Rows(2, 1, 2, 3, 4)}, values{"last": nets.Vec(4, 6), "all": nets.Rows(2, 1, 2, 4, 6)}, ""},
	{"scan from the end", scanning([]*graph.Attr{graph.IntsAttr("scan_input_directions", 1), graph.IntsAttr("scan_output_directions", 1)}),
		values{"s": nets.Vec(0, 0), "x": nets.Rows(2, 1, 2, 3, 4)},
		values{"last": nets.Vec(4, 6), "all": nets.Rows(2, 4, 6, 3, 4)}, ""},
	{"scan along axis 1", scanning([]*graph.Attr{graph.IntsAttr("scan_input_axes", 1),
		graph.IntsAttr("scan_output_axes", -1)}),
		values{"s": nets.Vec(0, 0), "x": nets.Rows(2, 1, 2, 3, 4)},
		values{"last": nets.Vec(3, 7), "all": nets.Rows(2, 1, 3, 3, 7)}, ""},
	{"scan that carries its input", nets.Graph("s x:rows", "last all", nets.Node("Scan", "s x", "last all", graph.IntAttr("num_scan_inputs", 1), graph.GraphAttr("body",
		nets.Graph("s x", "x d", nets.Node("Sub", "x s", "d"))))),
		values{"s": nets.Vec(1, 1), "x": nets.Rows(2, 3, 4, 7, 6, 8, 9)},
		values{"last": nets.Vec(8, 9), "all": nets.Rows(2, 2, 3, 4, 2, 1, 3)}, ""},
	{"loop that carries its number", nets.Graph("n:int s:int", "last all",
		nets.Node("Loop", "n _ s", "last all", graph.GraphAttr("body",
			nets.Graph("i:int c:bool v:int", "c i d", nets.Node("Sub", "i v", "d"))))), values{"n": nets.Scalar[int64](4), "s": nets.Scalar[int64](-5)},
		values{"last": nets.Scalar[int64](3), "all": nets.Vec(5, 1, 1, 1)}, ""},
	{"construct and read", nets.Graph("x p:int", "y n", nets.Node("Neg", "x", "m"),
		nets.Node("SequenceConstruct", "x m", "q"),
		nets.Node("SequenceAt", "q p", "y"), nets.Node("SequenceLength", "q", "n")),
		values{"x": nets.Vec(1, 2), "p": nets.Scalar[int64](-1)},
		values{"y": nets.Vec(-1, -2), "n": nets.Scalar[int64](2)}, ""},
	{"read outside", nets.Graph("q:seq p:int", "y", nets.Node("SequenceAt", "q p", "y")), values{"q": seq(nets.Vec(1)), "p": nets.Scalar[int64](1)}, nil, "position 1"},
	{"insert", nets.Graph("q:seq x p:int", "r", nets.Node("SequenceInsert", "q x p", "r")),
		values{"q": seq(nets.Vec(1), nets.Vec(2)), "x": nets.Vec(3), "p": nets.Scalar[int64](1)}, values{"r": seq(nets.Vec(1), nets.Vec(3), nets.Vec(2))}, ""},
	{"append to none", nets.Graph("x", "r", nets.Node("SequenceEmpty", "", "q", graph.IntAttr("dtype", 7)), nets.Node("SequenceInsert", "q x", "r")),
		values{"x": nets.Vec(3)}, values{"r": seq(nets.Vec(3))}, ""},
	{"erase", nets.Graph("q:seq", "r", nets.Node("SequenceErase", "q", "r")), values{"q": seq(nets.Vec(1), nets.Vec(2))}, values{"r": seq(nets.Vec(1))}, ""},
	{"erase from none", nets.Graph("q:seq", "r", nets.Node("SequenceErase", "q", "r")),
		values{"q": seq()}, nil, "empty"},
	{"split and join", nets.Graph("x", "y q", nets.Node("SplitToSequence", "x", "q"), nets.Node("ConcatFromSequence", "q", "y", graph.IntAttr("axis", 0))),
		values{"x": nets.Vec(1, 2)}, values{"y": nets.Vec(1, 2), "q": seq(nets.Vec(1), nets.Vec(2))}, ""},
	{"split a view and change both", nets.Graph("x:rows", "y z q", nets.Node("Neg", "x", "m"), nets.Node("SplitToSequence", "m", "q"), nets.Node("Abs", "m", "z"),
		nets.Node("ConcatFromSequence", "q", "y", graph.IntAttr("axis", 1))),
		values{"x": nets.Rows(2, 1, 2, 3, 4)}, values{"y": nets.Rows(4, -1, -2, -3, -4), "z": nets.Rows(2, 1, 2, 3, 4), "q": seq(nets.Rows(2, -1, -2), nets.Rows(2, -3, -4))}, ""},
	{"split along axis 1", nets.Graph("x:rows n:int", "q r",
		nets.Node("SplitToSequence", "x n", "q", graph.IntAttr("axis", 1)),
		nets.Node("SplitToSequence", "x", "r", graph.IntAttr("axis", -1), graph.IntAttr("keepdims", 0))),
		values{"x": nets.Rows(3, 1, 2, 3, 4, 5, 6), "n": nets.Scalar[int64](2)},
		values{"q": seq(nets.Rows(2, 1, 2, 4, 5), nets.Rows(1, 3, 6)),
			"r": seq(nets.Vec(1, 4), nets.Vec(2, 5), nets.Vec(3, 6))}, ""},
	{"joined twice", nets.Graph("q:seq", "y z", nets.Node("ConcatFromSequence", "q", "y", graph.IntAttr("axis", 0)), nets.Node("Identity", "y", "z")),
		values{"q": seq(nets.Vec(1), nets.Vec(2))}, values{"y": nets.Vec(1, 2), "z": nets.Vec(1, 2)}, ""},
	{"map", nets.Graph("q:seq x", "r", nets.Node("SequenceMap", "q x", "r", graph.GraphAttr("body", nets.Graph("a b", "s", nets.Node("Add", "a b", "s"))))),
		values{"q": seq(nets.Vec(1), nets.Vec(2, 3)), "x": nets.Vec(10)},
		values{"r": seq(nets.Vec(11), nets.Vec(12, 13))}, ""},
	{"identity of a sequence", nets.Graph("q:seq", "r", nets.Node("Identity", "q", "r")), values{"q": seq(nets.Vec(1))}, values{"r": seq(nets.Vec(1))}, ""},
	{"optional", nets.Graph("x", "o h y", nets.Node("Optional", "x", "o"), nets.Node("OptionalHasElement", "o", "h"), nets.Node("OptionalGetElement", "o", "y")),
		values{"x": nets.Vec(1)}, values{"o": &tensor.Optional{Item: nets.Vec(1)}, "h": nets.Scalar(true),
			"y": nets.Vec(1)}, ""},
	{"empty optional", nets.Graph("o:opt", "y", nets.Node("OptionalGetElement", "o", "y")), values{"o": &tensor.Optional{}}, nil, "empty"},
}

func choose() *graph.Graph {
	return nets.Graph("c:bool x", "y", nets.Node("If", "c", "y",
		graph.GraphAttr("then_branch", nets.Graph("", "t", nets.Node("Add", "x x", "t"))),
		graph.GraphAttr("else_branch", nets.Graph("", "e", nets.Node("Concat", "x x", "e", graph.IntAttr("axis", 0))))))
}

func looping() *graph.Graph {
	return nets.Graph("n:int x s", "last all", nets.Node("Loop", "n _ s", "last all", graph.GraphAttr("body", addUp())))
}

func scanning(more []*graph.Attr) *graph.Graph {
	b := nets.Graph("s x", "next next", nets.Node("Add", "s x", "next"))
	return nets.Graph("s x:rows", "last all", nets.Node("Scan", "s x", "last all",
		append(more, graph.IntAttr("num_scan_inputs", 1), graph.GraphAttr("body", b))...))
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
	m := &graph.Model{File: "control.onnx", Opsets: []graph.Opset{{Version: nets.Opset}}, Graph: g}
	s, err := byname.New(m, runtime.Options{Threads: 1, MemoryLimit: 64 << 20})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return s.RunValues(ctx, in)
}

// TestNoOutputs runs models with a node on constants that has no named output, or that has a name
// only for the second.
func TestNoOutputs(t *testing.T) {
	for name, n := range map[string]*graph.Node{
		"none":   {Op: "Abs", Version: nets.Opset, Inputs: []string{"c"}, Outputs: []string{""}},
		"second": {Op: "TopK", Version: nets.Opset, Inputs: []string{"c", "k"}, Outputs: []string{"", "z"}},
	} {
		g := nets.Graph("x", "y", nets.Constant("c", nets.Vec(1, 2)), nets.Constant("k", nets.Vec(1)), n,
			nets.Node("Neg", "x", "y"))
		if name == "second" {
			g.Nodes[3].Inputs[0] = "z"
		}
		if _, err := runModel(t, g, values{"x": nets.Vec(1)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
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
	m := &graph.Model{File: "control.onnx", Opsets: []graph.Opset{{Version: nets.Opset}}, Graph: g}
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

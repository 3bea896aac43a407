package runtime_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// declaring returns a graph that declares the type of a value, or of an output.
func declaring(name string, t graph.Type, g *graph.Graph) *graph.Graph {
	for _, v := range g.Outputs {
		if v.Name == name {
			v.Type = t
			return g
		}
	}
	g.Values = append(g.Values, &graph.Value{Name: name, Type: t})
	return g
}

// TestVerdict checks that a model's errors are found with and without passes, also where passes
// would remove them.
func TestVerdict(t *testing.T) {
	ints, floats := graph.TensorOf(tensor.I64, nil), graph.TensorOf(tensor.F32, nil)
	for _, tt := range []struct {
		name  string
		graph *graph.Graph
		say   string // empty for a valid model
	}{
		{"a copy with an attribute", subgraph("x", "y", node("Identity", "x", "z", attr("to", 1)), node("Neg", "z", "y")), `attribute "to" is not one of Identity`},
		{"a copy that is the output", subgraph("x", "y", node("Neg", "x", "z"), node("Identity", "z", "y", attr("axis", 0))), `attribute "axis" is not one of Identity`},
		{"one operand without an axis", subgraph("x", "y", node("Concat", "x", "z"), node("Neg", "z", "y")), "attribute axis is missing"},
		{"a cast to its own type", subgraph("x", "y", node("Cast", "x", "z"), node("Neg", "z", "y")), "attribute"},
		{"a constant that is computed", subgraph("x", "y", constant("c", vec(1, 2)), node("Neg", "c", "d", attr("axis", 0)), node("Add", "x d", "y")), "attribute"},
		{"a node that nothing needs", subgraph("x", "y", node("Neg", "x", "y"), node("Abs", "x", "z", attr("axis", 0))), `attribute "axis" is not one of Abs`},
		{"a type that nothing needs", subgraph("x", "y", node("Neg", "x", "y"), node("Not", "x", "z")), "element type int64"},
		{"a node twice", subgraph("x", "y", node("Neg", "x", "a"), node("Neg", "x", "b", attr("axis", 0)), node("Add", "a b", "y")), `attribute "axis" is not one of Neg`},
		{"a node of a body", subgraph("c:bool x", "y", node("If", "c", "y",
			body("then_branch", subgraph("", "t", node("Neg", "x", "t"))),
			body("else_branch", subgraph("", "e", node("Identity", "x", "f", attr("to", 1)), node("Abs", "f", "e"))))), `attribute "to" is not one of Identity`},
		{"a flag of 2", subgraph("x", "y", node("ReduceMax", "x", "y", attr("keepdims", 2))), `attribute "keepdims" is 2`},
		{"a flag of -1", subgraph("x", "y", node("ReduceMax", "x", "z", attr("keepdims", -1)), node("Shape", "z", "y")), `attribute "keepdims" is -1`},
		{"an output of another type", declaring("y", floats, subgraph("x", "y", node("Neg", "x", "y"))), `"y" is declared to be float32[...], and is int64[?]`},
		{"an output that is an input", declaring("x", floats, subgraph("x", "x")), `"x" is declared to be float32`},
		{"a value of another type", declaring("z", floats, subgraph("x", "y", node("Identity", "x", "z"), node("Neg", "z", "y"))), `"z" is declared to be float32`},
		{"a value of another kind", declaring("z", graph.Type{Kind: graph.SequenceType, Elem: &ints}, subgraph("x", "y", node("Identity", "x", "z"), node("Neg", "z", "y"))), `"z" is declared to be sequence`},
		{"a value of a body of another type", subgraph("c:bool x", "y", node("If", "c", "y",
			body("then_branch", declaring("u", floats, subgraph("", "t", node("Abs", "x", "u"), node("Neg", "u", "t")))),
			body("else_branch", subgraph("", "e", node("Abs", "x", "e"))))), `"u" is declared to be float32`},

		{"other extents of an output", declaring("y", graph.TensorOf(tensor.I64, graph.Dims{graph.Known(2), graph.Known(3)}), subgraph("x", "y", node("Neg", "x", "y"))), ""},
		{"the types that it has", declaring("z", ints, declaring("y", ints, subgraph("x", "y", node("Identity", "x", "z"), node("Neg", "z", "y")))), ""},
		{"a type of a value that is not there", declaring("other", floats, subgraph("x", "y", node("Neg", "x", "y"))), ""},
		{"an operator that is not there and not needed", subgraph("x", "y", node("Neg", "x", "y"), node("Strange", "x", "z"), node("Not", "z", "u")), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var texts []string
			for _, plain := range []bool{false, true} {
				m := &graph.Model{File: "verdict.onnx", Opsets: []graph.Opset{{Version: opset}}, Graph: tt.graph}
				s, err := byname.New(m, runtime.Options{Threads: 1, NoOptimize: plain})
				if err == nil {
					s.Close()
				}
				switch {
				case tt.say == "" && err != nil:
					t.Fatal(err)
				case tt.say != "" && (err == nil || !strings.Contains(err.Error(), tt.say)):
					t.Fatalf("without passes %v: got %v, want an error that says %q", plain, err, tt.say)
				case err != nil && kindOf(err) == nil:
					t.Errorf("%v is of no kind", err)
				case err != nil:
					texts = append(texts, err.Error())
				}
			}
			if len(texts) == 2 && texts[0] != texts[1] {
				t.Errorf("with passes %q, without %q", texts[0], texts[1])
			}
		})
	}
}

// TestVerdictOfRuns checks that runs with and without passes end alike: passes neither remove a
// node that refuses an operand, nor compute one that only a run can.
func TestVerdictOfRuns(t *testing.T) {
	floats := tensor.New(tensor.F32, 1, 1, 2, 2)
	score := subgraph("t", "u", node("Neg", "t", "u"))
	score.Inputs[0].Type = graph.TensorOf(tensor.F32, nil)
	flex := node("FlexAttention", "q q q", "y", body("score_mod", score))
	flex.Domain, flex.Version = "ai.onnx.preview", 1
	for _, tt := range []struct {
		name  string
		graph *graph.Graph
		in    values
		fails bool
	}{
		{"a reshape that refuses, below another", subgraph("x s", "y", constant("two", vec(2, 3)), constant("six", vec(-1)),
			node("Slice", "x s s", "z"), node("Reshape", "z two", "r"), node("Reshape", "r six", "y")), values{"x": vec(1, 2, 3), "s": vec(0)}, true},
		{"a squeeze that refuses, below a reshape", subgraph("x:rows", "y", constant("all", vec(-1)), constant("first", vec(0)),
			node("Squeeze", "x first", "r"), node("Reshape", "r all", "y")), values{"x": rows(2, 1, 2, 3, 4)}, true},
		{"a reshape of nothing", subgraph("x:rows", "y", constant("same", vec(0, -1)), node("Reshape", "x same", "y")),
			values{"x": tensor.New(tensor.I64, 0, 3)}, false},
		{"bodies on constants", subgraph("", "y", constant("q", floats), flex), values{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, plain := range []bool{false, true} {
				m := &graph.Model{File: "verdict.onnx", Opsets: []graph.Opset{{Version: opset}}, Graph: tt.graph}
				s, err := byname.New(m, runtime.Options{Threads: 1, NoOptimize: plain})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				if _, err := s.RunValues(t.Context(), tt.in); (kindOf(err) != nil) != tt.fails || !tt.fails && err != nil {
					t.Errorf("without passes %v: %v", plain, err)
				}
			}
		})
	}
}

// kindOf returns the kind of an error of the model; nil for another.
func kindOf(err error) error {
	for _, kind := range []error{graph.ErrFormat, graph.ErrShape, graph.ErrUnsupported} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return nil
}

// TestNoOutputs runs models with a node on constants that has no named output, or that has a name
// only for the second.
func TestNoOutputs(t *testing.T) {
	for name, n := range map[string]*graph.Node{
		"none":   {Op: "Abs", Version: opset, Inputs: []string{"c"}, Outputs: []string{""}},
		"second": {Op: "TopK", Version: opset, Inputs: []string{"c", "k"}, Outputs: []string{"", "z"}},
	} {
		g := subgraph("x", "y", constant("c", vec(1, 2)), constant("k", vec(1)), n, node("Neg", "x", "y"))
		if name == "second" {
			g.Nodes[3].Inputs[0] = "z"
		}
		if _, err := runModel(t, g, values{"x": vec(1)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

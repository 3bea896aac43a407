package optimize_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/nets"
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
		{"a copy with an attribute", nets.Graph("x", "y", nets.Node("Identity", "x", "z", graph.IntAttr("to", 1)), nets.Node("Neg", "z", "y")), `attribute "to" is not one of Identity`},
		{"a copy that is the output", nets.Graph("x", "y", nets.Node("Neg", "x", "z"), nets.Node("Identity", "z", "y", graph.IntAttr("axis", 0))), `attribute "axis" is not one of Identity`},
		{"one operand without an axis", nets.Graph("x", "y", nets.Node("Concat", "x", "z"), nets.Node("Neg", "z", "y")), "attribute axis is missing"},
		{"a cast to its own type", nets.Graph("x", "y", nets.Node("Cast", "x", "z"),
			nets.Node("Neg", "z", "y")), "attribute"},
		{"a constant that is computed", nets.Graph("x", "y", nets.Constant("c", nets.Vec(1, 2)), nets.Node("Neg", "c", "d", graph.IntAttr("axis", 0)), nets.Node("Add", "x d", "y")), "attribute"},
		{"a node that nothing needs", nets.Graph("x", "y", nets.Node("Neg", "x", "y"), nets.Node("Abs", "x", "z", graph.IntAttr("axis", 0))), `attribute "axis" is not one of Abs`},
		{"a type that nothing needs", nets.Graph("x", "y", nets.Node("Neg", "x", "y"), nets.Node("Not", "x", "z")), "element type int64"},
		{"a node twice", nets.Graph("x", "y", nets.Node("Neg", "x", "a"), nets.Node("Neg", "x", "b", graph.IntAttr("axis", 0)), nets.Node("Add", "a b", "y")), `attribute "axis" is not one of Neg`},
		{"a node of a body", nets.Graph("c:bool x", "y", nets.Node("If", "c", "y",
			graph.GraphAttr("then_branch", nets.Graph("", "t", nets.Node("Neg", "x", "t"))),
			graph.GraphAttr("else_branch", nets.Graph("", "e", nets.Node("Identity", "x", "f", graph.IntAttr("to", 1)), nets.Node("Abs", "f", "e"))))), `attribute "to" is not one of Identity`},
		{"a flag of 2", nets.Graph("x", "y", nets.Node("ReduceMax", "x", "y", graph.IntAttr("keepdims", 2))), `attribute "keepdims" is 2`},
		{"a flag of -1", nets.Graph("x", "y", nets.Node("ReduceMax", "x", "z", graph.IntAttr("keepdims", -1)), nets.Node("Shape", "z", "y")), `attribute "keepdims" is -1`},
		{"an output of another type", declaring("y", floats, nets.Graph("x", "y", nets.Node("Neg", "x", "y"))), `"y" is declared to be float32[...], and is int64[?]`},
		{"an output that is an input", declaring("x", floats, nets.Graph("x", "x")), `"x" is declared to be float32`},
		{"a value of another type", declaring("z", floats, nets.Graph("x", "y", nets.Node("Identity", "x", "z"), nets.Node("Neg", "z", "y"))), `"z" is declared to be float32`},
		{"a value of another kind", declaring("z", graph.Type{Kind: graph.SequenceType, Elem: &ints}, nets.Graph("x", "y", nets.Node("Identity", "x", "z"), nets.Node("Neg", "z", "y"))), `"z" is declared to be sequence`},
		{"a value of a body of another type", nets.Graph("c:bool x", "y", nets.Node("If", "c", "y",
			graph.GraphAttr("then_branch", declaring("u", floats, nets.Graph("", "t", nets.Node("Abs", "x", "u"), nets.Node("Neg", "u", "t")))),
			graph.GraphAttr("else_branch", nets.Graph("", "e", nets.Node("Abs", "x", "e"))))),
			`"u" is declared to be float32`},

		{"other extents of an output", declaring("y", graph.TensorOf(tensor.I64, graph.Dims{graph.Known(2), graph.Known(3)}), nets.Graph("x", "y", nets.Node("Neg", "x", "y"))), ""},
		{"the types that it has", declaring("z", ints, declaring("y", ints, nets.Graph("x", "y", nets.Node("Identity", "x", "z"), nets.Node("Neg", "z", "y")))), ""},
		{"a type of a value that is not there", declaring("other", floats, nets.Graph("x", "y", nets.Node("Neg", "x", "y"))), ""},
		{"an operator that is not there and not needed", nets.Graph("x", "y", nets.Node("Neg", "x", "y"), nets.Node("Strange", "x", "z"), nets.Node("Not", "z", "u")), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var texts []string
			for _, plain := range []bool{false, true} {
				m := &graph.Model{File: "verdict.onnx", Opsets: []graph.Opset{{Version: nets.Opset}}, Graph: tt.graph}
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
	score := nets.Graph("t", "u", nets.Node("Neg", "t", "u"))
	score.Inputs[0].Type = graph.TensorOf(tensor.F32, nil)
	flex := nets.Node("FlexAttention", "q q q", "y", graph.GraphAttr("score_mod", score))
	flex.Domain, flex.Version = "ai.onnx.preview", 1
	for _, tt := range []struct {
		name  string
		graph *graph.Graph
		in    map[string]tensor.Value
		fails bool
	}{
		{"a reshape that refuses, below another", nets.Graph("x s", "y", nets.Constant("two", nets.Vec(2, 3)), nets.Constant("six", nets.Vec(-1)),
			nets.Node("Slice", "x s s", "z"), nets.Node("Reshape", "z two", "r"), nets.Node("Reshape", "r six", "y")), map[string]tensor.Value{"x": nets.Vec(1, 2, 3), "s": nets.Vec(0)}, true},
		{"a squeeze that refuses, below a reshape", nets.Graph("x:rows", "y", nets.Constant("all", nets.Vec(-1)), nets.Constant("first", nets.Vec(0)),
			nets.Node("Squeeze", "x first", "r"), nets.Node("Reshape", "r all", "y")), map[string]tensor.Value{"x": nets.Rows(2, 1, 2, 3, 4)}, true},
		{"a reshape of nothing", nets.Graph("x:rows", "y", nets.Constant("same", nets.Vec(0, -1)),
			nets.Node("Reshape", "x same", "y")),
			map[string]tensor.Value{"x": tensor.New(tensor.I64, 0, 3)}, false},
		{"bodies on constants", nets.Graph("", "y", nets.Constant("q", floats), flex),
			map[string]tensor.Value{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, plain := range []bool{false, true} {
				m := &graph.Model{File: "verdict.onnx", Opsets: []graph.Opset{{Version: nets.Opset}}, Graph: tt.graph}
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

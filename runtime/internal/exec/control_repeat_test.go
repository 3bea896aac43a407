package exec_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/nets"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// repeated is bodies of loops. Their outputs are their states, in the same order.
var repeated = []struct {
	name  string
	nodes []*graph.Node
	in    string // the states, then after a ; the captured values
	out   string
	start values
}{
	{"fixed", []*graph.Node{nets.Node("Add", "a x", "a2")}, "a ; x", "a2",
		values{"a": nets.Vec(1, 2), "x": nets.Vec(3, 4)}},
	{"passed on", nil, "a b", "a b", values{"a": nets.Vec(1), "b": nets.Vec(2)}},
	{"swapped", []*graph.Node{nets.Node("Add", "a b", "c")}, "a b", "b c", values{"a": nets.Vec(1), "b": nets.Vec(1)}},
	{"in a circle", []*graph.Node{nets.Node("Add", "a b", "d")}, "a b c", "b c d", values{"a": nets.Vec(1), "b": nets.Vec(2), "c": nets.Vec(3)}},
	{"the same twice", []*graph.Node{nets.Node("Add", "a b", "c")}, "a b", "c c",
		values{"a": nets.Vec(1), "b": nets.Vec(1)}},
	{"captured", []*graph.Node{nets.Node("Add", "x x", "c")}, "a b ; x", "x c", values{"a": nets.Vec(1), "b": nets.Vec(1), "x": nets.Vec(5)}},
	{"a view", []*graph.Node{nets.Constant("shape", nets.Vec(-1)), nets.Node("Add", "a a", "b"), nets.Node("Reshape", "b shape", "c")}, "a", "c", values{"a": nets.Vec(1, 2)}},
	{"longer along the first axis", []*graph.Node{nets.Node("Neg", "x", "r"), nets.Node("Concat", "a r", "a2", graph.IntAttr("axis", 0))}, "a ; x", "a2",
		values{"a": nets.Rows(2, 1, 2), "x": nets.Rows(2, 3, 4)}},
	{"longer from none", []*graph.Node{nets.Node("Neg", "x", "r"), nets.Node("Concat", "a r", "a2", graph.IntAttr("axis", 0))}, "a ; x", "a2",
		values{"a": tensor.New(tensor.I64, 0, 2), "x": nets.Rows(2, 3, 4)}},
	{"longer along the last axis",
		[]*graph.Node{nets.Node("Concat", "a x", "a2", graph.IntAttr("axis", 1))}, "a ; x", "a2",
		values{"a": nets.Rows(2, 1, 2, 3, 4), "x": nets.Rows(1, 7, 8)}},
	{"longer in front", []*graph.Node{nets.Node("Concat", "x a", "a2", graph.IntAttr("axis", 0))}, "a ; x", "a2", values{"a": nets.Vec(1), "x": nets.Vec(3, 4)}},
	{"twice as long", []*graph.Node{nets.Node("Concat", "a a", "a2", graph.IntAttr("axis", 0))}, "a", "a2",
		values{"a": nets.Vec(1)}},
	{"longer by what it holds", []*graph.Node{nets.Node("ReduceSum", "a", "s", graph.IntAttr("keepdims", 1)), nets.Node("Concat", "a s", "a2", graph.IntAttr("axis", 0))}, "a", "a2",
		values{"a": nets.Vec(1)}},
	{"longer by its last", []*graph.Node{nets.Constant("from", nets.Vec(-1)), nets.Constant("to", nets.Vec(1<<62)), nets.Node("Slice", "a from to", "s"), nets.Node("Add", "s x", "t"),
		nets.Node("Concat", "a t", "a2", graph.IntAttr("axis", 0))}, "a ; x", "a2",
		values{"a": nets.Vec(1), "x": nets.Vec(3)}},
	{"two equally long", []*graph.Node{nets.Node("Add", "a b", "c"), nets.Node("ReduceSum", "c", "s", graph.IntAttr("keepdims", 1)), nets.Node("Concat", "a s", "a2", graph.IntAttr("axis", 0)),
		nets.Node("Concat", "b x", "b2", graph.IntAttr("axis", 0))}, "a b ; x", "a2 b2", values{"a": nets.Vec(1), "b": nets.Vec(2), "x": nets.Vec(3)}},
	{"two of different lengths", []*graph.Node{nets.Node("Concat", "a x", "a2", graph.IntAttr("axis", 0)), nets.Node("Concat", "b x x", "b2", graph.IntAttr("axis", 0))},
		"a b ; x", "a2 b2", values{"a": nets.Vec(1), "b": nets.Vec(2), "x": nets.Vec(3)}},
	{"two that are crossed", []*graph.Node{nets.Node("Concat", "a x", "a2", graph.IntAttr("axis", 0)), nets.Node("Concat", "b x", "b2", graph.IntAttr("axis", 0))},
		"a b ; x", "b2 a2", values{"a": nets.Vec(1), "b": nets.Vec(2), "x": nets.Vec(3)}},
	{"one beside a fixed one", []*graph.Node{nets.Node("Add", "b x", "b2"), nets.Node("Concat", "a b2", "a2", graph.IntAttr("axis", 0))}, "a b ; x", "a2 b2",
		values{"a": nets.Vec(1), "b": nets.Vec(2), "x": nets.Vec(3)}},
	{"longer, then turned", []*graph.Node{nets.Node("Transpose", "a", "t", graph.IntsAttr("perm", 1, 0)), nets.Node("Concat", "t t", "a2", graph.IntAttr("axis", 0))}, "a", "a2",
		values{"a": nets.Rows(1, 1, 2)}},
	{"shorter", []*graph.Node{nets.Constant("from", nets.Vec(1)), nets.Constant("to", nets.Vec(1<<62)), nets.Node("Slice", "a from to", "a2")}, "a", "a2",
		values{"a": nets.Vec(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)}},
	{"longer until a limit", []*graph.Node{nets.Node("Concat", "a x", "b", graph.IntAttr("axis", 0)), nets.Constant("from", nets.Vec(-4)), nets.Constant("to", nets.Vec(1<<62)),
		nets.Node("Slice", "b from to", "a2")}, "a ; x", "a2", values{"a": nets.Vec(1), "x": nets.Vec(3)}},
	{"longer by what is not 0", []*graph.Node{nets.Node("Add", "b x", "b2"), nets.Constant("two", nets.Vec(2)), nets.Node("Mod", "b2 two", "m"), nets.Node("Cast", "m", "k", graph.IntAttr("to", 9)),
		nets.Node("Compress", "b2 k", "p", graph.IntAttr("axis", 0)), nets.Node("Concat", "a p", "a2", graph.IntAttr("axis", 0))}, "a b ; x", "a2 b2",
		values{"a": nets.Vec(1), "b": nets.Vec(2, 5, 6), "x": nets.Vec(1, 1, 3)}},
	{"a sequence", []*graph.Node{nets.Node("Add", "a x", "a2"), nets.Node("SequenceInsert", "q a2", "q2")}, "a q:seq ; x", "a2 q2",
		values{"a": nets.Vec(1), "q": seq(nets.Vec(9)), "x": nets.Vec(3)}},
	{"a sequence of states", []*graph.Node{nets.Node("SequenceInsert", "q a", "q2"), nets.Node("Add", "a x", "a2")}, "a q:seq ; x", "a2 q2",
		values{"a": nets.Vec(1), "q": seq(), "x": nets.Vec(3)}},
	{"two sequences of one", []*graph.Node{nets.Node("Neg", "x", "y"), nets.Node("SequenceInsert", "q x", "q2"), nets.Node("SequenceInsert", "q y", "r2")}, "q:seq r:seq ; x", "q2 r2",
		values{"q": seq(), "r": seq(), "x": nets.Vec(3)}},
	{"an element of a sequence", []*graph.Node{nets.Constant("last", nets.Scalar[int64](-1)), nets.Node("SequenceAt", "q last", "e"), nets.Node("Add", "e a", "a2"), nets.Node("SequenceInsert", "q a2", "q2")},
		"a q:seq", "a2 q2", values{"a": nets.Vec(1), "q": seq(nets.Vec(5))}},
	{"a branch", []*graph.Node{nets.Constant("ten", nets.Vec(10)), nets.Node("Less", "a ten", "l"), nets.Node("Squeeze", "l", "c"), nets.Node("If", "c", "a2",
		graph.GraphAttr("then_branch", nets.Graph("", "t", nets.Node("Add", "a x", "t"))), graph.GraphAttr("else_branch", nets.Graph("", "e", nets.Node("Identity", "x", "e"))))},
		"a ; x", "a2", values{"a": nets.Vec(1), "x": nets.Vec(4)}},
	{"a branch that makes it longer", []*graph.Node{nets.Node("ReduceSum", "a", "s", graph.IntAttr("keepdims", 0)), nets.Constant("ten", nets.Scalar[int64](10)), nets.Node("Less", "s ten", "c"),
		nets.Node("If", "c", "a2", graph.GraphAttr("then_branch", nets.Graph("", "t", nets.Node("Concat", "a x", "t", graph.IntAttr("axis", 0)))), graph.GraphAttr("else_branch", nets.Graph("", "e", nets.Node("Neg", "a", "e"))))},
		"a ; x", "a2", values{"a": nets.Vec(1), "x": nets.Vec(4)}},
	{"cut by a state", []*graph.Node{nets.Constant("one", nets.Vec(1)), nets.Node("Add", "k one", "k2"), nets.Node("Slice", "x k k2", "r"), nets.Node("Neg", "r", "m"), nets.Node("Add", "a m", "a2")},
		"a k ; x", "a2 k2", values{"a": nets.Vec(1), "k": nets.Vec(0),
			"x": nets.Vec(3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8)}},
	{"as long as a state says", []*graph.Node{nets.Constant("one", nets.Vec(1)), nets.Node("Add", "k one", "k2"), nets.Node("Add", "a k", "b"), nets.Node("Expand", "one k", "e"),
		nets.Node("ReduceSum", "e", "s", graph.IntAttr("keepdims", 1)), nets.Node("Add", "b s", "a2"), nets.Constant("minus", nets.Vec(-1)), nets.Node("Reshape", "b minus", "c2")},
		"a k c", "a2 k2 c2", values{"a": nets.Vec(1), "k": nets.Vec(1), "c": nets.Vec(0)}},
	{"in a shape that a state says", []*graph.Node{nets.Constant("one", nets.Vec(1)), nets.Node("Add", "k one", "k2"), nets.Node("Concat", "one k2", "shape", graph.IntAttr("axis", 0)),
		nets.Node("Expand", "one k2", "e"), nets.Node("Add", "e k", "m"), nets.Node("Reshape", "m shape", "v"), nets.Node("Expand", "one shape", "f"), nets.Node("Mul", "v f", "w"),
		nets.Node("ReduceSum", "w", "s", graph.IntAttr("keepdims", 0)), nets.Node("Add", "a s", "a2")}, "a k", "a2 k2", values{"a": nets.Vec(1), "k": nets.Vec(1)}},
	{"a loop within", []*graph.Node{nets.Constant("n2", nets.Scalar[int64](3)),
		nets.Node("Loop", "n2 _ a", "a2", graph.GraphAttr("body",
			nets.Graph("j:int d:bool u", "d w", nets.Node("Concat", "u x", "w", graph.IntAttr("axis", 0)))))}, "a ; x", "a2", values{"a": nets.Vec(1), "x": nets.Vec(4)}},
}

// TestLoopIsItsIterations compares loops with as many runs of one iteration, each on the results of
// the run before.
func TestLoopIsItsIterations(t *testing.T) {
	for _, tt := range repeated {
		t.Run(tt.name, func(t *testing.T) {
			s := sessionOf(t, loopOf(tt.nodes, tt.in, tt.out))
			states := statesOf(tt.in)
			run := func(n int, in values) values {
				in["n"] = nets.Scalar(int64(n))
				got, err := s.RunValues(t.Context(), in)
				if err != nil {
					t.Fatal(err)
				}
				out := maps.Clone(in)
				for i, name := range states {
					out[name] = got[fmt.Sprint("out", i)]
				}
				return out
			}
			step := run(0, maps.Clone(tt.start))
			for n := 1; n <= 11; n++ {
				step = run(1, step)
				all := run(n, maps.Clone(tt.start))
				for _, name := range states {
					if text(all[name]) != text(step[name]) {
						t.Fatalf("%d iterations make %s %s, and one after the other %s", n, name, text(all[name]), text(step[name]))
					}
				}
			}
		})
	}
}

func statesOf(in string) []string {
	list := slices.DeleteFunc(strings.Fields(in), func(s string) bool { return s == ";" })
	if i := slices.Index(strings.Fields(in), ";"); i >= 0 {
		list = list[:i]
	}
	for i, s := range list {
		list[i] = nets.Value(s).Name
	}
	return list
}

// loopOf returns a graph of one loop of n iterations. If other values than tensors occur, values of
// any rank are declared to be vectors.
func loopOf(nodes []*graph.Node, in, out string) *graph.Graph {
	list := strings.Fields(in)
	names, results, inner, all := "n _", "", "i:int go:bool", "n:int"
	captured := false
	for _, spec := range list {
		if captured = captured || spec == ";"; spec == ";" {
			continue
		}
		all += " " + spec
		if captured {
			continue
		}
		results += fmt.Sprintf(" out%d", len(strings.Fields(results)))
		names += " " + nets.Value(spec).Name
		inner += " " + spec
	}
	b := nets.Graph(inner, "go "+out, nodes...)
	g := nets.Graph(all, results, nets.Node("Loop", names, results, graph.GraphAttr("body", b)))
	for _, x := range []*graph.Graph{b, g} {
		for _, v := range x.Inputs {
			if v.Name != "n" && v.Name != "i" && v.Name != "go" && v.Type.Kind == graph.TensorType {
				v.Type = graph.TensorOf(tensor.I64, nil)
			}
		}
	}
	return g
}

func sessionOf(t *testing.T, g *graph.Graph) byname.Session {
	t.Helper()
	m := &graph.Model{File: "control.onnx", Opsets: []graph.Opset{{Version: nets.Opset}}, Graph: g}
	s, err := byname.New(m, runtime.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestIterationsTakeLittle bounds the memory allocations that one more iteration costs. A plan for
// each length, or a copy of a sequence in each iteration, takes far more.
func TestIterationsTakeLittle(t *testing.T) {
	bounds := map[string]float64{
		"fixed": 2, "swapped": 2, "longer along the first axis": 2, "longer by its last": 2, "longer by what it holds": 2, "a sequence of states": 8,
	}
	for _, tt := range repeated {
		bound, ok := bounds[tt.name]
		if !ok {
			continue
		}
		s := sessionOf(t, loopOf(tt.nodes, tt.in, tt.out))
		allocations := func(n int64) float64 {
			in := maps.Clone(tt.start)
			in["n"] = nets.Scalar(n)
			return testing.AllocsPerRun(3, func() {
				if _, err := s.RunValues(t.Context(), in); err != nil {
					t.Fatal(err)
				}
			})
		}
		const few, many = 100, 500
		results := 0.0 // of a sequence: its elements are copied for the caller
		if strings.Contains(tt.in, ":seq") {
			results = 4
		}
		first := allocations(few)
		if each := (allocations(many)-first)/(many-few) - results; each > bound {
			t.Errorf("%s: one more iteration makes %.1f allocations, want at most %.0f", tt.name, each, bound)
		}
	}
}

package runtime_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
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
	{"fixed", []*graph.Node{node("Add", "a x", "a2")}, "a ; x", "a2", values{"a": vec(1, 2), "x": vec(3, 4)}},
	{"passed on", nil, "a b", "a b", values{"a": vec(1), "b": vec(2)}},
	{"swapped", []*graph.Node{node("Add", "a b", "c")}, "a b", "b c", values{"a": vec(1), "b": vec(1)}},
	{"in a circle", []*graph.Node{node("Add", "a b", "d")}, "a b c", "b c d", values{"a": vec(1), "b": vec(2), "c": vec(3)}},
	{"the same twice", []*graph.Node{node("Add", "a b", "c")}, "a b", "c c", values{"a": vec(1), "b": vec(1)}},
	{"captured", []*graph.Node{node("Add", "x x", "c")}, "a b ; x", "x c", values{"a": vec(1), "b": vec(1), "x": vec(5)}},
	{"a view", []*graph.Node{constant("shape", vec(-1)), node("Add", "a a", "b"), node("Reshape", "b shape", "c")}, "a", "c", values{"a": vec(1, 2)}},
	{"longer along the first axis", []*graph.Node{node("Neg", "x", "r"), node("Concat", "a r", "a2", attr("axis", 0))}, "a ; x", "a2",
		values{"a": rows(2, 1, 2), "x": rows(2, 3, 4)}},
	{"longer from none", []*graph.Node{node("Neg", "x", "r"), node("Concat", "a r", "a2", attr("axis", 0))}, "a ; x", "a2",
		values{"a": tensor.New(tensor.I64, 0, 2), "x": rows(2, 3, 4)}},
	{"longer along the last axis", []*graph.Node{node("Concat", "a x", "a2", attr("axis", 1))}, "a ; x", "a2",
		values{"a": rows(2, 1, 2, 3, 4), "x": rows(1, 7, 8)}},
	{"longer in front", []*graph.Node{node("Concat", "x a", "a2", attr("axis", 0))}, "a ; x", "a2", values{"a": vec(1), "x": vec(3, 4)}},
	{"twice as long", []*graph.Node{node("Concat", "a a", "a2", attr("axis", 0))}, "a", "a2", values{"a": vec(1)}},
	{"longer by what it holds", []*graph.Node{node("ReduceSum", "a", "s", attr("keepdims", 1)), node("Concat", "a s", "a2", attr("axis", 0))}, "a", "a2",
		values{"a": vec(1)}},
	{"longer by its last", []*graph.Node{constant("from", vec(-1)), constant("to", vec(1<<62)), node("Slice", "a from to", "s"), node("Add", "s x", "t"),
		node("Concat", "a t", "a2", attr("axis", 0))}, "a ; x", "a2", values{"a": vec(1), "x": vec(3)}},
	{"two equally long", []*graph.Node{node("Add", "a b", "c"), node("ReduceSum", "c", "s", attr("keepdims", 1)), node("Concat", "a s", "a2", attr("axis", 0)),
		node("Concat", "b x", "b2", attr("axis", 0))}, "a b ; x", "a2 b2", values{"a": vec(1), "b": vec(2), "x": vec(3)}},
	{"two of different lengths", []*graph.Node{node("Concat", "a x", "a2", attr("axis", 0)), node("Concat", "b x x", "b2", attr("axis", 0))},
		"a b ; x", "a2 b2", values{"a": vec(1), "b": vec(2), "x": vec(3)}},
	{"two that are crossed", []*graph.Node{node("Concat", "a x", "a2", attr("axis", 0)), node("Concat", "b x", "b2", attr("axis", 0))},
		"a b ; x", "b2 a2", values{"a": vec(1), "b": vec(2), "x": vec(3)}},
	{"one beside a fixed one", []*graph.Node{node("Add", "b x", "b2"), node("Concat", "a b2", "a2", attr("axis", 0))}, "a b ; x", "a2 b2",
		values{"a": vec(1), "b": vec(2), "x": vec(3)}},
	{"longer, then turned", []*graph.Node{node("Transpose", "a", "t", attrs("perm", 1, 0)), node("Concat", "t t", "a2", attr("axis", 0))}, "a", "a2",
		values{"a": rows(1, 1, 2)}},
	{"shorter", []*graph.Node{constant("from", vec(1)), constant("to", vec(1<<62)), node("Slice", "a from to", "a2")}, "a", "a2",
		values{"a": vec(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)}},
	{"longer until a limit", []*graph.Node{node("Concat", "a x", "b", attr("axis", 0)), constant("from", vec(-4)), constant("to", vec(1<<62)),
		node("Slice", "b from to", "a2")}, "a ; x", "a2", values{"a": vec(1), "x": vec(3)}},
	{"longer by what is not 0", []*graph.Node{node("Add", "b x", "b2"), constant("two", vec(2)), node("Mod", "b2 two", "m"), node("Cast", "m", "k", attr("to", 9)),
		node("Compress", "b2 k", "p", attr("axis", 0)), node("Concat", "a p", "a2", attr("axis", 0))}, "a b ; x", "a2 b2",
		values{"a": vec(1), "b": vec(2, 5, 6), "x": vec(1, 1, 3)}},
	{"a sequence", []*graph.Node{node("Add", "a x", "a2"), node("SequenceInsert", "q a2", "q2")}, "a q:seq ; x", "a2 q2",
		values{"a": vec(1), "q": seq(vec(9)), "x": vec(3)}},
	{"a sequence of states", []*graph.Node{node("SequenceInsert", "q a", "q2"), node("Add", "a x", "a2")}, "a q:seq ; x", "a2 q2",
		values{"a": vec(1), "q": seq(), "x": vec(3)}},
	{"two sequences of one", []*graph.Node{node("Neg", "x", "y"), node("SequenceInsert", "q x", "q2"), node("SequenceInsert", "q y", "r2")}, "q:seq r:seq ; x", "q2 r2",
		values{"q": seq(), "r": seq(), "x": vec(3)}},
	{"an element of a sequence", []*graph.Node{constant("last", scalar[int64](-1)), node("SequenceAt", "q last", "e"), node("Add", "e a", "a2"), node("SequenceInsert", "q a2", "q2")},
		"a q:seq", "a2 q2", values{"a": vec(1), "q": seq(vec(5))}},
	{"a branch", []*graph.Node{constant("ten", vec(10)), node("Less", "a ten", "l"), node("Squeeze", "l", "c"), node("If", "c", "a2",
		body("then_branch", subgraph("", "t", node("Add", "a x", "t"))), body("else_branch", subgraph("", "e", node("Identity", "x", "e"))))},
		"a ; x", "a2", values{"a": vec(1), "x": vec(4)}},
	{"a branch that makes it longer", []*graph.Node{node("ReduceSum", "a", "s", attr("keepdims", 0)), constant("ten", scalar[int64](10)), node("Less", "s ten", "c"),
		node("If", "c", "a2", body("then_branch", subgraph("", "t", node("Concat", "a x", "t", attr("axis", 0)))), body("else_branch", subgraph("", "e", node("Neg", "a", "e"))))},
		"a ; x", "a2", values{"a": vec(1), "x": vec(4)}},
	{"cut by a state", []*graph.Node{constant("one", vec(1)), node("Add", "k one", "k2"), node("Slice", "x k k2", "r"), node("Neg", "r", "m"), node("Add", "a m", "a2")},
		"a k ; x", "a2 k2", values{"a": vec(1), "k": vec(0), "x": vec(3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8)}},
	{"as long as a state says", []*graph.Node{constant("one", vec(1)), node("Add", "k one", "k2"), node("Add", "a k", "b"), node("Expand", "one k", "e"),
		node("ReduceSum", "e", "s", attr("keepdims", 1)), node("Add", "b s", "a2"), constant("minus", vec(-1)), node("Reshape", "b minus", "c2")},
		"a k c", "a2 k2 c2", values{"a": vec(1), "k": vec(1), "c": vec(0)}},
	{"a loop within", []*graph.Node{constant("n2", scalar[int64](3)), node("Loop", "n2 _ a", "a2", body("body",
		subgraph("j:int d:bool u", "d w", node("Concat", "u x", "w", attr("axis", 0)))))}, "a ; x", "a2", values{"a": vec(1), "x": vec(4)}},
}

// TestLoopIsItsIterations compares loops with as many runs of one iteration, each on the results of
// the run before.
func TestLoopIsItsIterations(t *testing.T) {
	for _, tt := range repeated {
		t.Run(tt.name, func(t *testing.T) {
			s := sessionOf(t, loopOf(tt.nodes, tt.in, tt.out))
			states := statesOf(tt.in)
			run := func(n int, in values) values {
				in["n"] = scalar(int64(n))
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
		list[i] = value(s).Name
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
		names += " " + value(spec).Name
		inner += " " + spec
	}
	b := subgraph(inner, "go "+out, nodes...)
	g := subgraph(all, results, node("Loop", names, results, body("body", b)))
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
	m := &graph.Model{File: "control.onnx", Opsets: []graph.Opset{{Version: opset}}, Graph: g}
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
			in["n"] = scalar(n)
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

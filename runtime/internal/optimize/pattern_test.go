package optimize

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// matcherOf returns a matcher of a graph with the inputs a, b and p, vectors of two
// elements, and the given constants. A node is an operator, its inputs and its output.
func matcherOf(constants map[string]float64, nodes ...[]string) *matcher {
	g := &graph.Graph{Name: "g"}
	for _, name := range []string{"a", "b", "p"} {
		g.Inputs = append(g.Inputs, &graph.Value{Name: name, Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Known(2)})})
	}
	for name, c := range constants {
		t := tensor.New(tensor.F32)
		kit.SetNumbers(t, []float64{c})
		g.Initializers = append(g.Initializers, &graph.Initializer{Name: name, Tensor: t})
	}
	for _, n := range nodes {
		last := len(n) - 1
		g.Nodes = append(g.Nodes, &graph.Node{Op: n[0], Version: 18, Inputs: n[1:last], Outputs: n[last:]})
	}
	g.Outputs = []*graph.Value{{Name: g.Nodes[len(g.Nodes)-1].Outputs[0]}}
	m := &graph.Model{Graph: g}
	eval := func(n *graph.Node, _ []*tensor.Tensor) ([]*tensor.Tensor, error) {
		return nil, fmt.Errorf("%s is not evaluated", n.Op)
	}
	return newMatcher(newScope(Context{Registry: standard.Registry(), Eval: eval}, m, g, nil, newNames(m)))
}

func TestPatterns(t *testing.T) {
	const c parameter = "c"
	two := map[string]float64{"two": 2, "four": 4}
	for _, tt := range []struct {
		name    string
		pattern pattern
		nodes   [][]string
		want    []string // x, y and c of every match
	}{
		{"order of operands", add(x, y), [][]string{{"Add", "a", "b", "out"}}, []string{"a b 0", "b a 0"}},
		{"fixed order", sub(x, y), [][]string{{"Sub", "a", "b", "out"}}, []string{"a b 0"}},
		{"one variable twice", mul(x, apply("Tanh", x)), [][]string{{"Tanh", "b", "t"}, {"Mul", "t", "b", "out"}}, []string{"b  0"}},
		{"two values for one variable", mul(x, apply("Tanh", x)), [][]string{{"Tanh", "b", "t"}, {"Mul", "t", "a", "out"}}, nil},
		{"backtracking into an operand", add(mul(x, y), apply("Exp", x)),
			[][]string{{"Mul", "a", "b", "m"}, {"Exp", "b", "e"}, {"Add", "m", "e", "out"}}, []string{"b a 0"}},
		{"copies", mul(x, apply("Tanh", x)), [][]string{{"Identity", "b", "i"}, {"Tanh", "i", "t"}, {"Mul", "t", "b", "out"}}, []string{"b  0"}},
		{"alternatives", either(apply("Exp", x), apply("Tanh", y)), [][]string{{"Tanh", "a", "out"}}, []string{" a 0"}},
		{"number", plus(exact(2), x), [][]string{{"Add", "two", "a", "out"}}, []string{"a  0"}},
		{"another number", plus(exact(2), x), [][]string{{"Add", "four", "a", "out"}}, nil},
		{"product without a number", product(c, x), [][]string{{"Tanh", "a", "out"}}, []string{"out  1"}},
		{"grouped factors", product(near(0.5), x, apply("Exp", y)),
			[][]string{{"Exp", "b", "e"}, {"Mul", "two", "e", "f"}, {"Div", "a", "four", "g"}, {"Mul", "f", "g", "out"}}, []string{"a b 0"}},
		{"cube", product(exact(4), x, x, x), [][]string{{"Pow", "a", "two", "s"}, {"Mul", "a", "four", "f"}, {"Mul", "s", "f", "out"}},
			slices.Repeat([]string{"a  0"}, 6)},
		{"other factors", product(exact(1), x, x), [][]string{{"Mul", "a", "b", "out"}}, nil},
		{"quotient by a value", product(c, x, y), [][]string{{"Div", "a", "b", "out"}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := matcherOf(two, tt.nodes...)
			var got []string
			root := m.live[len(m.live)-1]
			var last *match
			if m.find(tt.pattern, root, func(found *match) bool {
				got, last = append(got, fmt.Sprint(found.values[x], " ", found.values[y], " ", found.numbers[c])), found
				return false
			}) {
				t.Error("found a match that was refused")
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if last != nil && (len(last.values) > 0 || len(last.numbers) > 0 || len(last.nodes) > 0) {
				t.Errorf("after the last match %v, %v and %d nodes are bound", last.values, last.numbers, len(last.nodes))
			}
		})
	}
}

func TestPrivate(t *testing.T) {
	m := matcherOf(nil, []string{"Tanh", "a", "t"}, []string{"Exp", "t", "e"}, []string{"Shape", "t", "s"},
		[]string{"Add", "e", "t", "out"})
	tanh, exp, sum := m.producer("t", "Tanh"), m.producer("e", "Exp"), m.producer("out", "Add")
	if !m.private([]*graph.Node{tanh, exp, sum}, sum) {
		t.Error("all consumers are in the pattern")
	}
	if m.private([]*graph.Node{tanh, exp}, exp) {
		t.Error("a consumer is outside of the pattern")
	}
	if m.consumer(tanh) != nil || m.consumer(exp) != sum || m.consumer(sum) != nil {
		t.Error("consumer found a wrong node")
	}
}

func TestClasses(t *testing.T) {
	n, k, l := graph.Symbol("n"), graph.Symbol("k"), graph.Symbol("l")
	c := classes{}
	c.join(n, k)
	c.join(graph.Known(3), l)
	if !c.equal(n, k) || c.equal(n, l) || !c.equal(l, graph.Known(3)) {
		t.Error("wrong before the classes are joined")
	}
	c.join(l, k)
	if !c.equal(n, graph.Known(3)) || c.equal(n, graph.Known(4)) {
		t.Error("wrong after the classes are joined")
	}
	if c.join(graph.Unknown(), n); c.equal(graph.Unknown(), n) || c.equal(graph.Unknown(), graph.Unknown()) {
		t.Error("an unknown extent equals another")
	}
}

package optimize_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/internal/optimize"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var operators = sync.OnceValue(standard.Registry)

func standardNode(op string, in []string, out string, attrs ...*graph.Attr) *graph.Node {
	return &graph.Node{Name: "n_" + out, Op: op, Version: 18, Inputs: in, Outputs: []string{out}, Attrs: attrs}
}

func gradientOf(y string, xs, inputs, outputs []string) *graph.Node {
	list := &graph.Attr{Name: "xs", Kind: graph.AttrStrings}
	for _, x := range xs {
		list.Strs = append(list.Strs, []byte(x))
	}
	return &graph.Node{Name: "gradient", Domain: "ai.onnx.preview.training", Op: "Gradient", Version: 1, Inputs: inputs, Outputs: outputs,
		Attrs: []*graph.Attr{list, {Name: "y", Kind: graph.AttrString, Str: []byte(y)}}}
}

func intsAttr(name string, list ...int64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrInts, Ints: list}
}

func intAttr(name string, v int64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrInt, Int: v}
}

// evaluate computes every node of a graph.
func evaluate(t *testing.T, m *graph.Model, values map[string]*tensor.Tensor) map[string]*tensor.Tensor {
	t.Helper()
	all := map[string]*tensor.Tensor{}
	for name, v := range values {
		all[name] = v
	}
	for _, init := range m.Graph.Initializers {
		all[init.Name] = init.Tensor
	}
	registry := operators()
	for _, n := range graph.Sorted(m.Graph.Nodes) {
		in := make([]*tensor.Tensor, len(n.Inputs))
		for i, name := range n.Inputs {
			in[i] = all[name]
		}
		out, err := cpu.Eval(registry, n, 0, nil, in)
		if err != nil {
			t.Fatalf("node %q (%s): %v", n.Label(), n.OpName(), err)
		}
		for i, name := range n.Outputs {
			all[name] = out[i]
		}
	}
	return all
}

func random64(r *rand.Rand, lo, hi float64, shape ...int) *tensor.Tensor {
	x := tensor.New(tensor.F64, shape...)
	for i := range tensor.View[float64](x) {
		tensor.View[float64](x)[i] = lo + (hi-lo)*r.Float64()
	}
	return x
}

func total(x *tensor.Tensor) float64 {
	sum := 0.0
	for _, v := range tensor.View[float64](x) {
		sum += v
	}
	return sum
}

// TestDerivatives compares derivatives with difference quotients, for each operator and each of its
// inputs.
func TestDerivatives(t *testing.T) {
	testenv.Need(t, bindings.Available())
	axes, err := tensor.From([]int64{-1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	shape, err := tensor.From([]int64{4, 3}, 2)
	if err != nil {
		t.Fatal(err)
	}
	ab := []string{"a", "b"}
	half := &graph.Attr{Name: "alpha", Kind: graph.AttrFloat, Float: 0.5}
	twice := &graph.Attr{Name: "beta", Kind: graph.AttrFloat, Float: 2}
	equation := &graph.Attr{Name: "equation", Kind: graph.AttrString, Str: []byte("ij,jk->ki")}
	tests := []struct {
		op     string
		in     []string
		attrs  []*graph.Attr
		shapes [][]int
	}{
		{"Add", ab, nil, [][]int{{3, 4}, {4}}},
		{"Sum", []string{"a", "b", "a"}, nil, [][]int{{3, 1}, {3, 4}}},
		{"Sub", ab, nil, [][]int{{1, 4}, {3, 4}}},
		{"Mul", ab, nil, [][]int{{3, 4}, {3, 1}}},
		{"Mul", []string{"a", "a"}, nil, [][]int{{3, 4}}},
		{"Div", ab, nil, [][]int{{2, 3, 4}, {3, 1}}},
		{"Pow", ab, nil, [][]int{{3, 4}, {}}},
		{"Neg", []string{"a"}, nil, [][]int{{3}}},
		{"Abs", []string{"a"}, nil, [][]int{{3}}},
		{"Exp", []string{"a"}, nil, [][]int{{3}}},
		{"Log", []string{"a"}, nil, [][]int{{3}}},
		{"Sqrt", []string{"a"}, nil, [][]int{{3}}},
		{"Reciprocal", []string{"a"}, nil, [][]int{{3}}},
		{"Sin", []string{"a"}, nil, [][]int{{3}}},
		{"Cos", []string{"a"}, nil, [][]int{{3}}},
		{"Tanh", []string{"a"}, nil, [][]int{{3}}},
		{"Sigmoid", []string{"a"}, nil, [][]int{{3}}},
		{"Softplus", []string{"a"}, nil, [][]int{{3}}},
		{"Relu", []string{"a"}, nil, [][]int{{3}}},
		{"Identity", []string{"a"}, nil, [][]int{{3}}},
		{"Cast", []string{"a"}, []*graph.Attr{intAttr("to", 11)}, [][]int{{3}}},
		{"Reshape", []string{"a", "shape"}, nil, [][]int{{3, 4}}},
		{"Flatten", []string{"a"}, nil, [][]int{{3, 2, 2}}},
		{"Unsqueeze", []string{"a", "axes"}, nil, [][]int{{3, 2}}},
		{"Squeeze", []string{"a", "axes"}, nil, [][]int{{3, 1}}},
		{"Expand", []string{"a", "shape"}, nil, [][]int{{3}}},
		{"Transpose", []string{"a"}, []*graph.Attr{intsAttr("perm", 2, 0, 1)}, [][]int{{2, 3, 4}}},
		{"Transpose", []string{"a"}, nil, [][]int{{2, 3, 4}}},
		{"ReduceSum", []string{"a", "axes"}, []*graph.Attr{intAttr("keepdims", 0)}, [][]int{{2, 3, 4}}},
		{"ReduceMean", []string{"a", "axes"}, []*graph.Attr{intAttr("keepdims", 0)}, [][]int{{2, 3, 4}}},
		{"ReduceMean", []string{"a"}, []*graph.Attr{intAttr("keepdims", 0)}, [][]int{{2, 3}}},
		{"MatMul", ab, nil, [][]int{{2, 3, 4}, {4, 5}}},
		{"Einsum", ab, []*graph.Attr{equation}, [][]int{{2, 3}, {3, 4}}},
		{"Gemm", []string{"a", "b", "c"}, []*graph.Attr{half, twice}, [][]int{{2, 3}, {3, 4}, {4}}},
		{"Gemm", []string{"a", "b", "c"}, []*graph.Attr{half, intAttr("transA", 1)}, [][]int{{3, 2}, {3, 4}, {2, 1}}},
		{"Gemm", ab, []*graph.Attr{intAttr("transB", 1)}, [][]int{{2, 3}, {4, 3}}},
		{"Gemm", ab, []*graph.Attr{intAttr("transA", 1), intAttr("transB", 1)}, [][]int{{3, 2}, {4, 3}}},
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, tt := range tests {
		t.Run(tt.op, func(t *testing.T) {
			values := map[string]*tensor.Tensor{"axes": axes, "shape": shape}
			var xs, first, second []string
			for i, sh := range tt.shapes {
				x := string(rune('a' + i))
				values[x] = random64(r, 0.5, 1.5, sh...)
				xs, first, second = append(xs, x), append(first, "d"+x), append(second, "dd"+x)
			}
			// y is the square of f, so that elements have different weights.
			m := &graph.Model{Graph: &graph.Graph{Nodes: []*graph.Node{
				gradientOf("y", xs, xs, first),
				gradientOf("da", xs, xs, second),
				standardNode(tt.op, tt.in, "f", tt.attrs...), standardNode("Mul", []string{"f", "f"}, "y"),
			}}}
			expanded, err := optimize.Run(m, optimize.Required(), contextOf(operators()))
			if err != nil {
				t.Fatal(err)
			}
			compareDerivatives(t, expanded, values, xs, "y", first)
			compareDerivatives(t, expanded, values, xs, "da", second)
		})
	}
}

// compareDerivatives compares derivatives of the sum of y with difference quotients, for every
// element of xs.
func compareDerivatives(
	t *testing.T, m *graph.Model, values map[string]*tensor.Tensor, xs []string, y string, derivatives []string,
) {
	t.Helper()
	all := evaluate(t, m, values)
	for k, x := range xs {
		got := tensor.View[float64](all[derivatives[k]])
		list := tensor.View[float64](values[x])
		if len(got) != len(list) || !all[derivatives[k]].Shape().Equal(values[x].Shape()) {
			t.Fatalf("derivative of %v for %v is %v", y, values[x], all[derivatives[k]])
		}
		for i := range list {
			const step = 1e-4
			was := list[i]
			list[i] = was + step
			up := total(evaluate(t, m, values)[y])
			list[i] = was - step
			down := total(evaluate(t, m, values)[y])
			list[i] = was
			if want := (up - down) / (2 * step); math.Abs(got[i]-want) > 1e-4*max(1, math.Abs(want)) {
				t.Errorf("derivative of %s for element %d of %s is %g, want %g", y, i, x, got[i], want)
			}
		}
	}
}

// TestGradientElsewhere takes derivatives at values other than the graph's own.
func TestGradientElsewhere(t *testing.T) {
	testenv.Need(t, bindings.Available())
	m := &graph.Model{Graph: &graph.Graph{Nodes: []*graph.Node{
		standardNode("Mul", []string{"a", "a"}, "h"), standardNode("Mul", []string{"h", "b"}, "y"),
		gradientOf("y", []string{"h", "b"}, []string{"p", "q"}, []string{"", "db"}),
		gradientOf("y", []string{"b", "c"}, []string{"b", "c"}, []string{"", "dc"}),
	}}}
	expanded, err := optimize.Run(m, optimize.Required(), contextOf(operators()))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	values := map[string]*tensor.Tensor{}
	for _, name := range []string{"a", "b", "c", "p", "q"} {
		values[name] = random64(r, 1, 2, 3)
	}
	all := evaluate(t, expanded, values)
	for i, v := range tensor.View[float64](all["db"]) {
		if want := tensor.View[float64](values["p"])[i]; v != want {
			t.Errorf("element %d is %g, want %g", i, v, want)
		}
		if v := tensor.View[float64](all["dc"])[i]; v != 0 {
			t.Errorf("y does not depend on c, its derivative is %g", v)
		}
	}
}

func TestGradientRefused(t *testing.T) {
	for _, tt := range []struct {
		name  string
		kind  error
		nodes []*graph.Node
	}{
		{"operator without a rule", graph.ErrUnsupported, []*graph.Node{standardNode("Erf", []string{"a"}, "y"), gradientOf("y", []string{"a"}, []string{"a"}, []string{"d"})}},
		{"no such value", graph.ErrFormat, []*graph.Node{gradientOf("y", []string{"a"}, []string{"a"}, []string{"d"})}},
		{"too few inputs", graph.ErrFormat, []*graph.Node{standardNode("Neg", []string{"a"}, "y"), gradientOf("y", []string{"a", "b"}, []string{"a"}, []string{"d"})}},
		{"operator without an input", graph.ErrFormat, []*graph.Node{standardNode("Mul", []string{"a"}, "y"), gradientOf("y", []string{"a"}, []string{"a"}, []string{"d"})}},
		{"operator with too many inputs", graph.ErrFormat, []*graph.Node{standardNode("Sub", []string{"b", "b", "a"}, "y"), gradientOf("y", []string{"a"}, []string{"a"}, []string{"d"})}},
		{"circle", graph.ErrFormat, []*graph.Node{standardNode("Mul", []string{"a", "d"}, "y"), gradientOf("y", []string{"a"}, []string{"a"}, []string{"d"})}},
		{"ambiguous sum", graph.ErrUnsupported, []*graph.Node{
			standardNode("Einsum", []string{"a", "a"}, "y", &graph.Attr{Name: "equation", Kind: graph.AttrString, Str: []byte("ij,jk")}),
			gradientOf("y", []string{"a"}, []string{"a"}, []string{"d"})}},
	} {
		m := &graph.Model{Graph: &graph.Graph{Nodes: tt.nodes}}
		if _, err := optimize.Run(m, optimize.Required(), contextOf(operators())); !errors.Is(err, tt.kind) {
			t.Errorf("%s: error %v, want one of kind %v", tt.name, err, tt.kind)
		}
	}
}

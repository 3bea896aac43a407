// Package nets builds small graphs for tests. Numbers are int64 vectors unless a name says more.
package nets

import (
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Opset is the version of the nodes of Node.
const Opset = 17

// Node returns a node of a standard operator. The names of inputs and outputs are words; the name _
// stands for an input that is left out.
func Node(op, in, out string, attrs ...*graph.Attr) *graph.Node {
	n := &graph.Node{Name: "n_" + strings.Fields(out)[0], Op: op, Version: Opset, Outputs: strings.Fields(out),
		Attrs: attrs}
	for _, name := range strings.Fields(in) {
		n.Inputs = append(n.Inputs, strings.Trim(name, "_"))
	}
	return n
}

// Constant returns a node that makes a tensor.
func Constant(name string, t *tensor.Tensor) *graph.Node {
	return Node("Constant", "", name, graph.TensorAttr("value", t))
}

// Value returns a value of a name and a type, such as "c:bool". The types are int, bool, bools,
// rows, seq and opt; without one it is a vector.
func Value(spec string) *graph.Value {
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

// Graph returns a graph of nodes. Inputs are words that Value takes, outputs are names.
func Graph(in, out string, nodes ...*graph.Node) *graph.Graph {
	g := &graph.Graph{Name: "g", Nodes: nodes}
	for _, spec := range strings.Fields(in) {
		g.Inputs = append(g.Inputs, Value(spec))
	}
	for _, name := range strings.Fields(out) {
		g.Outputs = append(g.Outputs, &graph.Value{Name: name})
	}
	return g
}

// Vec returns a vector.
func Vec(v ...int64) *tensor.Tensor { return made(v, len(v)) }

// Scalar returns a tensor without axes.
func Scalar[T tensor.Element](v T) *tensor.Tensor { return made([]T{v}) }

// Rows returns a matrix with rows of n numbers.
func Rows(n int, v ...int64) *tensor.Tensor { return made(v, len(v)/n, n) }

func made[T tensor.Element](v []T, shape ...int) *tensor.Tensor {
	t, err := tensor.From(v, shape...)
	if err != nil {
		panic(err)
	}
	return t
}

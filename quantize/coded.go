package quantize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// codedValue is a value that becomes codes. If like is set, the codes have the scale and the zero
// point of like.
type codedValue struct{ name, like string }

// Operators beside products. Their results become codes if their operands are codes.
var (
	pairs = []string{"Add", "Mul"}
	joins = []string{"Concat"}
	means = []string{"AveragePool", "GlobalAveragePool", "Sigmoid", "Tanh", "Relu", "Clip", "LeakyRelu", "HardSigmoid", "HardSwish",
		"Elu"}
	moves = []string{"MaxPool", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Identity"}
)

// codedValues returns the values of a graph that become codes, in the order in which they are
// computed: the inputs of products and convolutions, the results of convolutions, and what operators
// between them compute. product reports whether a node is a product or a convolution on codes.
func codedValues(g *graph.Graph, product func(n *graph.Node) bool) []codedValue {
	constant := map[string]bool{}
	for _, x := range g.Initializers {
		constant[x.Name] = true
	}
	readers, maker := map[string][]*graph.Node{}, map[string]*graph.Node{}
	shared := map[string]bool{} // read by a body, or a result
	for _, v := range g.Outputs {
		shared[v.Name] = true
	}
	for _, n := range g.Nodes {
		for _, name := range n.Inputs {
			readers[name] = append(readers[name], n)
		}
		for _, name := range n.Captured() {
			shared[name] = true
		}
		for _, name := range n.Outputs {
			maker[name] = n
		}
	}
	list := map[string]*codedValue{}
	code := func(name, like string) {
		if name != "" && !constant[name] && list[name] == nil {
			list[name] = &codedValue{name, like}
		}
	}
	// rounded returns the value that becomes codes for the result of a node: the result of a clamp,
	// if only that reads it, because a clamp is then a range of codes.
	rounded := func(name string) string {
		r := readers[name]
		if len(r) == 1 && !shared[name] && is(r[0], "Relu", "Clip") && len(r[0].Outputs) == 1 && r[0].Inputs[0] == name {
			return r[0].Outputs[0]
		}
		return name
	}
	isCoded := func(name string) bool { return list[name] != nil }
	for _, n := range g.Nodes {
		switch {
		case product(n):
			code(n.Inputs[0], "")
			if n.Op == "Conv" {
				code(rounded(n.Outputs[0]), "")
			}
		case is(n, pairs...) && len(n.Inputs) == 2 && slices.ContainsFunc(n.Inputs, isCoded) &&
			!constant[n.Inputs[0]] && !constant[n.Inputs[1]]:
			code(n.Inputs[0], "")
			code(n.Inputs[1], "")
			code(rounded(n.Outputs[0]), "")
		case is(n, joins...) && !slices.ContainsFunc(n.Inputs, func(name string) bool { return !isCoded(name) }):
			code(n.Outputs[0], "")
		case is(n, means...) && isCoded(n.Inputs[0]):
			code(n.Outputs[0], "")
		case is(n, moves...) && isCoded(n.Inputs[0]) && len(n.Outputs) == 1:
			like := list[n.Inputs[0]].like
			if like == "" {
				like = n.Inputs[0]
			}
			code(n.Outputs[0], like)
		}
	}
	var order []codedValue
	for _, v := range g.Inputs {
		if c := list[v.Name]; c != nil {
			order = append(order, *c)
		}
	}
	for _, n := range g.Nodes {
		for _, name := range n.Outputs {
			if c := list[name]; c != nil {
				order = append(order, *c)
			}
		}
	}
	return order
}

// is reports whether a node applies one of the standard operators.
func is(n *graph.Node, ops ...string) bool { return n.Domain == "" && slices.Contains(ops, n.Op) }

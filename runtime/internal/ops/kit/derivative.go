package kit

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// OfFirst returns the rule of an operator that is differentiable in input 0 only. f gets the names
// of dy, input 0 and output 0.
func OfFirst(f func(d op.Derivation, dy, x, y string) string) op.Derivative {
	return func(d op.Derivation, n *graph.Node, dy string, i int) (string, error) {
		if i > 0 {
			return "", nil
		}
		return f(d, dy, n.Inputs[0], n.Outputs[0]), nil
	}
}

// SumTo adds a node that sums x over the axes along which a value of the shape of like was
// broadcast.
func SumTo(d op.Derivation, x, like string) string {
	return d.AddNode(graph.Node{Domain: Internal, Op: "SumLike", Version: 1, Inputs: []string{x, like}})
}

// ReshapeTo adds a node that gives x the shape of like.
func ReshapeTo(d op.Derivation, x, like string) string {
	allow := &graph.Attr{Name: "allowzero", Kind: graph.AttrInt, Int: 1}
	return d.Add("Reshape", []string{x, d.Add("Shape", []string{like})}, allow)
}

// ExpandTo adds a node that broadcasts x to the shape of like.
func ExpandTo(d op.Derivation, x, like string) string {
	return d.Add("Expand", []string{x, d.Add("Shape", []string{like})})
}

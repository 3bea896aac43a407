package op

import "github.com/nacre-ml/nacre/runtime/graph"

// Derivative adds nodes that compute the derivative with respect to input i of n from dy, the
// derivative with respect to output 0. It returns the name of the result, or "" if the derivative
// is zero. n has the inputs and outputs that its operator takes.
type Derivative func(d Derivation, n *graph.Node, dy string, i int) (string, error)

// Derivation adds nodes that compute derivatives to a graph.
type Derivation interface {
	// Add adds a node of the standard operator, as of version 18, and returns the name of its
	// output.
	Add(name string, inputs []string, attrs ...*graph.Attr) string
	// AddNode adds a copy of a node with one output, which it names, and returns the name.
	AddNode(n graph.Node) string
	// Number adds a scalar of the element type of like and returns its name.
	Number(v float32, like string) string
}

// OfFirst returns the rule of an operator that is differentiable in input 0 only. f gets the names
// of dy, input 0 and output 0.
func OfFirst(f func(d Derivation, dy, x, y string) string) Derivative {
	return func(d Derivation, n *graph.Node, dy string, i int) (string, error) {
		if i > 0 {
			return "", nil
		}
		return f(d, dy, n.Inputs[0], n.Outputs[0]), nil
	}
}

// SumTo adds a node that sums x over the axes along which a value of the shape of like was
// broadcast.
func SumTo(d Derivation, x, like string) string {
	return d.AddNode(graph.Node{Domain: Internal, Op: "SumLike", Version: 1, Inputs: []string{x, like}})
}

// ReshapeTo adds a node that gives x the shape of like.
func ReshapeTo(d Derivation, x, like string) string {
	allow := &graph.Attr{Name: "allowzero", Kind: graph.AttrInt, Int: 1}
	return d.Add("Reshape", []string{x, d.Add("Shape", []string{like})}, allow)
}

// ExpandTo adds a node that broadcasts x to the shape of like.
func ExpandTo(d Derivation, x, like string) string {
	return d.Add("Expand", []string{x, d.Add("Shape", []string{like})})
}

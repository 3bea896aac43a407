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

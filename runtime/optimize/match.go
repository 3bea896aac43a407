package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// microsoft is the domain of the operators that ONNX Runtime adds to ONNX's.
const microsoft = "com.microsoft"

// is reports whether the node is one of those operators of the standard domain. No
// node is none of them.
func is(n *graph.Node, ops ...string) bool {
	return n != nil && n.Domain == "" && slices.Contains(ops, n.Op)
}

// next returns the node that uses output 0 of n, if it is one of those standard
// operators and nothing else uses any output of n, else nil: a node that n can be
// fused into. It may use the output once only.
func (s *Scope) next(n *graph.Node, ops ...string) *graph.Node {
	if m := s.user(n.Outputs[0]); is(m, ops...) && s.alone(n) {
		return m
	}
	return nil
}

// alone reports whether of the node's outputs the first only is used, once, and not
// as an output of the graph.
func (s *Scope) alone(n *graph.Node) bool {
	for i, name := range n.Outputs {
		if i == 0 && s.user(name) == nil || i > 0 && name != "" && s.uses(name) > 0 {
			return false
		}
	}
	return true
}

// sides returns the operand of a node with two inputs that is no constant, and the
// constant beside it with its index; nil if there is none or both are.
func (s *Scope) sides(n *graph.Node) (x string, c *tensor.Tensor, i int) {
	if len(n.Inputs) != 2 {
		return "", nil, 0
	}
	a, b := s.constant(n.Inputs[0]), s.constant(n.Inputs[1])
	switch {
	case a == nil && b != nil:
		return n.Inputs[0], b, 1
	case a != nil && b == nil:
		return n.Inputs[1], a, 0
	}
	return "", nil, 0
}

// scalar returns the number that a constant of one element holds.
func (s *Scope) scalar(name string) (v float64, ok bool) { return scalarOf(s.constant(name)) }

// scalarOf returns the number that a tensor of one element holds.
func scalarOf(t *tensor.Tensor) (v float64, ok bool) {
	if t == nil || t.Len() != 1 {
		return 0, false
	}
	list, ok := op.Numbers(t)
	if !ok {
		return 0, false
	}
	return list[0], true
}

// ints returns what newer versions of an operator take as input i and older ones as
// an attribute; ok is false if it is not known, and list nil if it is not given.
func (s *Scope) ints(n *graph.Node, attr string, i int) (list []int, ok bool) {
	if a := n.Attr(attr); a != nil {
		return attrs(n).Ints(attr), a.Kind == graph.AttrInts
	}
	if i >= len(n.Inputs) || n.Inputs[i] == "" {
		return nil, true
	}
	t := s.constant(n.Inputs[i])
	if t == nil {
		return nil, false
	}
	list, err := op.Ints(t)
	return list, err == nil
}

// attrs reads the attributes of a node.
func attrs(n *graph.Node) *op.Node { return &op.Node{Node: n} }

// rank returns the number of axes of a value, if it is known.
func (s *Scope) rank(name string) (int, bool) { return s.value(name).Rank() }

// dtype returns the element type of a value; Invalid if it is not known.
func (s *Scope) dtype(name string) tensor.DType { return s.value(name).DType }

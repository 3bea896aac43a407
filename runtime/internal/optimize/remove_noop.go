package optimize

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// removeNoop removes nodes with an output that equals an input bit by bit. It also merges
// consecutive Transpose nodes, and a Reshape with the reshaping nodes before it.
func removeNoop(s *Scope) (*Edit, error) {
	e := newEdit()
	for _, n := range s.Nodes {
		if n.Domain != "" || len(n.Inputs) == 0 || n.Inputs[0] == "" || len(n.Outputs) == 0 {
			continue
		}
		by := n
		for m := s.merged(n); m != nil; m = s.merged(m) {
			by = m
			e.Replace[n] = []*graph.Node{by}
		}
		if x, ok := s.unchanged(by); ok && s.uses(n.Outputs[0]) > 0 {
			e.bypass(s, n, x)
		}
	}
	return e, nil
}

// unchanged returns the input that output 0 of a node always equals, if any.
func (s *Scope) unchanged(n *graph.Node) (string, bool) {
	x := n.Inputs[0]
	switch n.Op {
	case "Identity":
		return x, true
	case "Dropout":
		return x, s.infers(n)
	case "Sum", "Max", "Min", "Mean":
		return x, len(n.Inputs) == 1
	case "Concat":
		_, ok := s.rank(x) // otherwise x may lack the axis
		return x, ok && len(n.Inputs) == 1
	case "Cast", "CastLike":
		return x, s.dtype(x) != tensor.Invalid && s.dtype(x) == s.dtype(n.Outputs[0])
	case "Transpose":
		perm, ok := s.perm(n)
		return x, ok && ascending(perm)
	case "Expand", "Tile":
		return x, s.sameDims(x, n.Outputs[0])
	case "Slice":
		return x, s.sameDims(x, n.Outputs[0]) && s.allOf(n, "steps", 4, 1)
	case "Pad":
		attr := "pads"
		if n.Version < 2 {
			attr = "paddings"
		}
		return x, s.allOf(n, attr, 1, 0) && s.sameDims(x, n.Outputs[0])
	case "Add", "Sub", "Mul", "Div":
		return s.neutral(n)
	}
	for s.row(n).View && x != "" {
		if s.sameDims(x, n.Outputs[0]) {
			return x, true
		}
		x = s.viewed(x)
	}
	return "", false
}

// infers reports whether a Dropout certainly runs in inference mode and has a valid ratio.
func (s *Scope) infers(n *graph.Node) bool {
	if len(n.Inputs) > 1 && n.Inputs[1] != "" {
		if d := s.value(n.Inputs[1]).Dims; d == nil || !d.Len().Is(1) {
			return false
		}
	}
	switch {
	case n.Version < 7:
		return attrs(n).Bool("is_test", false)
	case n.Version < 12 || len(n.Inputs) < 3 || n.Inputs[2] == "":
		return true
	}
	train, ok := s.scalar(n.Inputs[2])
	return ok && train == 0
}

// allOf reports whether a list of integers, given as an attribute or an input, is known and
// contains no other number.
func (s *Scope) allOf(n *graph.Node, attr string, input, number int) bool {
	list, ok := s.ints(n, attr, input)
	return ok && !slices.ContainsFunc(list, func(v int) bool { return v != number })
}

// viewed returns the operand of the reshaping node that computes a value. If no such node does, it
// returns "".
func (s *Scope) viewed(name string) string {
	m := s.maker(name)
	if m != nil && s.row(m).View && s.value(m.Inputs[0]).Dims.Len().Same(s.value(name).Dims.Len()) {
		return m.Inputs[0]
	}
	return ""
}

// neutral returns the operand that a constant leaves unchanged: x in x·1, x/1, x + -0 and x - 0.
// For floats x + 0 differs from x if x is -0.
func (s *Scope) neutral(n *graph.Node) (string, bool) {
	if len(n.Inputs) != 2 || n.Attr("broadcast") != nil {
		return "", false
	}
	i := 1 // the index of the constant
	if s.constant(n.Inputs[1]) == nil && (n.Op == "Add" || n.Op == "Mul") {
		i = 0
	}
	x, c := n.Inputs[1-i], s.constant(n.Inputs[i])
	if c == nil || s.constant(x) != nil || !s.sameDims(x, n.Outputs[0]) {
		return "", false
	}
	at := tensor.Numbers(c)
	if at == nil {
		return "", false
	}
	float := c.DType().IsFloat()
	changes := func(v float64) bool {
		switch {
		case n.Op == "Mul" || n.Op == "Div":
			return v != 1
		case float && n.Op == "Add":
			return v != 0 || !math.Signbit(v)
		}
		return v != 0 || math.Signbit(v)
	}
	for i := range c.Len() {
		if changes(at(i)) {
			return "", false
		}
	}
	return x, true
}

// perm returns the permutation that a Transpose applies, if it is known.
func (s *Scope) perm(n *graph.Node) ([]int, bool) {
	rank, ok := s.rank(n.Inputs[0])
	if list := attrs(n).Ints("perm"); len(list) > 0 {
		return list, ok && rank == len(list)
	}
	list := make([]int, rank)
	for i := range list {
		list[i] = rank - 1 - i
	}
	return list, ok
}

func ascending(perm []int) bool {
	for i, p := range perm {
		if i != p {
			return false
		}
	}
	return true
}

// merged returns a node that computes the same as n after the producer of its operand, or nil.
func (s *Scope) merged(n *graph.Node) *graph.Node {
	m := s.maker(n.Inputs[0])
	switch {
	case is(n, "Transpose") && is(m, "Transpose"):
		first, ok := s.perm(m)
		second, ok2 := s.perm(n)
		if !ok || !ok2 || len(first) != len(second) {
			return nil
		}
		list := make([]int64, len(first))
		for i, p := range second {
			if p < 0 || p >= len(first) {
				return nil
			}
			list[i] = int64(first[p])
		}
		r := *n
		r.Inputs = []string{m.Inputs[0]}
		r.Attrs = []*graph.Attr{{Name: "perm", Kind: graph.AttrInts, Ints: list}}
		return &r
	case is(n, "Reshape") && s.viewed(n.Inputs[0]) != "":
		// Entries of 0 stand for extents of the input, which changes.
		list, ok := s.ints(n, "shape", 1)
		if !ok || slices.Contains(list, 0) {
			return nil
		}
		r := *n
		r.Inputs = slices.Clone(n.Inputs)
		for x := n.Inputs[0]; x != ""; x = s.viewed(x) {
			r.Inputs[0] = x
		}
		return &r
	}
	return nil
}

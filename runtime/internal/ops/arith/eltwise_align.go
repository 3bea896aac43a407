package arith

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// alignment places the axes of the right operand of a binary operator under the axes of the left
// one. The zero value aligns them at the last axis, the current rule.
type alignment struct {
	legacy   bool // the rule before operator set 7: the result has the left shape
	stretch  bool // attribute broadcast: the right shape may be a part of the left
	axis     int  // attribute axis: where the part begins
	hasAxis  bool
	oneWay   bool // the result has the left shape
	channels bool // a vector on the right belongs to axis 1
}

// readAlignment reads the attributes broadcast and axis of operators before operator set 7.
func readAlignment(n *op.Node) alignment {
	if n.Since >= 7 {
		return alignment{}
	}
	ignoreConsumed(n)
	return alignment{
		legacy: true, stretch: n.Bool("broadcast", false), hasAxis: n.Has("axis"), axis: n.Int("axis", 0), oneWay: true,
	}
}

// place returns the number of axes of extent 1 to append to the right operand.
func (a alignment) place(left, right int) (int, error) {
	switch {
	case a.channels && right == 1 && left > 2:
		return left - 2, nil
	case !a.legacy || !a.hasAxis:
		return 0, nil
	}
	axis := a.axis
	if axis < 0 {
		axis += left
	}
	if axis < 0 || axis > left-right {
		return 0, graph.Errorf(graph.ErrShape, "attribute axis %d places %d axes outside of %d", a.axis, right, left)
	}
	return left - axis - right, nil
}

// dims returns the extents of the right operand aligned with the left.
func (a alignment) dims(left, right graph.Dims) (graph.Dims, error) {
	if a == (alignment{}) || left == nil || right == nil {
		return right, nil
	}
	if a.legacy && !a.stretch && len(left) != len(right) {
		return nil, graph.Errorf(graph.ErrShape, "shapes %v and %v differ and attribute broadcast is not 1", left, right)
	}
	trail, err := a.place(len(left), len(right))
	if err != nil {
		return nil, err
	}
	right = append(append(make(graph.Dims, 0, len(left)), right...), slices.Repeat(graph.Dims{graph.Known(1)}, trail)...)
	for len(right) > len(left) && right[0].Is(1) {
		right = right[1:]
	}
	if len(right) > len(left) {
		return nil, graph.Errorf(graph.ErrShape, "shape %v does not stretch to %v", right, left)
	}
	return right, a.checkOneWay(left, right)
}

// checkOneWay returns an error if the left operand would have to stretch.
func (a alignment) checkOneWay(left, right graph.Dims) error {
	for i, r := range right {
		if !a.oneWay {
			break
		}
		if l := left[len(left)-len(right)+i]; l.Is(1) && r.IsKnown() && !r.Is(1) {
			return graph.Errorf(graph.ErrShape, "shape %v does not stretch to %v", right, left)
		}
	}
	return nil
}

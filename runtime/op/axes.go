package op

import "github.com/nacre-ml/nacre/runtime/graph"

// NormAxis returns an axis of a value of the given rank as a number in 0..rank-1. A negative axis
// counts from the end.
func NormAxis(axis, rank int) (int, error) {
	if axis < -rank || axis >= rank {
		return 0, graph.Errorf(graph.ErrShape, "axis %d is not one of a value with %d axes", axis, rank)
	}
	if axis < 0 {
		axis += rank
	}
	return axis, nil
}

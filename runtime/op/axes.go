package op

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// normAxis returns the axis of a value of that rank, counted from the end when
// negative, as a number in 0..rank-1.
func normAxis(axis, rank int) (int, error) {
	if axis < -rank || axis >= rank {
		return 0, graph.Errorf(graph.ErrShape, "axis %d is not one of a value with %d axes", axis, rank)
	}
	if axis < 0 {
		axis += rank
	}
	return axis, nil
}

// normAxes returns the axes as numbers in 0..rank-1, in the order given. An
// axis named twice is an error.
func normAxes(axes []int, rank int) ([]int, error) {
	list := make([]int, len(axes))
	for i, a := range axes {
		n, err := normAxis(a, rank)
		if err != nil {
			return nil, err
		}
		if slices.Contains(list[:i], n) {
			return nil, graph.Errorf(graph.ErrShape, "axis %d is named twice in %v", a, axes)
		}
		list[i] = n
	}
	return list, nil
}

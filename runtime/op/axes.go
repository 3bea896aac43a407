package op

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// NormAxis returns the axis of a value of that rank, counted from the end when
// negative, as a number in 0..rank-1.
func NormAxis(axis, rank int) (int, error) {
	if axis < -rank || axis >= rank {
		return 0, graph.Errorf(graph.ErrShape, "axis %d is not one of a value with %d axes", axis, rank)
	}
	if axis < 0 {
		axis += rank
	}
	return axis, nil
}

// NormAxes returns the axes as numbers in 0..rank-1, in the order given. An
// axis named twice is an error.
func NormAxes(axes []int, rank int) ([]int, error) {
	if err := CountAxes(len(axes), rank); err != nil {
		return nil, err
	}
	list, named := make([]int, len(axes)), make([]bool, rank)
	for i, a := range axes {
		n, err := NormAxis(a, rank)
		if err != nil {
			return nil, err
		}
		if named[n] {
			return nil, graph.Errorf(graph.ErrShape, "axis %d is named twice in %v", a, axes)
		}
		list[i], named[n] = n, true
	}
	return list, nil
}

// CountAxes reports more axes than a value has.
func CountAxes(n, rank int) error {
	if n > rank {
		return graph.Errorf(graph.ErrShape, "%d axes are named of a value with %d", n, rank)
	}
	return nil
}

// FromEnd is the extent of axis i counted from the end, the last being 1; axes
// that are not there have extent 1.
func FromEnd(s tensor.Shape, i int) int {
	if i > len(s) {
		return 1
	}
	return s[len(s)-i]
}

// AxisView is the extents of a value seen as [outer, n, inner]: an axis, and what stands
// before and behind it.
type AxisView struct{ Outer, N, Inner int }

// ViewAlong is the view of a shape along one of its axes.
func ViewAlong(shape tensor.Shape, axis int) AxisView {
	return AxisView{shape[:axis].Len(), shape[axis], shape[axis+1:].Len()}
}

// Each calls f with the position of the first element of every stretch along the axis.
func (s AxisView) Each(pace *Pace, f func(at int)) {
	for a := range s.Outer {
		for i := range s.Inner {
			pace.Work(16 + 4*s.N)
			f(a*s.N*s.Inner + i)
		}
	}
}

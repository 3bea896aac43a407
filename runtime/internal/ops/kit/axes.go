package kit

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// NormAxes returns the axes as numbers in 0..rank-1, in the order given. An axis that is named
// twice is an error.
func NormAxes(axes []int, rank int) ([]int, error) {
	if err := CountAxes(len(axes), rank); err != nil {
		return nil, err
	}
	list, named := make([]int, len(axes)), make([]bool, rank)
	for i, a := range axes {
		n, err := op.NormAxis(a, rank)
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

// CountAxes returns an error if n axes are more than a value of the given rank has.
func CountAxes(n, rank int) error {
	if n > rank {
		return graph.Errorf(graph.ErrShape, "%d axes are named of a value with %d", n, rank)
	}
	return nil
}

// FromEnd returns the extent of axis i counted from the end; 1 is the last axis. If s has fewer
// axes, it returns 1.
func FromEnd(s tensor.Shape, i int) int {
	if i > len(s) {
		return 1
	}
	return s[len(s)-i]
}

// AxisView is a value seen as [Outer, N, Inner]: the product of the extents before an axis, its
// extent, and the product of the extents after it.
type AxisView struct{ Outer, N, Inner int }

// ViewAlong returns the view of a shape along one of its axes.
func ViewAlong(shape tensor.Shape, axis int) AxisView {
	return AxisView{shape[:axis].Len(), shape[axis], shape[axis+1:].Len()}
}

// Each calls f with the index of the first element of every stretch along the axis.
func (s AxisView) Each(pace *op.Pace, f func(at int)) {
	for a := range s.Outer {
		for i := range s.Inner {
			pace.Work(16 + 4*s.N)
			f(a*s.N*s.Inner + i)
		}
	}
}

// StridesOf returns the strides, in elements, of the axes of a row-major value.
func StridesOf(d graph.Dims) graph.Dims {
	steps, step := make(graph.Dims, len(d)), graph.Known(1)
	for i := len(d) - 1; i >= 0; i-- {
		steps[i] = step
		step = step.Mul(d[i])
	}
	return steps
}

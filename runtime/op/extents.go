package op

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// maxInts bounds the integer vectors that Infer looks at and passes on: shapes
// and what they are computed from are short, tables are not.
const maxInts = 1024

// shortInts is IntVec for vectors short enough to belong to a shape.
func (v *Value) shortInts() ([]graph.Dim, bool) {
	if v == nil || v.Const != nil && (v.Const.Len() > maxInts || !v.DType.IsInteger()) {
		return nil, false
	}
	return v.IntVec()
}

// knownInts returns the elements of an integer scalar or vector that are all
// numbers.
func (v *Value) knownInts() ([]int, bool) {
	list, ok := v.shortInts()
	if !ok {
		return nil, false
	}
	out := make([]int, len(list))
	for i, d := range list {
		if out[i], ok = d.Value(); !ok {
			return nil, false
		}
	}
	return out, true
}

// checkIndex reports a value that cannot hold axes, extents or indices.
func (v *Value) checkIndex() error {
	if v.DType != tensor.Invalid && !isIndex(v.DType) {
		return graph.Errorf(graph.ErrShape, "%v where int32 or int64 is needed", v.Type)
	}
	return nil
}

// axesIn is knownInts of an input that holds axes or counts of them.
func (v *Value) axesIn() (list []int, ok bool, err error) {
	if err := v.checkIndex(); err != nil {
		return nil, false, err
	}
	list, ok = v.knownInts()
	return list, ok, nil
}

// extentsIn returns the elements of a vector that stands for extents, unknown
// ones where only their count is known; nil when not even that is.
func (v *Value) extentsIn() (graph.Dims, error) {
	if err := v.checkIndex(); err != nil {
		return nil, err
	}
	if rank, ok := v.Rank(); ok && rank != 1 {
		return nil, graph.Errorf(graph.ErrShape, "a shape is given as %v, not as a vector", v.Type)
	}
	if v.Const != nil && v.Const.Len() > maxInts {
		return nil, graph.Errorf(graph.ErrShape, "a shape with %d axes", v.Const.Len())
	}
	if list, ok := v.IntVec(); ok {
		return append(make(graph.Dims, 0, len(list)), list...), nil
	}
	if rank, ok := v.Rank(); ok && rank == 1 {
		if n, ok := v.Dims[0].Value(); ok {
			if n > maxInts {
				return nil, graph.Errorf(graph.ErrShape, "a shape with %d axes", n)
			}
			return graph.UnknownDims(n), nil
		}
	}
	return nil, nil
}

// setInts says what is known of the elements of output i, a scalar or vector of
// integers.
func (c *Infer) setInts(i int, list []graph.Dim) {
	if i < len(c.Out) && list != nil && len(list) <= maxInts {
		c.Out[i].Ints = list
	}
}

// joinDim returns what is known of an extent of which both a and b are known;
// ok is false when they contradict each other.
func joinDim(a, b graph.Dim) (d graph.Dim, ok bool) {
	switch {
	case a.IsKnown() && b.IsKnown():
		return a, a.Same(b)
	case b.IsKnown(), a.IsUnknown():
		return b, true
	}
	return a, true
}

// product returns a·b for extents that are not negative, and an error when it
// does not fit an int.
func product(a, b graph.Dim) (graph.Dim, error) {
	x, okx := a.Value()
	y, oky := b.Value()
	if okx && oky && x > 0 && y > 0 && x > maxExtent/y {
		return graph.Dim{}, graph.Errorf(graph.ErrShape, "an extent of %d times %d elements", x, y)
	}
	return a.Mul(b), nil
}

const maxExtent = int(^uint(0) >> 1)

// wantShape reports an output whose memory has another shape than the inputs
// ask for, as when a shape is computed anew for every run.
func wantShape(out *tensor.Tensor, shape tensor.Shape) error {
	if !out.Shape().Equal(shape) {
		return fmt.Errorf("output is %v where the inputs ask for %v", out, shape)
	}
	return nil
}

// joinDims returns the extents of the parts one after the other; never nil.
func joinDims(parts ...graph.Dims) graph.Dims {
	out := graph.Dims{}
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

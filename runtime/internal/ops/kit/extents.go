package kit

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// JoinDim combines two descriptions of one extent; ok is false if they contradict each other.
func JoinDim(a, b graph.Dim) (d graph.Dim, ok bool) {
	switch {
	case a.IsKnown() && b.IsKnown():
		return a, a.Same(b)
	case b.IsKnown(), a.IsUnknown():
		return b, true
	}
	return a, true
}

// MayEqual reports whether two lists of extents can be equal as far as they are known.
func MayEqual(a, b graph.Dims) bool {
	if len(a) != len(b) {
		return false
	}
	for i, d := range a {
		if _, ok := JoinDim(d, b[i]); !ok {
			return false
		}
	}
	return true
}

// MulDim returns a·b for extents that are not negative. If the product overflows an int, it returns
// an error.
func MulDim(a, b graph.Dim) (graph.Dim, error) {
	x, okx := a.Value()
	y, oky := b.Value()
	if okx && oky && x > 0 && y > 0 && x > math.MaxInt/y {
		return graph.Dim{}, graph.Errorf(graph.ErrShape, "an extent of %d times %d elements", x, y)
	}
	return a.Mul(b), nil
}

// JoinDims concatenates the parts. It never returns nil.
func JoinDims(parts ...graph.Dims) graph.Dims {
	out := graph.Dims{}
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// SameTypes returns an error if the element type of an input differs from input 0, which must not
// be nil.
func SameTypes(in []*op.Value) error {
	for i, v := range in {
		if v != nil && v.DType != in[0].DType {
			return graph.Errorf(graph.ErrShape, "inputs 0 and %d have element types %v and %v, which must be equal", i,
				in[0].DType, v.DType)
		}
	}
	return nil
}

// IsSymbol reports whether d is a symbolic expression that cannot be negative.
func IsSymbol(d graph.Dim) bool { return !d.IsKnown() && d.NonNegative() }

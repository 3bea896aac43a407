package graph

import (
	"slices"

	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Dims is the extents of a value's axes. A nil Dims is an unknown number of axes; a scalar's is
// empty but not nil.
type Dims []Dim

// DimsOf returns the extents of a shape. It never returns nil.
func DimsOf(s tensor.Shape) Dims {
	d := make(Dims, len(s))
	for i, n := range s {
		d[i] = Known(n)
	}
	return d
}

// UnknownDims returns rank unknown extents.
func UnknownDims(rank int) Dims {
	d := make(Dims, rank)
	for i := range d {
		d[i] = Unknown()
	}
	return d
}

// Concrete returns the shape. ok is false unless every extent is a number.
func (d Dims) Concrete() (tensor.Shape, bool) {
	if d == nil {
		return nil, false
	}
	s := make(tensor.Shape, len(d))
	for i, x := range d {
		n, ok := x.Value()
		if !ok {
			return nil, false
		}
		s[i] = n
	}
	return s, true
}

// Len returns the number of elements.
func (d Dims) Len() Dim {
	n := Known(1)
	for _, x := range d {
		n = n.Mul(x)
	}
	return n
}

// String formats the extents like [batch,3,224,224], or [...] if the rank is unknown. Of many axes
// it shows the first, and of a long extent the ends.
func (d Dims) String() string {
	if d == nil {
		return "[...]"
	}
	return printable.List(len(d), func(i int) string { return printable.Cut(d[i].String(), maxName) })
}

// Same reports whether d and e are known to have the same extents.
func (d Dims) Same(e Dims) bool {
	if d == nil || len(d) != len(e) {
		return false
	}
	for i := range d {
		if !d[i].Same(e[i]) {
			return false
		}
	}
	return true
}

// admit reports whether a value declared with extents d may have extents e. Extents that are not
// numbers admit any.
func (d Dims) admit(e Dims) bool {
	if d == nil || e == nil {
		return true
	}
	return slices.EqualFunc(d, e, func(a, b Dim) bool {
		m, known := a.Value()
		n, both := b.Value()
		return !known || !both || m == n
	})
}

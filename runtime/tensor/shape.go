package tensor

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/nacre-ml/nacre/internal/printable"
)

// Shape is the extent of each axis. A scalar's is empty.
type Shape []int

// Len returns the number of elements, 1 for a scalar. It is meaningful only for a shape that Check
// accepts.
func (s Shape) Len() int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

// Check returns an error if an extent is negative, or if the elements, or their bytes at 16 bytes
// each, do not fit an int.
func (s Shape) Check() error {
	n := 1
	zero := slices.Contains(s, 0)
	for _, d := range s {
		if d < 0 {
			return fmt.Errorf("shape %v has a negative extent", s)
		}
		if d > 0 && !zero && n > math.MaxInt/16/d {
			return fmt.Errorf("shape %v has too many elements", s)
		}
		n *= max(d, 1)
	}
	return nil
}

// Equal reports whether both shapes have the same extents.
func (s Shape) Equal(t Shape) bool { return slices.Equal(s, t) }

// Clone returns a copy that is never nil.
func (s Shape) Clone() Shape { return append(make(Shape, 0, len(s)), s...) }

// Strides returns the steps, in elements, between neighbours along each axis of a contiguous
// row-major tensor.
func (s Shape) Strides() []int {
	st := make([]int, len(s))
	n := 1
	for i := len(s) - 1; i >= 0; i-- {
		st[i] = n
		n *= s[i]
	}
	return st
}

// String formats the shape like [1,3,224,224]. Of many axes it shows the first.
func (s Shape) String() string {
	return printable.List(len(s), func(i int) string { return strconv.Itoa(s[i]) })
}

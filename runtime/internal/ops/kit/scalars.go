package kit

import (
	"encoding/binary"
	"math"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// ScalarNumber returns the only element of a tensor of floats.
func ScalarNumber(t *tensor.Tensor, name string) (float64, error) {
	if t.Len() != 1 || !op.Floats.Has(t.DType()) {
		return 0, graph.Errorf(graph.ErrShape, "%s is %v, not one float", name, t)
	}
	return FirstFloat(t), nil
}

// Int64Vector returns list as a vector of int64.
func Int64Vector(list []int) *tensor.Tensor {
	t := tensor.New(tensor.I64, len(list))
	PutInts(t, list)
	return t
}

// MaxElements is more elements than any memory holds. The sum of a few such numbers fits an int.
const MaxElements = min(1<<40, math.MaxInt>>2)

// FirstFloat returns the first element of a tensor of floats.
func FirstFloat(t *tensor.Tensor) float64 {
	var list [1]float64
	elements.Get(list[:], t.Aligned(), 0)
	return list[0]
}

// One returns the number 1, or true, as a tensor of one element. For other types it returns nil.
func One(d tensor.DType) *tensor.Tensor {
	if !op.Numeric.Has(d) && d != tensor.Bool {
		return nil
	}
	t := tensor.New(d, 1)
	SetNumbers(t, []float64{1})
	return t
}

// Scalar returns a number or a bool as a tensor without axes.
func Scalar[T tensor.Element](v T) *tensor.Tensor {
	t := tensor.New(tensor.Of[T]())
	tensor.View[T](t)[0] = v
	return t
}

// Btoi returns 1 for true and 0 for false.
func Btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// PutInts writes list to the elements of an int64 tensor.
func PutInts(t *tensor.Tensor, list []int) {
	for i, n := range list {
		binary.NativeEndian.PutUint64(t.Bytes()[8*i:], uint64(n))
	}
}

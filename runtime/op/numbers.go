package op

import (
	"encoding/binary"
	"math"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Numbers returns the elements of a tensor as float64: its own if they are that. ok is
// false unless they are floats of 16 bits or more, integers or bools. Integers beyond
// 2^53 are rounded.
func Numbers(t *tensor.Tensor) (list []float64, ok bool) {
	t = t.Aligned()
	switch t.DType() {
	case tensor.I8:
		return toDoubles[int8](t), true
	case tensor.I16:
		return toDoubles[int16](t), true
	case tensor.I32:
		return toDoubles[int32](t), true
	case tensor.I64:
		return toDoubles[int64](t), true
	case tensor.U8, tensor.Bool:
		return toDoubles[uint8](t), true
	case tensor.U16:
		return toDoubles[uint16](t), true
	case tensor.U32:
		return toDoubles[uint32](t), true
	case tensor.U64:
		return toDoubles[uint64](t), true
	}
	return Doubles(t), Floats.Has(t.DType())
}

func toDoubles[T Integer](t *tensor.Tensor) []float64 {
	return Convert(tensor.View[T](t), func(v T) float64 { return float64(v) })
}

// SetNumbers stores numbers as the elements of a tensor of floats of 16 bits or more,
// integers or bools: rounded to floats, cut to integers, true where they are not 0.
// Nothing happens to a tensor left out.
func SetNumbers(t *tensor.Tensor, list []float64) {
	if t == nil {
		return
	}
	switch t.DType() {
	case tensor.I8:
		cutTo[int8](t, list)
	case tensor.I16:
		cutTo[int16](t, list)
	case tensor.I32:
		cutTo[int32](t, list)
	case tensor.I64:
		cutTo[int64](t, list)
	case tensor.U8:
		cutTo[uint8](t, list)
	case tensor.U16:
		cutTo[uint16](t, list)
	case tensor.U32:
		cutTo[uint32](t, list)
	case tensor.U64:
		cutTo[uint64](t, list)
	case tensor.Bool:
		out := tensor.View[bool](t)
		for i, v := range list {
			out[i] = v != 0
		}
	default:
		PutDoubles(t, list)
	}
}

func cutTo[T Integer](t *tensor.Tensor, list []float64) {
	out := tensor.View[T](t)
	for i, v := range list {
		out[i] = T(v)
	}
}

// ScalarInt returns the only element of an integer tensor.
func ScalarInt(t *tensor.Tensor, name string) (int, error) {
	list, err := Ints(t)
	if err != nil {
		return 0, graph.Errorf(graph.ErrShape, "%s is %w", name, err)
	}
	if len(list) != 1 {
		return 0, graph.Errorf(graph.ErrShape, "%s is %v, not one element", name, t)
	}
	return list[0], nil
}

// ScalarNumber returns the only element of a tensor of floats.
func ScalarNumber(t *tensor.Tensor, name string) (float64, error) {
	if t.Len() != 1 || !Floats.Has(t.DType()) {
		return 0, graph.Errorf(graph.ErrShape, "%s is %v, not one float", name, t)
	}
	return FirstFloat(t), nil
}

// ScalarDim returns what is known of the only element of an integer input,
// unknown if nothing is.
func (c *Infer) ScalarDim(i int, name string) (graph.Dim, error) {
	v := c.In[i]
	if n, ok := v.Dims.Len().Value(); ok && v.Dims != nil && n != 1 {
		return graph.Dim{}, graph.Errorf(graph.ErrShape, "%s is %v, not one element", name, v.Type)
	}
	if !v.DType.IsInteger() {
		return graph.Dim{}, graph.Errorf(graph.ErrShape, "%s is %v, not an integer", name, v.Type)
	}
	if list, ok := v.ShortInts(); ok && len(list) == 1 {
		return list[0], nil
	}
	return graph.Unknown(), nil
}

func Int64Vector(list []int) *tensor.Tensor {
	t := tensor.New(tensor.I64, len(list))
	PutInts(t, list)
	return t
}

// MaxElements is more elements than any memory holds; sums of a few fit an int.
const MaxElements = min(1<<40, math.MaxInt>>2)

// FirstFloat is the first element of a tensor of floats.
func FirstFloat(t *tensor.Tensor) float64 {
	switch t = t.Aligned(); t.DType() {
	case tensor.F64:
		return tensor.View[float64](t)[0]
	case tensor.F16:
		return float64(tensor.View[packed.F16](t)[0].Float32())
	case tensor.BF16:
		return float64(tensor.View[packed.BF16](t)[0].Float32())
	}
	return float64(tensor.View[float32](t)[0])
}

// One is the number 1, or true, as a tensor; nil for other types.
func One(d tensor.DType) *tensor.Tensor {
	if !Numeric.Has(d) && d != tensor.Bool {
		return nil
	}
	t := tensor.New(d, 1)
	switch d {
	case tensor.F32:
		Fill[float32](t, 1)
	case tensor.F64:
		Fill[float64](t, 1)
	case tensor.F16:
		Fill(t, packed.ToF16(1))
	case tensor.BF16:
		Fill(t, packed.ToBF16(1))
	default: // the lowest byte of an integer comes first
		t.Bytes()[0] = 1
	}
	return t
}

func Scalar[T tensor.Element](v T) *tensor.Tensor {
	t := tensor.New(tensor.Of[T]())
	tensor.View[T](t)[0] = v
	return t
}

func Btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Number is the element types that Go computes with.
type Number interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

func Fill[T tensor.Element](t *tensor.Tensor, v T) {
	s := tensor.View[T](t)
	for i := range s {
		s[i] = v
	}
}

type Integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// PutInts writes numbers to an int64 tensor.
func PutInts(t *tensor.Tensor, list []int) {
	for i, n := range list {
		binary.NativeEndian.PutUint64(t.Bytes()[8*i:], uint64(n))
	}
}

package optest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// source makes tensors from a seed.
type source struct{ *rand.Rand }

func newSource(seed uint64) *source { return &source{rand.New(rand.NewPCG(seed, 0x6e61637265))} }

// any returns a tensor of elements that suit the type: floats around zero, small
// integers, short strings.
func (s *source) any(d tensor.DType, shape ...int) *tensor.Tensor {
	switch d.Kind() {
	case tensor.Signed:
		return s.between(d, -2, 2, shape...)
	case tensor.Unsigned:
		return s.between(d, 0, 3, shape...)
	}
	return s.between(d, -3, 3, shape...)
}

// between returns a tensor of numbers from lo to hi, whole ones for integers. It
// fills types of other kinds with whatever they hold.
func (s *source) between(d tensor.DType, lo, hi float64, shape ...int) *tensor.Tensor {
	t := tensor.New(d, shape...)
	for i := range t.Len() {
		switch {
		case d == tensor.String:
			t.Strings()[i] = fmt.Sprint("s", s.IntN(100))
		case d == tensor.Bool:
			t.Bytes()[i] = byte(s.IntN(2))
		case d.IsInteger():
			setNumber(t, i, math.Floor(lo+s.Float64()*(hi-lo+1)))
		case canCompute(d):
			setNumber(t, i, lo+s.Float64()*(hi-lo))
		case d.Layout() != nil:
			d.Layout().Set(t.Bytes(), i, int8(s.IntN(1<<d.Bits())))
		default: // any bits will do
			w := d.Bits() / 8
			for j := range w {
				t.Bytes()[i*w+j] = byte(s.Uint32())
			}
		}
	}
	return t
}

// indices returns numbers from lo to hi-1.
func (s *source) indices(d tensor.DType, lo, hi int, shape ...int) *tensor.Tensor {
	return s.between(d, float64(lo), float64(hi-1), shape...)
}

// huge is more elements than any memory holds.
const huge = min(1<<40, math.MaxInt)

// ints is a vector of int64.
func ints(list ...int) *tensor.Tensor {
	t := tensor.New(tensor.I64, len(list))
	for i, v := range list {
		tensor.View[int64](t)[i] = int64(v)
	}
	return t
}

// longs is ints of numbers that need 64 bits.
func longs(list ...int64) *tensor.Tensor {
	t := tensor.New(tensor.I64, len(list))
	copy(tensor.View[int64](t), list)
	return t
}

// scalar is a tensor without axes.
func scalar(d tensor.DType, v float64) *tensor.Tensor {
	t := tensor.New(d)
	setNumber(t, 0, v)
	return t
}

// vector is a tensor of one axis.
func vector(d tensor.DType, list ...float64) *tensor.Tensor { return fromNumbers(d, list, len(list)) }

// in is the inputs of a case; nil where one is left out.
func in(list ...*tensor.Tensor) []*tensor.Tensor { return list }

// want is the outputs of a case; nil where one is left out.
func want(list ...*tensor.Tensor) []*tensor.Tensor { return list }

// attrs makes attributes from names and values in turn.
func attrs(list ...any) []*graph.Attr {
	var out []*graph.Attr
	for i := 0; i < len(list); i += 2 {
		a := &graph.Attr{Name: list[i].(string)}
		switch v := list[i+1].(type) {
		case int:
			a.Kind, a.Int = graph.AttrInt, int64(v)
		case float64:
			a.Kind, a.Float = graph.AttrFloat, float32(v)
		case string:
			a.Kind, a.Str = graph.AttrString, []byte(v)
		case []int:
			a.Kind, a.Ints = graph.AttrInts, []int64{}
			for _, n := range v {
				a.Ints = append(a.Ints, int64(n))
			}
		case []int64:
			a.Kind, a.Ints = graph.AttrInts, v
		case []float64:
			a.Kind, a.Floats = graph.AttrFloats, []float32{}
			for _, f := range v {
				a.Floats = append(a.Floats, float32(f))
			}
		case []string:
			a.Kind = graph.AttrStrings
			for _, t := range v {
				a.Strs = append(a.Strs, []byte(t))
			}
		case *tensor.Tensor:
			a.Kind, a.Tensor = graph.AttrTensor, v
		case *graph.SparseTensor:
			a.Kind, a.Sparse = graph.AttrSparse, v
		default:
			panic(fmt.Sprintf("optest: attribute of type %T", v))
		}
		out = append(out, a)
	}
	return out
}

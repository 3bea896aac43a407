package cases

import (
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Source makes tensors from a seed.
type Source struct{ *rand.Rand }

// NewSource returns the source of a name.
func NewSource(name string) *Source {
	h := fnv.New64a()
	io.WriteString(h, name)
	return &Source{rand.New(rand.NewPCG(h.Sum64(), 0x6e61637265))}
}

// Any returns a tensor of elements that suit the type: floats around zero, small integers, short
// strings.
func (s *Source) Any(d tensor.DType, shape ...int) *tensor.Tensor {
	switch d.Kind() {
	case tensor.Signed:
		return s.Between(d, -2, 2, shape...)
	case tensor.Unsigned:
		return s.Between(d, 0, 3, shape...)
	}
	return s.Between(d, -3, 3, shape...)
}

// Between returns a tensor of numbers from lo to hi, whole numbers for integers. It fills other
// types with arbitrary elements.
func (s *Source) Between(d tensor.DType, lo, hi float64, shape ...int) *tensor.Tensor {
	t := tensor.New(d, shape...)
	if b := d.Blocks(); b != nil {
		s.fillBlocks(t.Bytes(), b)
		return t
	}
	for i := range t.Len() {
		switch {
		case d == tensor.String:
			t.Strings()[i] = fmt.Sprint("s", s.IntN(100))
		case d == tensor.Bool:
			t.Bytes()[i] = byte(s.IntN(2))
		case d.IsInteger():
			SetNumber(t, i, math.Floor(lo+s.Float64()*(hi-lo+1)))
		case canCompute(d):
			SetNumber(t, i, lo+s.Float64()*(hi-lo))
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

// fillBlocks writes blocks of arbitrary elements. Scales are small numbers.
func (s *Source) fillBlocks(data []byte, b *packed.Blocks) {
	for i := range data {
		data[i] = byte(s.Uint32())
	}
	for ; len(data) > 0; data = data[b.Bytes:] {
		for _, at := range b.Scales {
			data[at+1] = byte(0x08 + s.IntN(4)) // about 2^-13
		}
		switch b {
		case packed.IQ1_M:
			data[55] = data[55]&15 | 0x10
		case packed.MXFP4:
			data[0] = byte(120 + s.IntN(6))
		case packed.NVFP4:
			for g := range 4 {
				data[g] &= 0x1f
			}
		}
	}
}

// Indices returns numbers from lo to hi-1.
func (s *Source) Indices(d tensor.DType, lo, hi int, shape ...int) *tensor.Tensor {
	return s.Between(d, float64(lo), float64(hi-1), shape...)
}

// Huge is more elements than any memory holds.
const Huge = min(1<<40, math.MaxInt)

// Ints returns a vector of int64.
func Ints(list ...int) *tensor.Tensor {
	t := tensor.New(tensor.I64, len(list))
	for i, v := range list {
		tensor.View[int64](t)[i] = int64(v)
	}
	return t
}

// Longs is Ints for numbers that need 64 bits.
func Longs(list ...int64) *tensor.Tensor {
	t := tensor.New(tensor.I64, len(list))
	copy(tensor.View[int64](t), list)
	return t
}

// Scalar returns a tensor without axes.
func Scalar(d tensor.DType, v float64) *tensor.Tensor {
	t := tensor.New(d)
	SetNumber(t, 0, v)
	return t
}

// Vector returns a tensor with one axis.
func Vector(d tensor.DType, list ...float64) *tensor.Tensor { return FromNumbers(d, list, len(list)) }

// In lists the inputs of a case; nil for one that is left out.
func In(list ...*tensor.Tensor) []*tensor.Tensor { return list }

// Want lists the outputs of a case; nil for one that is left out.
func Want(list ...*tensor.Tensor) []*tensor.Tensor { return list }

// Attrs returns attributes from alternating names and values.
func Attrs(list ...any) []*graph.Attr {
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
			panic(fmt.Sprintf("cases: attribute of type %T", v))
		}
		out = append(out, a)
	}
	return out
}

// Bits returns arbitrary integers.
func (s *Source) Bits(d tensor.DType, shape ...int) *tensor.Tensor {
	t := tensor.New(d, shape...)
	for i := range t.Len() {
		PutBits(t, i, s.Uint64())
	}
	return t
}

// GetBits returns the bits of element i of integers, zero-extended.
func GetBits(t *tensor.Tensor, i int) uint64 {
	w, v := t.DType().Bits()/8, uint64(0)
	for j := range w {
		v |= uint64(t.Bytes()[i*w+j]) << (8 * j)
	}
	return v
}

// PutBits stores the low bits of v as element i.
func PutBits(t *tensor.Tensor, i int, v uint64) {
	w := t.DType().Bits() / 8
	for j := range w {
		t.Bytes()[i*w+j] = byte(v >> (8 * j))
	}
}

// Codes returns a tensor of random codes of d, a type narrower than a byte.
func (s *Source) Codes(d tensor.DType, shape ...int) *tensor.Tensor {
	t := tensor.New(d, shape...)
	for i := range t.Len() {
		d.Layout().Set(t.Bytes(), i, int8(s.IntN(1<<d.Bits())))
	}
	return t
}

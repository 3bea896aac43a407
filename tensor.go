package nacre

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Tensor is an element type, a shape, and the elements in row-major order without
// gaps. The functions NewTensor, Zeros, Scalar, Strings and FromBytes make tensors,
// and so does a run; the zero Tensor, and nil, have no element type and fit no input.
//
// The type and the shape of a tensor never change, and its methods may be called from
// many goroutines at once. A program that writes elements, through Data, Bytes or the
// slice under the tensor, must ensure that no run and no other goroutine uses the tensor
// at the same time.
type Tensor struct{ t tensor.Tensor }

// Element lists the Go types of elements: bool, the numbers of Go with a size, and the narrow
// floats of package packed, which converts them. Elements of less than a byte have no Go type: use
// FromBytes and Tensor.Bytes; for strings, use Strings and Tensor.Strings.
type Element interface{ tensor.Element }

// NewTensor returns a tensor over data, in row-major order. The tensor shares the
// memory of data. Without a shape it is a scalar. The error is ErrShape if the extents are
// negative or their product is not the number of elements.
func NewTensor[T Element](data []T, shape ...int) (*Tensor, error) {
	t, err := tensor.From(data, shape...)
	if err != nil {
		return nil, markf(ErrShape, "%w", err)
	}
	return &Tensor{*t}, nil
}

// Zeros returns a tensor of zero bytes: zeros, false for Bool and empty strings for
// String. The error is ErrShape if the type is not valid, an extent is negative, the
// number of elements overflows or the last axis does not fill blocks of the type, and ErrMemory if the machine has less memory.
func Zeros(d DType, shape ...int) (*Tensor, error) {
	s := tensor.Shape(shape)
	if !d.Valid() {
		return nil, markf(ErrShape, "%v is no element type", d)
	}
	if err := tensor.DType(d).Check(s); err != nil {
		return nil, markf(ErrShape, "%w", err)
	}
	if err := fits(d, s); err != nil {
		return nil, err
	}
	return &Tensor{*tensor.New(tensor.DType(d), shape...)}, nil
}

// fits returns an error if a tensor takes more memory than the machine has.
func fits(d DType, s tensor.Shape) error {
	size := tensor.DType(d).Bytes(s.Len())
	if d == String {
		size = s.Len() * int(unsafe.Sizeof(""))
	}
	if most := runtime.PhysicalMemory(); most > 0 && size > most {
		return markf(ErrMemory, "%v%v takes %d bytes and the machine has %d", d, s, size, most)
	}
	return nil
}

// Scalar returns a tensor without axes, of one element.
func Scalar[T Element](v T) *Tensor {
	t, err := NewTensor([]T{v})
	if err != nil {
		panic(err) // one element fits no axes
	}
	return t
}

// Strings returns a String tensor over data, in row-major order. The tensor shares
// the memory of data. The error is ErrShape if the shape does not fit.
func Strings(data []string, shape ...int) (*Tensor, error) {
	t, err := tensor.FromStrings(data, shape...)
	if err != nil {
		return nil, markf(ErrShape, "%w", err)
	}
	return &Tensor{*t}, nil
}

// FromBytes returns a tensor of any element type but String over data, with elements stored
// as Tensor.Bytes describes. The tensor shares the memory of data if it is
// aligned to the elements, and has a copy otherwise. The error is ErrShape if the length of
// data does not fit the type and the shape, or if an element of a Bool tensor is
// neither 0 nor 1.
func FromBytes(d DType, data []byte, shape ...int) (*Tensor, error) {
	t, err := tensor.FromBytes(tensor.DType(d), shape, data)
	if err != nil {
		return nil, markf(ErrShape, "%w", err)
	}
	if d == Bool {
		if i := slices.IndexFunc(data, func(b byte) bool { return b > 1 }); i >= 0 {
			return nil, markf(ErrShape, "element %d of a bool tensor is the byte %d, neither 0 nor 1", i, data[i])
		}
	}
	return &Tensor{*t.Aligned()}, nil
}

// below returns the engine's tensor; the zero Tensor for nil.
func (t *Tensor) below() *tensor.Tensor {
	if t == nil {
		return &tensor.Tensor{}
	}
	return &t.t
}

// DType returns the type of the elements.
func (t *Tensor) DType() DType { return DType(t.below().DType()) }

// Shape returns the extent of each axis, in a new slice; a scalar has no axes.
func (t *Tensor) Shape() []int { return slices.Clone(t.below().Shape()) }

// Len returns the number of elements.
func (t *Tensor) Len() int { return t.below().Len() }

// Bytes returns the memory of the elements: little-endian numbers, a complex number as its
// real and its imaginary part, a bool as 0 or 1, elements narrower than a byte packed from
// the lowest bits up, blocks as package packed describes them. It is nil for strings.
func (t *Tensor) Bytes() []byte { return t.below().Bytes() }

// Strings returns the memory of the elements of a String tensor; nil for another type.
func (t *Tensor) Strings() []string { return t.below().Strings() }

// Clone returns a copy in memory of its own.
func (t *Tensor) Clone() *Tensor { return &Tensor{*t.below().Clone()} }

// Release leaves t with no elements, of shape [0]. It returns the memory of a result to
// its session for later results, so slices of its elements and tensors that share them must
// not be used any more. Without Release the memory returns when the garbage collector finds
// it unused. Release is for runs in quick succession.
func (t *Tensor) Release() { t.below().Release() }

// Reshape returns a tensor of another shape that shares the memory of t. The
// error is ErrShape if the shape has another number of elements.
func (t *Tensor) Reshape(shape ...int) (*Tensor, error) {
	r, err := t.below().Reshape(shape)
	if err != nil {
		return nil, markf(ErrShape, "%w", err)
	}
	return &Tensor{*r}, nil
}

// Text returns element i, in row-major order, as text: a number in its shortest exact form,
// a string quoted. It panics if i is out of range.
func (t *Tensor) Text(i int) string {
	if uint(i) >= uint(t.Len()) {
		panic(fmt.Sprintf("nacre: element %d of %v", i, t))
	}
	return t.t.Text(i)
}

// String returns type and shape, such as float32[1,3,224,224]; "none" for nil.
func (t *Tensor) String() string {
	if t == nil {
		return "none"
	}
	return t.t.String()
}

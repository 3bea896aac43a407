package tensor

import (
	"fmt"
	"unsafe"

	"github.com/nacre-ml/nacre/packed"
)

// Element lists the Go types of one element. Types narrower than a byte have none. String tensors
// use Tensor.Strings.
type Element interface {
	float32 | float64 | packed.F16 | packed.BF16 |
		int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 |
		bool | complex64 | complex128 |
		packed.F8E4M3FN | packed.F8E4M3FNUZ | packed.F8E5M2 | packed.F8E5M2FNUZ | packed.F8E8M0
}

// Of returns the element type of Go type T.
func Of[T Element]() DType {
	var zero T
	switch any(zero).(type) {
	case float32:
		return F32
	case float64:
		return F64
	case packed.F16:
		return F16
	case packed.BF16:
		return BF16
	case int8:
		return I8
	case int16:
		return I16
	case int32:
		return I32
	case int64:
		return I64
	case uint8:
		return U8
	case uint16:
		return U16
	case uint32:
		return U32
	case uint64:
		return U64
	case bool:
		return Bool
	case complex64:
		return C64
	case complex128:
		return C128
	case packed.F8E4M3FN:
		return F8E4M3FN
	case packed.F8E4M3FNUZ:
		return F8E4M3FNUZ
	case packed.F8E5M2:
		return F8E5M2
	case packed.F8E5M2FNUZ:
		return F8E5M2FNUZ
	case packed.F8E8M0:
		return F8E8M0
	}
	return Invalid
}

// From returns a tensor over data without copying it. It returns an error if the shape is invalid
// or has another number of elements.
func From[T Element](data []T, shape ...int) (*Tensor, error) {
	sh := Shape(shape).Clone()
	if err := sh.Check(); err != nil {
		return nil, err
	}
	if sh.Len() != len(data) {
		return nil, fmt.Errorf("shape %v has %d elements, not %d", sh, sh.Len(), len(data))
	}
	return &Tensor{dtype: Of[T](), shape: sh, data: bytesOf(data)}, nil
}

// Data returns the elements, shared with the tensor. It returns an error if T is not the Go type of
// the elements.
func Data[T Element](t *Tensor) ([]T, error) {
	if d := Of[T](); d != t.dtype {
		return nil, fmt.Errorf("elements are %v, not %v", t.dtype, d)
	}
	return View[T](t), nil
}

// View returns the bytes of t as elements of T, shared with the tensor, for code that has checked
// the type. The bytes must be aligned to T; see Aligned. View panics if T is not as wide as an
// element.
func View[T Element](t *Tensor) []T {
	var zero T
	if t.dtype.Bits() != 8*int(unsafe.Sizeof(zero)) {
		panic(fmt.Sprintf("tensor: %v elements viewed as %T", t.dtype, zero))
	}
	data := t.Bytes()
	if len(data) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), t.Len())
}

// Pointer returns the address of the first element, nil for an empty tensor.
func (t *Tensor) Pointer() unsafe.Pointer {
	data := t.Bytes()
	if len(data) == 0 {
		return nil
	}
	return unsafe.Pointer(unsafe.SliceData(data))
}

func bytesOf[T Element](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}

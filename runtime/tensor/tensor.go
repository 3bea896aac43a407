package tensor

import (
	"fmt"
	"unsafe"
)

// Tensor is an element type, a shape, and the elements in row-major order without gaps. Elements
// narrower than a byte are packed in the type's layout; types of blocks have blocks along the last
// axis; strings are Go strings; all others are little-endian bytes. The bytes may be a view of a mapped file and must then not be written.
type Tensor struct {
	dtype   DType
	shape   Shape
	data    []byte
	strings []string
	lent    *loan    // nil if the memory is not lent
	derived *derived // nil if data has the elements

	borrowed bool // the owner reuses the memory
}

// Align is the alignment, in bytes, of memory that New returns.
const Align = 64

// New returns a tensor of zero bytes, or of empty strings for String. DType.Check must accept the
// shape.
func New(d DType, shape ...int) *Tensor {
	t := &Tensor{dtype: d, shape: Shape(shape).Clone()}
	if d == String {
		t.strings = make([]string, t.shape.Len())
	} else {
		t.data = alignedBytes(d.Bytes(t.shape.Len()))
	}
	return t
}

func alignedBytes(n int) []byte {
	b := make([]byte, n+Align-1)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % Align
	return b[skip : int(skip)+n : int(skip)+n]
}

// FromBytes returns a tensor over data without copying it. It returns an error if data does not
// have the length of that type and shape.
func FromBytes(d DType, shape Shape, data []byte) (*Tensor, error) {
	if !d.Valid() || d == String {
		return nil, fmt.Errorf("%v elements are not stored as bytes", d)
	}
	if err := d.Check(shape); err != nil {
		return nil, err
	}
	if want := d.Bytes(shape.Len()); len(data) != want {
		return nil, fmt.Errorf("%v%v takes %d bytes, not %d", d, shape, want, len(data))
	}
	return &Tensor{dtype: d, shape: shape.Clone(), data: data}, nil
}

// Borrow is FromBytes over memory that its owner reuses. A value that outlives the step with such a
// tensor must hold a copy of it.
func Borrow(d DType, shape Shape, data []byte) (*Tensor, error) {
	t, err := FromBytes(d, shape, data)
	if err == nil {
		t.borrowed = true
	}
	return t, err
}

// IsBorrowed reports whether the owner reuses the memory.
func (t *Tensor) IsBorrowed() bool { return t.borrowed }

// holds reports whether the elements of o begin in the memory of t.
func (t *Tensor) holds(o *Tensor) bool {
	if len(t.data) == 0 || len(o.data) == 0 {
		return false
	}
	from, at := uintptr(unsafe.Pointer(unsafe.SliceData(t.data))), uintptr(unsafe.Pointer(unsafe.SliceData(o.data)))
	return at >= from && at-from < uintptr(len(t.data))
}

// FromStrings returns a tensor over s without copying it.
func FromStrings(s []string, shape ...int) (*Tensor, error) {
	sh := Shape(shape).Clone()
	if err := sh.Check(); err != nil {
		return nil, err
	}
	if sh.Len() != len(s) {
		return nil, fmt.Errorf("shape %v has %d elements, not %d", sh, sh.Len(), len(s))
	}
	return &Tensor{dtype: String, shape: sh, strings: s}, nil
}

// DType returns the type of the elements.
func (t *Tensor) DType() DType { return t.dtype }

// Shape returns the extent of each axis. It must not be changed.
func (t *Tensor) Shape() Shape { return t.shape }

// Len returns the number of elements.
func (t *Tensor) Len() int { return t.shape.Len() }

// Bytes returns the elements in memory order, nil for strings.
func (t *Tensor) Bytes() []byte {
	if t.derived != nil {
		return t.derived.bytes(t.Size())
	}
	return t.data
}

// Size returns the number of bytes of the elements, 0 for strings.
func (t *Tensor) Size() int {
	if t.derived != nil {
		return t.dtype.Bytes(t.shape.Len())
	}
	return len(t.data)
}

// Strings returns the elements of a String tensor, nil for others.
func (t *Tensor) Strings() []string { return t.strings }

// Reshape returns a tensor of another shape over the same elements.
func (t *Tensor) Reshape(shape Shape) (*Tensor, error) {
	if err := t.dtype.Check(shape); err != nil {
		return nil, err
	}
	if shape.Len() != t.Len() {
		return nil, fmt.Errorf("%v has %d elements and %v has %d", t.shape, t.Len(), shape, shape.Len())
	}
	return &Tensor{
		dtype: t.dtype, shape: shape.Clone(), data: t.data, strings: t.strings, derived: t.derived, borrowed: t.borrowed,
	}, nil
}

// Part returns a tensor over the elements from index at on, as many as shape has. The elements
// before it and in it must take whole bytes, or whole blocks, and the tensor must not be from
// Derive.
func (t *Tensor) Part(at int, shape Shape) *Tensor {
	p := &Tensor{dtype: t.dtype, shape: shape.Clone(), borrowed: t.borrowed}
	n := shape.Len()
	if t.dtype == String {
		p.strings = t.strings[at : at+n : at+n]
	} else {
		from, to := t.dtype.Bytes(at), t.dtype.Bytes(at+n)
		p.data = t.data[from:to:to]
	}
	return p
}

// Clone returns a copy with memory of its own.
func (t *Tensor) Clone() *Tensor {
	c := New(t.dtype, t.shape...)
	copy(c.data, t.Bytes())
	copy(c.strings, t.strings)
	return c
}

// IsAligned reports whether the elements are at a multiple of their size, as kernels need. Views of
// mapped files may be at any address.
func (t *Tensor) IsAligned() bool {
	size := max(uintptr(t.dtype.Bits()/8), 1)
	if t.dtype.Kind() == Complex {
		size /= 2
	}
	return len(t.data) == 0 || uintptr(unsafe.Pointer(unsafe.SliceData(t.data)))%size == 0
}

// Aligned returns t if it is aligned, else an aligned copy.
func (t *Tensor) Aligned() *Tensor {
	if t.IsAligned() {
		return t
	}
	return t.Clone()
}

// String formats type and shape like float32[1,3,224,224].
func (t *Tensor) String() string {
	if t == nil {
		return "none"
	}
	return fmt.Sprintf("%v%v", t.dtype, t.shape)
}

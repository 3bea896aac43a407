package tensor

import (
	"sync"
	"unsafe"
	"weak"

	"github.com/nacre-ml/nacre/internal/mapped"
)

// derived is elements that can be recomputed.
type derived struct {
	fill   func(data []byte)
	source any // nil if DeriveFrom did not make it

	mu   sync.Mutex
	data []byte             // nil before the first use and after forget
	last weak.Pointer[byte] // the first byte of the last elements
}

// Derive returns a tensor with elements that fill computes on first use, and again on first use
// after Forget. fill receives zeros and must write the same bytes each time. d must not be String.
func Derive(d DType, shape Shape, fill func(data []byte)) *Tensor {
	return &Tensor{dtype: d, shape: shape.Clone(), derived: &derived{fill: fill}}
}

// DeriveFrom is Derive for elements that follow from source, which must not change. Source returns it
// to readers that need no elements.
func DeriveFrom(source any, d DType, shape Shape, fill func(data []byte)) *Tensor {
	t := Derive(d, shape, fill)
	t.derived.source = source
	return t
}

// Source returns the source of a tensor of DeriveFrom, or of a reshaped one; nil for others.
func (t *Tensor) Source() any {
	if t.derived == nil {
		return nil
	}
	return t.derived.source
}

// bytes returns the n bytes of the elements. They stay until forget.
func (d *derived) bytes(n int) []byte {
	if n == 0 {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.data != nil {
		return d.data
	}
	if at := d.last.Value(); at != nil {
		d.data = unsafe.Slice(at, n)
		return d.data
	}
	data := alignedBytes(n)
	d.fill(data)
	d.data, d.last = data, weak.Make(unsafe.SliceData(data))
	return data
}

func (d *derived) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.data = nil
}

// Forget releases memory of elements that can be obtained again: the elements of Derive once no
// slice of them is in use, and whole pages of a mapped file. The tensor and slices of its elements
// stay valid.
func (t *Tensor) Forget() {
	if t.derived != nil {
		t.derived.forget()
		return
	}
	mapped.Release(t.data)
}

// IsDerived reports whether Derive made the tensor.
func (t *Tensor) IsDerived() bool { return t.derived != nil }

// Identity returns an address that two tensors share if and only if they share their elements, nil
// for an empty tensor. It must not be read.
func (t *Tensor) Identity() unsafe.Pointer {
	if t.derived != nil {
		return unsafe.Pointer(t.derived)
	}
	return t.Pointer()
}

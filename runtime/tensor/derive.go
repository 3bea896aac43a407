package tensor

import (
	"sync"
	"unsafe"
	"weak"

	"github.com/nacre-ml/nacre/internal/mapped"
)

// derived is elements that can be computed again.
type derived struct {
	fill func(data []byte)

	mu   sync.Mutex
	data []byte             // nil before they are asked for and after Forget
	last weak.Pointer[byte] // the first of those asked for last
}

// Derive returns a tensor whose elements fill writes when they are first asked for, and
// again when they are asked for after Forget. Fill is given zeros, and must write the same
// bytes each time. The element type may not be String.
func Derive(d DType, shape Shape, fill func(data []byte)) *Tensor {
	return &Tensor{dtype: d, shape: shape.Clone(), derived: &derived{fill: fill}}
}

// bytes returns the n bytes of the elements, which stay until forget.
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

// Forget gives back the memory of elements that can be had again: those of Derive, once no
// slice of them is in use, and the whole pages of those in a mapped file. The tensor and
// slices of its elements stay as they are.
func (t *Tensor) Forget() {
	if t.derived != nil {
		t.derived.forget()
		return
	}
	mapped.Release(t.data)
}

// IsDerived reports whether the tensor is from Derive.
func (t *Tensor) IsDerived() bool { return t.derived != nil }

// Identity is an address that tensors share if and only if they share their elements; nil
// for an empty tensor. Nothing may be read there.
func (t *Tensor) Identity() unsafe.Pointer {
	if t.derived != nil {
		return unsafe.Pointer(t.derived)
	}
	return t.Pointer()
}

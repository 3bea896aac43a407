package op

import (
	"errors"
	"sync"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Packs holds constants rearranged for kernels. Each is made once, for a tensor
// and a kind of packing, and shared by every session of a model.
type Packs struct {
	mu   sync.Mutex
	list map[packKey]*pack
}

type packKey struct {
	data unsafe.Pointer
	kind string
}

type pack struct {
	once  sync.Once
	bytes []byte
	err   error
	of    *tensor.Tensor // keeps data from being reused for another tensor
}

// NewPacks returns an empty set.
func NewPacks() *Packs { return &Packs{list: map[packKey]*pack{}} }

// Get returns the packing of w of that kind. The first call makes it: fill
// writes all n bytes of dst, which lie at a multiple of 64 outside Go's heap.
// The kind must name everything that fill depends on besides w.
func (p *Packs) Get(w *tensor.Tensor, kind string, n int, fill func(dst []byte)) ([]byte, error) {
	p.mu.Lock()
	k := packKey{w.Pointer(), kind}
	e := p.list[k]
	if e == nil {
		e = &pack{of: w}
		p.list[k] = e
	}
	p.mu.Unlock()
	e.once.Do(func() {
		if e.bytes = bindings.Alloc(n); e.bytes == nil {
			e.err = errors.New("no memory for packed weights")
			return
		}
		fill(e.bytes)
	})
	return e.bytes, e.err
}

// Aligned returns w if kernels can read its elements where they lie, else a copy
// made once.
func (p *Packs) Aligned(w *tensor.Tensor) (*tensor.Tensor, error) {
	if w.IsAligned() {
		return w, nil
	}
	b, err := p.Get(w, "aligned", len(w.Bytes()), func(dst []byte) { copy(dst, w.Bytes()) })
	if err != nil {
		return nil, err
	}
	return tensor.FromBytes(w.DType(), w.Shape(), b)
}

// Bytes is the memory that the packings take.
func (p *Packs) Bytes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, e := range p.list {
		n += len(e.bytes)
	}
	return n
}

// Close frees the packings. No session may use them any more.
func (p *Packs) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.list {
		bindings.Free(e.bytes)
	}
	p.list = map[packKey]*pack{}
}

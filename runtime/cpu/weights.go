package cpu

import (
	"cmp"
	"slices"
	"sync"
	"unsafe"

	"github.com/nacre-ml/nacre/internal/mapped"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// leastMoved is the bytes of the smallest constant that comes and goes: what lies on
// pages of its own is more than half of it.
const leastMoved = 16 << 10

// CanMove reports whether the system takes memory of constants back.
const CanMove = mapped.CanForget

// Weights has the constants of mapped files in memory by turns, within a budget: those
// that kernels read where they lie in the file, and copies of those that lie there at
// addresses that kernels cannot use. The least recently used ones make room. Constants
// below 16 KiB, and those that kernels take rearranged by other kernels than products of
// matrices and convolutions, stay.
type Weights struct {
	mu     sync.Mutex
	budget int
	pinned map[unsafe.Pointer]bool // by address in the file
	list   []*weight               // by address
	bytes  int                     // of those in memory
	clock  int
}

// weight is a constant that comes and goes.
type weight struct {
	data   []byte
	source []byte // in the file; nil where data is that
	pinned bool   // it stays once it is there
	users  int
	used   int // when it was held last
	there  bool
}

// NewWeights returns an empty set that keeps within a budget of bytes where steps allow.
// Pinned are the addresses of constants that stay in memory once they were used.
func NewWeights(budget int, pinned map[unsafe.Pointer]bool) *Weights {
	return &Weights{budget: budget, pinned: pinned}
}

// moves reports whether a constant comes and goes.
func (w *Weights) moves(t *tensor.Tensor) bool {
	return w != nil && t != nil && t.Size() >= leastMoved && !t.IsDerived() && mapped.Contains(t.Bytes())
}

// Segment is half the budget, so that what the next steps read can come while others
// stay.
func (w *Weights) Segment() int { return w.budget / 2 }

// aligned returns a tensor whose elements are those of t while it is held.
func (w *Weights) aligned(t *tensor.Tensor) (*tensor.Tensor, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.list {
		if x.source != nil && unsafe.SliceData(x.source) == unsafe.SliceData(t.Bytes()) {
			return tensor.FromBytes(t.DType(), t.Shape(), x.data)
		}
	}
	data, err := mapped.Reserve(len(t.Bytes()))
	if err != nil {
		return nil, err
	}
	w.add(&weight{data: data, source: t.Bytes()})
	return tensor.FromBytes(t.DType(), t.Shape(), data)
}

// add puts a constant into the list. The set is locked.
func (w *Weights) add(x *weight) {
	x.pinned = w.pinned[unsafe.Pointer(unsafe.SliceData(inFile(x)))]
	at, _ := w.search(x.data)
	w.list = slices.Insert(w.list, at, x)
}

// inFile is where the constant lies in the file.
func inFile(x *weight) []byte {
	if x.source != nil {
		return x.source
	}
	return x.data
}

func (w *Weights) search(data []byte) (int, bool) {
	return slices.BinarySearchFunc(w.list, uintptr(unsafe.Pointer(unsafe.SliceData(data))), func(x *weight, at uintptr) int {
		return cmp.Compare(uintptr(unsafe.Pointer(unsafe.SliceData(x.data))), at)
	})
}

// Takes returns the size of a constant that comes and goes.
func (w *Weights) Takes(data []byte) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at, ok := w.search(data); ok {
		return len(w.list[at].data)
	}
	if len(data) < leastMoved || !mapped.Contains(data) {
		return 0
	}
	w.add(&weight{data: data})
	return len(data)
}

// Hold brings constants into memory that are not there. Others make room before.
func (w *Weights) Hold(list [][]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock++
	need := 0
	for _, data := range list {
		x := w.of(data)
		x.users++
		x.used = w.clock
		if !x.there {
			need += len(x.data)
		}
	}
	w.shrink(w.budget - need)
	for _, data := range list {
		x := w.of(data)
		if !x.there {
			x.there = true
			w.bytes += len(x.data)
			x.fill()
		}
	}
	return nil
}

// Drop lets constants go where the budget needs it.
func (w *Weights) Drop(list [][]byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, data := range list {
		w.of(data).users--
	}
	w.shrink(w.budget)
}

// Forget gives back pages of a mapped file.
func (w *Weights) Forget(data []byte) { mapped.Release(data) }

// of returns a constant for which Takes was more than 0.
func (w *Weights) of(data []byte) *weight {
	at, _ := w.search(data)
	return w.list[at]
}

// shrink makes constants go that nobody uses until the others take that many bytes, least
// recently used ones first.
func (w *Weights) shrink(to int) {
	for w.bytes > to {
		var oldest *weight
		for _, x := range w.list {
			if x.there && !x.pinned && x.users == 0 && (oldest == nil || x.used < oldest.used) {
				oldest = x
			}
		}
		if oldest == nil {
			return
		}
		oldest.there = false
		w.bytes -= len(oldest.data)
		if oldest.source == nil {
			mapped.Release(oldest.data)
		} else {
			mapped.Forget(oldest.data)
		}
	}
}

// fill copies a constant from its file, a part at a time.
func (x *weight) fill() {
	const part = 1 << 20
	for at := 0; at < len(x.source); at += part {
		end := min(at+part, len(x.source))
		copy(x.data[at:end], x.source[at:end])
		mapped.Release(x.source[at:end])
	}
}

// close frees the copies.
func (w *Weights) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.list {
		if x.source != nil {
			mapped.Unreserve(x.data)
		}
	}
	w.list, w.bytes = nil, 0
}

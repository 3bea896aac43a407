package cpu

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/mapped"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// leastMoved is the size in bytes of the smallest constant that moves. More than half of such a
// constant is on pages that hold nothing else.
const leastMoved = 16 << 10

// CanMove reports whether the system can release the memory of constants, and kernels read them there.
const CanMove = mapped.CanForget && !bindings.Apart

// Weights moves constants of mapped files in and out of memory, within a budget. It moves constants
// that kernels read in place in the file, and copies of constants that are not aligned there. The
// least recently used ones are released first. Constants below 16 KiB stay, and so do constants
// that kernels other than matrix products and convolutions read in packed form.
type Weights struct {
	mu     sync.Mutex
	budget int
	pinned map[unsafe.Pointer]bool // by address in the file
	list   []*weight               // sorted by address
	bytes  int                     // of the constants in memory
	clock  int
	log    *slog.Logger // nil for none
}

// weight is a constant that moves in and out of memory.
type weight struct {
	data   []byte
	source []byte // bytes in the file; nil if these are data
	pinned bool   // stays in memory after its first use
	users  int
	used   int // clock when it was last held
	there  bool
}

// NewWeights returns an empty set that keeps within a budget of bytes if steps allow it. pinned
// holds the addresses of constants that stay in memory after their first use. log is told of constants
// that leave; nil for none.
func NewWeights(budget int, pinned map[unsafe.Pointer]bool, log *slog.Logger) *Weights {
	return &Weights{budget: budget, pinned: pinned, log: log}
}

// moves reports whether t moves in and out of memory.
func (w *Weights) moves(t *tensor.Tensor) bool {
	return w != nil && t != nil && t.Size() >= leastMoved && !t.IsDerived() && mapped.Contains(t.Bytes())
}

// Segment returns half the budget, so that the constants of the next steps can be loaded while
// others stay.
func (w *Weights) Segment() int { return w.budget / 2 }

// aligned returns a tensor with the elements of t, present while it is held.
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

// add inserts a constant into the list. The caller holds w.mu.
func (w *Weights) add(x *weight) {
	x.pinned = w.pinned[unsafe.Pointer(unsafe.SliceData(inFile(x)))]
	at, _ := w.search(x.data)
	w.list = slices.Insert(w.list, at, x)
}

// inFile returns the bytes of the constant in the file.
func inFile(x *weight) []byte {
	if x.source != nil {
		return x.source
	}
	return x.data
}

func (w *Weights) search(data []byte) (int, bool) {
	return slices.BinarySearchFunc(w.list, uintptr(unsafe.Pointer(unsafe.SliceData(data))),
		func(x *weight, at uintptr) int {
			return cmp.Compare(uintptr(unsafe.Pointer(unsafe.SliceData(x.data))), at)
		})
}

// Takes returns the size of a constant that moves, 0 for another.
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

// Hold loads the constants that are not in memory. It releases others first.
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

// Drop ends the use of constants, and releases unused ones beyond the budget.
func (w *Weights) Drop(list [][]byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, data := range list {
		w.of(data).users--
	}
	w.shrink(w.budget)
}

// Forget releases the pages of a mapped file under data.
func (w *Weights) Forget(data []byte) { mapped.Release(data) }

// of returns the constant of data, for which Takes has returned more than 0.
func (w *Weights) of(data []byte) *weight {
	at, _ := w.search(data)
	return w.list[at]
}

// shrink releases unused constants, least recently used first, until the others take at most to
// bytes.
func (w *Weights) shrink(to int) {
	before, count := w.bytes, 0
	for ; w.bytes > to; count++ {
		var oldest *weight
		for _, x := range w.list {
			if x.there && !x.pinned && x.users == 0 && (oldest == nil || x.used < oldest.used) {
				oldest = x
			}
		}
		if oldest == nil {
			break
		}
		oldest.there = false
		w.bytes -= len(oldest.data)
		if oldest.source == nil {
			mapped.Release(oldest.data)
		} else {
			mapped.Forget(oldest.data)
		}
	}
	if ctx := context.Background(); count > 0 && w.log != nil && w.log.Enabled(ctx, slog.LevelDebug) {
		w.log.LogAttrs(ctx, slog.LevelDebug, "weights evicted", slog.Int("weights", count), slog.Int("bytes", before-w.bytes),
			slog.Int("left", w.bytes), slog.Int("budget", w.budget))
	}
}

// fill copies a constant from its file, in parts.
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

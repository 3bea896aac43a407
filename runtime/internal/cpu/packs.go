package cpu

import (
	"errors"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/internal/mapped"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Packs keeps packed constants. All sessions of a model share one.
type Packs struct {
	mu      sync.Mutex
	list    map[packKey]*pack
	weights *Weights // nil if all constants stay in memory
}

// packKey identifies a constant and everything that its packing depends on.
type packKey struct {
	data    unsafe.Pointer
	packing bindings.Packing
	operand int
	words   string
}

type pack struct {
	once  sync.Once
	bytes []byte
	err   error
	of    any // keeps data from being reused for another constant
}

// NewPacks returns an empty set.
func NewPacks() *Packs { return &Packs{list: map[packKey]*pack{}} }

// NewMovingPacks returns an empty set for sessions with constants that weights moves in and out of
// memory, if CanMove. Close closes weights too.
func NewMovingPacks(weights *Weights) *Packs {
	p := NewPacks()
	if CanMove {
		p.weights = weights
	}
	return p
}

// pack returns n bytes under key k, at a multiple of 64 outside Go's heap. The first call with k
// allocates them and calls fill; it then releases the pages of w that can be reread. If the
// device's budget lacks the bytes, the error is graph.ErrMemory.
func (d *Device) pack(w *tensor.Tensor, k packKey, n int, fill func(w *tensor.Tensor, dst []byte) error) ([]byte, error) {
	return d.packPieces(w, k, n, pieces{rows: 1, step: 1, unit: 1, fill: func(w *tensor.Tensor, _, _ int, dst []byte) error {
		return fill(w, dst)
	}})
}

// pieces describes how a constant is packed in parts that follow each other in memory.
type pieces struct {
	rows int // contiguous rows of the constant
	step int // the most rows of a part; the last may have fewer
	unit int // rows of all parts but the last are a multiple, as step is

	// fill packs w, which is rows rows of the constant from row from on, to its place within all.
	// Calls for several pieces may run at once.
	fill func(w *tensor.Tensor, from, rows int, all []byte) error

	unaligned bool             // whether fill takes elements at any address
	others    []*tensor.Tensor // that fill reads beside w; nil for none
}

// packPieces is pack of a constant that is packed in pieces, in all threads of the device. A thread
// releases a piece's pages of a mapped file before it reads another piece.
func (d *Device) packPieces(w *tensor.Tensor, k packKey, n int, cut pieces) ([]byte, error) {
	k.data = w.Identity()
	if !d.packs.has(k) {
		if err := d.made.Bytes(int64(n)); err != nil {
			return nil, graph.Errorf(graph.ErrMemory,
				"rearranging a constant of %d bytes: %w; the option MemoryLimit sets the limit", w.Size(), err)
		}
	}
	return d.packs.keep(k, append(cut.others, w), func() ([]byte, error) {
		defer d.stages.Begin("pack")()
		b, err := allocPack(n)
		if err != nil {
			return nil, err
		}
		err = cut.each(w, b, d.threads)
		for _, t := range append(cut.others, w) {
			if t != nil {
				t.Forget()
			}
		}
		return b, err
	})
}

// each packs w piece by piece, in up to that many threads.
func (c pieces) each(w *tensor.Tensor, all []byte, threads int) error {
	if c.step >= c.rows {
		return c.pack(w, 0, c.rows, all)
	}
	c = c.even(threads)
	data, count := w.Bytes(), (c.rows+c.step-1)/c.step
	var next atomic.Int64
	work := func() error {
		for {
			i := int(next.Add(1)) - 1
			if i >= count {
				return nil
			}
			if err := c.one(i*c.step, w, data, all); err != nil {
				next.Store(int64(count))
				return err
			}
		}
	}
	errs := make([]error, max(1, min(threads, count)))
	var wait sync.WaitGroup
	for t := range errs[1:] {
		wait.Go(func() { errs[1+t] = guard.Call(work) })
	}
	errs[0] = guard.Call(work)
	wait.Wait()
	return errors.Join(errs...)
}

// even returns c with parts of about the same rows, as many for each thread.
func (c pieces) even(threads int) pieces {
	threads, count := max(threads, 1), (c.rows+c.step-1)/c.step
	count = (count + threads - 1) / threads * threads
	rows := (c.rows + count - 1) / count
	c.step = (rows + c.unit - 1) / c.unit * c.unit
	return c
}

// one packs the piece that begins at row from of w, whose bytes are data.
func (c pieces) one(from int, w *tensor.Tensor, data, all []byte) error {
	rows, width := min(c.step, c.rows-from), w.Len()/c.rows
	size := w.DType().Bytes(width)
	part, err := tensor.FromBytes(w.DType(), tensor.Shape{rows, width}, data[from*size:(from+rows)*size])
	if err != nil {
		return err
	}
	defer part.Forget()
	return c.pack(part, from, rows, all)
}

// pack calls fill with w, or with a copy of w that kernels can read.
func (c pieces) pack(w *tensor.Tensor, from, rows int, all []byte) error {
	if c.unaligned && reaches(w) {
		return c.fill(w, from, rows, all)
	}
	return aligned(w, func(w *tensor.Tensor) error { return c.fill(w, from, rows, all) })
}

// has reports whether keep was called with key k.
func (p *Packs) has(k packKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list[k] != nil
}

// keep returns the bytes under key k. The first call with k gets them from fill, outside Go's heap.
// The data of k identifies of, which keep holds on to.
func (p *Packs) keep(k packKey, of any, fill func() ([]byte, error)) ([]byte, error) {
	p.mu.Lock()
	e := p.list[k]
	if e == nil {
		e = &pack{of: of}
		p.list[k] = e
	}
	p.mu.Unlock()
	e.once.Do(func() { e.bytes, e.err = fill() })
	return e.bytes, e.err
}

// allocPack returns n bytes at a multiple of 64 outside Go's heap.
func allocPack(n int) ([]byte, error) {
	b := bindings.Alloc(n)
	if b == nil {
		return nil, graph.Errorf(graph.ErrMemory, "no memory for %d bytes of packed constants", n)
	}
	return b, nil
}

// reaches reports whether kernels reach the elements of w. They do not reach derived ones in memory of
// their own.
func reaches(w *tensor.Tensor) bool {
	return !bindings.Apart || !w.IsDerived() && bindings.Reaches(w.Bytes())
}

// aligned calls f with w, or with a copy that kernels can read. The copy is freed after the call.
func aligned(w *tensor.Tensor, f func(w *tensor.Tensor) error) error {
	if w.IsAligned() && reaches(w) {
		return f(w)
	}
	b := bindings.Alloc(len(w.Bytes()))
	if b == nil {
		return graph.Errorf(graph.ErrMemory, "no memory for a copy of constants of %d bytes", len(w.Bytes()))
	}
	defer bindings.Free(b)
	move(b, w.Bytes())
	c, err := tensor.FromBytes(w.DType(), w.Shape(), b)
	if err != nil {
		return err
	}
	return f(c)
}

// moved is how many bytes move copies at a time.
const moved = 1 << 20

// move copies src to dst. It releases the pages of a mapped file under src as it goes, so that they
// and the copy are never all in memory.
func move(dst, src []byte) {
	for at := 0; at < len(src); at += moved {
		copy(dst[at:], src[at:min(at+moved, len(src))])
		mapped.Release(src[max(0, at-moved):min(at+moved, len(src))])
	}
}

// Aligned returns w if kernels can read its elements in place, else a copy, made once. The elements
// of a constant that moves are present only while it is held.
func (p *Packs) Aligned(w *tensor.Tensor) (*tensor.Tensor, error) {
	if w.IsAligned() && reaches(w) {
		return w, nil
	}
	if p.weights.moves(w) {
		return p.weights.aligned(w)
	}
	b, err := p.keep(packKey{data: w.Identity()}, w, func() ([]byte, error) {
		b, err := allocPack(len(w.Bytes()))
		if err == nil {
			move(b, w.Bytes())
		}
		if w.IsDerived() {
			w.Forget()
		}
		return b, err
	})
	if err != nil {
		return nil, err
	}
	return tensor.FromBytes(w.DType(), w.Shape(), b)
}

// Bytes returns the memory of all packed constants.
func (p *Packs) Bytes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, e := range p.list {
		n += len(e.bytes)
	}
	return n
}

// Close frees the constants. No session may use them afterwards.
func (p *Packs) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.list {
		bindings.Free(e.bytes)
	}
	p.list = map[packKey]*pack{}
	if p.weights != nil {
		p.weights.close()
	}
}

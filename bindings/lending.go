//go:build !cgo && !js

package bindings

import (
	"bytes"
	"cmp"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings/internal/heap"
)

// lending is the operands of a Code in memory that the module does not have, such as Go's heap. A
// run works on copies.
type lending struct {
	places map[int]lent // by place
	loans  []loan       // sorted by address, apart from each other
	copies []byte       // memory of the copies
	stale  bool         // places have changed since loans were made
}

// lent is an operand.
type lent struct {
	Span
	offset int
}

// loan is memory that a run works on in a copy.
type loan struct {
	Span
	copy []byte
}

// memory returns the bytes of the span, which somebody keeps.
func (s Span) memory() []byte {
	at := s.at
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), s.bytes) // go vet cannot prove a plain conversion right
}

func (c *Code) point(place int, of Span, offset int) {
	l := &c.lending
	if of.bytes == 0 || region == nil || region.has(of) {
		if _, ok := l.places[place]; ok {
			delete(l.places, place)
			l.stale = true
		}
		c.words[place] = 0
		if of.bytes > 0 && region != nil {
			c.words[place] = uint64(of.at-SpanOf(region.memory).at) + uint64(offset)
		}
		return
	}
	if l.places == nil {
		l.places = map[int]lent{}
	}
	if x := (lent{of, offset}); l.places[place] != x {
		l.places[place], l.stale = x, true
	}
}

// take copies what is lent to the module's memory, and sets the words of its places. It returns false
// if there is no memory.
func (l *lending) take(words []uint64) bool {
	if l.stale && !l.plan() {
		return false
	}
	for place, x := range l.places {
		i, ok := slices.BinarySearchFunc(l.loans, x.at, func(o loan, at uintptr) int { return cmp.Compare(o.at, at) })
		if !ok {
			i--
		}
		o := l.loans[i]
		words[place] = address(unsafe.Pointer(unsafe.SliceData(o.copy))) + uint64(x.at-o.at) + uint64(x.offset)
	}
	for _, o := range l.loans {
		copy(o.copy, o.memory())
	}
	return true
}

// plan makes the loans: operands that overlap share a copy, and a copy is aligned as its original.
func (l *lending) plan() bool {
	l.loans = l.loans[:0]
	for _, x := range l.places {
		l.loans = append(l.loans, loan{Span: x.Span})
	}
	slices.SortFunc(l.loans, func(a, b loan) int { return cmp.Compare(a.at, b.at) })
	n := 0
	for _, o := range l.loans {
		if n > 0 {
			if last := &l.loans[n-1]; o.at < last.at+uintptr(last.bytes) {
				last.bytes = max(last.bytes, int(o.at-last.at)+o.bytes)
				continue
			}
		}
		l.loans[n] = o
		n++
	}
	l.loans = l.loans[:n]
	size := 0
	for _, o := range l.loans {
		size += o.skip() + o.rounded()
	}
	if size > len(l.copies) {
		l.free()
		if l.copies = Alloc(size); l.copies == nil {
			return false
		}
	}
	at := 0
	for i := range l.loans {
		o := &l.loans[i]
		at += o.skip()
		o.copy = l.copies[at : at+o.bytes]
		at += o.rounded()
	}
	l.stale = false
	return true
}

// skip returns how many bytes behind a multiple of the alignment the memory begins, rounded returns
// the bytes from there to the next multiple behind its end.
func (o *loan) skip() int    { return int(o.at % heap.Align) }
func (o *loan) rounded() int { return (o.skip()+o.bytes+heap.Align-1)/heap.Align*heap.Align - o.skip() }

// give copies back what the run has changed. Memory without changes is not written: it may be
// read-only, or in use elsewhere.
func (l *lending) give() {
	const part = 64 << 10
	for _, o := range l.loans {
		for at, original := 0, o.memory(); at < o.bytes; at += part {
			end := min(at+part, o.bytes)
			if !bytes.Equal(original[at:end], o.copy[at:end]) {
				copy(original[at:end], o.copy[at:end])
			}
		}
	}
}

// free frees the copies.
func (l *lending) free() {
	if l.copies != nil {
		Free(l.copies)
		l.copies = nil
	}
}

// lends is held from lend to back, so that calls may write to parts of the same memory.
var lends sync.Mutex

// lend returns the addresses of memory as arguments. The caller calls back after the call.
func lend(parts ...[]byte) (at []float64, back func()) {
	module()
	lends.Lock()
	c := Code{words: make([]uint64, len(parts))}
	for i, b := range parts {
		still(unsafe.Pointer(unsafe.SliceData(b)))
		c.Point(i, SpanOf(b), 0)
	}
	if !c.lending.take(c.words) {
		lends.Unlock()
		panic(errNoMemory)
	}
	at = make([]float64, len(parts))
	for i, w := range c.words {
		at[i] = float64(w)
	}
	return at, func() {
		c.lending.give()
		c.lending.free()
		lends.Unlock()
		runtime.KeepAlive(parts)
	}
}

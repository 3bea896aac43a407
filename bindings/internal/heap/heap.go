// Package heap allocates parts of a fixed memory.
package heap

import (
	"cmp"
	"slices"
	"sync"
	"unsafe"
)

// Align is the alignment of parts within the memory.
const Align = 64

// Heap allocates parts of a memory. It is safe for concurrent use.
type Heap struct {
	memory  []byte
	commit  func(part []byte) bool
	release func(part []byte)

	mu        sync.Mutex
	free      []span      // by offset; no two are neighbours
	taken     map[int]int // sizes by offset
	committed int         // bytes from the start on that are usable
}

type span struct{ at, size int }

// grain is the unit of commit. Free parts of less than grain keep their memory.
const grain = 1 << 20

// New returns a heap of the memory, which begins at a multiple of Align. commit is called once for
// each part of memory, before its first use, and returns false if the system has no memory. release
// gives the system the memory of a large part that was freed.
func New(memory []byte, commit func(part []byte) bool, release func(part []byte)) *Heap {
	size := len(memory) / Align * Align
	return &Heap{memory: memory[:size], commit: commit, release: release, free: []span{{0, size}}, taken: map[int]int{}}
}

// Alloc returns n bytes at a multiple of Align, not cleared. It returns nil if there is no memory.
func (h *Heap) Alloc(n int) []byte {
	if n > len(h.memory) {
		return nil
	}
	size := (max(n, 1) + Align - 1) / Align * Align
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, s := range h.free {
		if s.size < size {
			continue
		}
		if !h.reach(s.at + size) {
			return nil
		}
		if s.size == size {
			h.free = slices.Delete(h.free, i, i+1)
		} else {
			h.free[i] = span{s.at + size, s.size - size}
		}
		h.taken[s.at] = size
		return h.memory[s.at : s.at+n : s.at+size]
	}
	return nil
}

// reach makes the bytes up to end usable.
func (h *Heap) reach(end int) bool {
	if end <= h.committed {
		return true
	}
	end = min((end+grain-1)/grain*grain, len(h.memory))
	if !h.commit(h.memory[h.committed:end]) {
		return false
	}
	h.committed = end
	return true
}

// Free gives back a part from Alloc. It panics if b is no such part.
func (h *Heap) Free(b []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.offset(b)
	size, ok := h.taken[at]
	if !ok {
		panic("heap: Free of memory that Alloc did not return")
	}
	delete(h.taken, at)
	if size >= grain {
		h.release(h.memory[at : at+size])
	}
	i, _ := slices.BinarySearchFunc(h.free, at, func(s span, at int) int { return cmp.Compare(s.at, at) })
	s := span{at, size}
	if i < len(h.free) && h.free[i].at == s.at+s.size {
		s.size += h.free[i].size
		h.free = slices.Delete(h.free, i, i+1)
	}
	if i > 0 && h.free[i-1].at+h.free[i-1].size == s.at {
		h.free[i-1].size += s.size
		return
	}
	h.free = slices.Insert(h.free, i, s)
}

// offset returns where b begins in the memory, or -1.
func (h *Heap) offset(b []byte) int {
	from, at := address(h.memory), address(b)
	if at < from || at-from >= uintptr(len(h.memory)) {
		return -1
	}
	return int(at - from)
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

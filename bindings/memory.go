package bindings

import "sync/atomic"

// Fault, unless nil, is asked before each Alloc of so many bytes. If it returns true, there is no
// memory. Tests set it.
var Fault func(n int) bool

// blocks counts what Alloc returned and Free was not given.
var blocks atomic.Int64

// Blocks returns how many blocks of Alloc are not given back.
func Blocks() int { return int(blocks.Load()) }

// Alloc returns n bytes outside Go's heap at a multiple of 64, not cleared, to
// be given back with Free. It returns nil when there is no memory.
func Alloc(n int) []byte {
	if Fault != nil && Fault(n) {
		return nil
	}
	b := alloc(n)
	if b != nil {
		blocks.Add(1)
	}
	return b
}

// Free gives back memory from Alloc.
func Free(b []byte) {
	if cap(b) > 0 {
		blocks.Add(-1)
		free(b)
	}
}

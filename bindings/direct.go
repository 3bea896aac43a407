//go:build cgo || js

package bindings

import "unsafe"

// Kernels read and write the memory of the program, at the program's addresses.

// Apart reports whether kernels have memory of their own. Commands then use copies of other memory.
const Apart = false

// Reaches reports whether commands can use memory in its place.
func Reaches([]byte) bool { return true }

// Resident returns the address, as a word of commands, of memory that the program keeps forever and
// does not change.
func Resident(memory []byte) int64 { return int64(address(unsafe.Pointer(unsafe.SliceData(memory)))) }

// flagClear is the value of a flag that does not stop runs.
const flagClear = flagRuns

// unset returns the flag of runs without one.
func unset() *Flag { return nil }

// lending is the operands of a Code that commands cannot use in their place: none.
type lending struct{}

func (c *Code) point(place int, of Span, offset int) {
	at := uint64(of.at)
	if at != 0 {
		at += uint64(offset)
	}
	c.words[place] = at
}

func (*lending) take([]uint64) bool { return true }
func (*lending) give()              {}
func (*lending) free()              {}

// address returns an address as a word.
func address(at unsafe.Pointer) uint64 { return uint64(uintptr(at)) }

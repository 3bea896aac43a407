//go:build !cgo

package bindings

import "unsafe"

// IsCommand reports whether a command can run the kernel.
func (Kernel) IsCommand() bool { return false }

// IsPart reports whether commands of other kernels can call the kernel.
func (Kernel) IsPart() bool { return false }

// TakesAll reports whether the kernel can compute every command that has its words.
func (Kernel) TakesAll() bool { return false }

// IsExact reports whether the kernel is only for commands whose lengths do not vary.
func (Kernel) IsExact() bool { return false }

// IsSamePart reports whether commands that call either kernel call the same function.
func (Kernel) IsSamePart(Kernel) bool { return false }

// Words returns 0.
func (Kernel) Words() int { return 0 }

// Operands returns 0.
func (Kernel) Operands() int { return 0 }

// Word returns 0.
func (Kernel) Word() int64 { return 0 }

// Packing identifies how kernels pack constants.
type Packing struct{}

// Packing returns the zero Packing.
func (Kernel) Packing() Packing { return Packing{} }

// Panel returns 0.
func (Kernel) Panel() int { return 0 }

// Fits returns false.
func (Kernel) Fits([]int64) bool { return false }

// Scratch returns 0.
func (Kernel) Scratch([]int64, int) int { return 0 }

// Packed returns 0.
func (Kernel) Packed([]int64, int) int { return 0 }

// PacksUnaligned returns false.
func (Kernel) PacksUnaligned() bool { return false }

// Pack is never called in this build.
func (Kernel) Pack([]int64, int, unsafe.Pointer, []byte) {}

// Search is never called in this build.
func (Kernel) Search(size, tries int, low, high float32, table, x, w, inverse, shift, sums []float32) {
}

// Whole is never called in this build.
func (Kernel) Whole(size, reach int, low, high float32, table, x, w, unit, inverse []float32, least, most float32,
	whole, sums []float32) {
}

// Code is never made in this build.
type Code struct{}

// NewCode returns nil.
func NewCode(commands, words, operands int) *Code { return nil }

// Free does nothing.
func (*Code) Free() {}

// Bytes returns 0.
func (*Code) Bytes() int { return 0 }

// Append is never called in this build.
func (*Code) Append(Kernel, []int64, int) (operand, word int) { return 0, 0 }

// ScratchOf is never called in this build.
func ScratchOf(int) int { return 0 }

// Set is never called in this build.
func (*Code) Set(int, uint64) {}

// Len returns 0.
func (*Code) Len() int { return 0 }

// Flag is never made in this build.
type Flag struct{}

// NewFlag returns nil.
func NewFlag() *Flag { return nil }

// Set is never called in this build.
func (*Flag) Set() {}

// Clear is never called in this build.
func (*Flag) Clear() {}

// IsSet returns false.
func (*Flag) IsSet() bool { return false }

// Free does nothing.
func (*Flag) Free() {}

// Failure is never made in this build.
type Failure struct{ Args [4]int }

// Text returns "".
func (Failure) Text() string { return "" }

// Kind returns "".
func (Failure) Kind() string { return "" }

// Run is never called in this build.
func (*Code) Run(*Pool, int, *Flag, bool) (done int, failure Failure, failed bool) {
	return 0, Failure{}, false
}

// Times returns nil.
func (*Code) Times() []int64 { return nil }

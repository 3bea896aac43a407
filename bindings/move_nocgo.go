//go:build !cgo

package bindings

import "unsafe"

// MoveBoxes cannot be called in this build.
func MoveBoxes(Kernel, int, []Box, *Pool) { panic("bindings: built without cgo") }

// MoveGather cannot be called in this build.
func MoveGather(unsafe.Pointer, []int64, unsafe.Pointer, int, int, int, *Pool) {
	panic("bindings: built without cgo")
}

// MoveTranspose cannot be called in this build.
func MoveTranspose(Kernel, unsafe.Pointer, unsafe.Pointer, int, int, int, int) {
	panic("bindings: built without cgo")
}

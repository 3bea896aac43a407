//go:build cgo

package bindings

import "C"

import "unsafe"

// f32 is the address of the first element; for an empty slice it may be anything.
func f32(s []float32) *C.float { return (*C.float)(unsafe.Pointer(unsafe.SliceData(s))) }

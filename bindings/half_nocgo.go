//go:build !cgo

package bindings

import "unsafe"

// Widen cannot be called.
func (Kernel) Widen(*Pool, FloatType, unsafe.Pointer, []float32) { panic(errNoCgo) }

// Narrow cannot be called.
func (Kernel) Narrow(*Pool, FloatType, []float32, unsafe.Pointer) { panic(errNoCgo) }

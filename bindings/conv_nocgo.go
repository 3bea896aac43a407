//go:build !cgo

package bindings

import "unsafe"

// ByTaps cannot be called.
func (*ConvShape) ByTaps() bool { panic(errNoCgo) }

// PackedWeights cannot be called.
func (*Conv) PackedWeights() int { panic(errNoCgo) }

// Pack cannot be called.
func (*Conv) Pack(w unsafe.Pointer, dst []byte) { panic(errNoCgo) }

// Scratch cannot be called.
func (*Conv) Scratch(*Pool) int { panic(errNoCgo) }

// Run cannot be called.
func (*Conv) Run(pool *Pool, x, w unsafe.Pointer, bias []float32, y unsafe.Pointer, scratch []float32) {
	panic(errNoCgo)
}

// PackedWeights cannot be called.
func (*ConvTranspose) PackedWeights() int { panic(errNoCgo) }

// Pack cannot be called.
func (*ConvTranspose) Pack(w, dst []float32) { panic(errNoCgo) }

// Scratch cannot be called.
func (*ConvTranspose) Scratch(*Pool) int { panic(errNoCgo) }

// Run cannot be called.
func (*ConvTranspose) Run(pool *Pool, x, w, bias, y, scratch []float32) { panic(errNoCgo) }

// PlainConv cannot be called.
func PlainConv(k Kernel, s *ConvShape, pool *Pool, x, w, bias, y unsafe.Pointer) { panic(errNoCgo) }

// Columns cannot be called.
func Columns(kernel Kernel, s *ConvShape, x []float32, k0, k, j0, n, nr int, dst []float32) {
	panic(errNoCgo)
}

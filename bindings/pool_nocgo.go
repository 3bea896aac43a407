//go:build !cgo

package bindings

import "unsafe"

// Scratch needs cgo.
func (p *Pooling) Scratch(threads *Pool) int { panic("bindings: built without cgo") }

// PoolingF32 needs cgo.
func PoolingF32(rows, cols Kernel, threads *Pool, x []float32, p *Pooling, scratch, out []float32) {
	panic("bindings: built without cgo")
}

// Scratch needs cgo.
func (p *BytePooling) Scratch(k Kernel, threads *Pool) int { panic("bindings: built without cgo") }

// Run needs cgo.
func (p *BytePooling) Run(k Kernel, threads *Pool, x unsafe.Pointer, scratch []byte, y unsafe.Pointer) {
	panic("bindings: built without cgo")
}

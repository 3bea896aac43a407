//go:build !cgo

package bindings

import "unsafe"

// Scratch needs cgo.
func (g *NBitsGemm) Scratch(pool *Pool) int { panic("bindings: built without cgo") }

// Run needs cgo.
func (g *NBitsGemm) Run(pool *Pool, codes, scales, zeros unsafe.Pointer, table, a, bias, c, scratch []float32) {
	panic("bindings: built without cgo")
}

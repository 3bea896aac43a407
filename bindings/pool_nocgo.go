//go:build !cgo

package bindings

// Scratch needs cgo.
func (p *Pooling) Scratch(threads *Pool) int { panic("bindings: built without cgo") }

// PoolingF32 needs cgo.
func PoolingF32(rows, cols Kernel, threads *Pool, x []float32, p *Pooling, scratch, out []float32) {
	panic("bindings: built without cgo")
}

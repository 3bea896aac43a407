//go:build !cgo

package bindings

// ResampleF32 needs cgo.
func ResampleF32(cols, row Kernel, p *Pool, x []float32, outer, n, inner int, start []int32, weights, out []float32) {
	panic("bindings: built without cgo")
}

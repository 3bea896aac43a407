//go:build !cgo

package bindings

// SoftmaxF32 needs cgo.
func SoftmaxF32(k Kernel, p *Pool, x []float32, outer, n, inner int, log bool, out []float32) {
	panic("bindings: built without cgo")
}

// LayerNormF32 needs cgo.
func LayerNormF32(k Kernel, p *Pool, x []float32, rows, n int, scale, bias []float32, epsilon float32, centred bool, out []float32) {
	panic("bindings: built without cgo")
}

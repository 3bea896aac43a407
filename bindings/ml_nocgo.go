//go:build !cgo

package bindings

// RBFF32 needs cgo.
func RBFF32(k Kernel, p *Pool, x []float32, rows, width int, v []float32, n int, gamma float32, out []float32) {
	panic(errNoCgo)
}

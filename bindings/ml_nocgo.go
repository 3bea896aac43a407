//go:build !cgo

package bindings

// RBFF32 needs cgo.
func RBFF32(k Kernel, p *Pool, x []float32, rows, width int, v []float32, n int, gamma float32, out []float32) {
	panic(errNoCgo)
}

// ForestF32 needs cgo.
func ForestF32(f *Forest[float32], p *Pool, x []float32, rows, features int, out []float32, seen []byte) {
	panic(errNoCgo)
}

// ForestF64 needs cgo.
func ForestF64(f *Forest[float64], p *Pool, x []float64, rows, features int, out []float64, seen []byte) {
	panic(errNoCgo)
}

//go:build !cgo

package bindings

// ReduceF32 needs cgo.
func ReduceF32(k Kernel, p *Pool, x []float32, outer, n, inner int, op Reduction, scale float64, out []float32) {
	panic("bindings: built without cgo")
}

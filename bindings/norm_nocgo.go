//go:build !cgo

package bindings

// SoftmaxF32 needs cgo.
func SoftmaxF32(k Kernel, p *Pool, x []float32, outer, n, inner int, log bool, out []float32) {
	panic("bindings: built without cgo")
}

// LayerNormF32 needs cgo.
func LayerNormF32(moments, affine Kernel, p *Pool, x []float32, rows, n int, scale, bias []float32, epsilon float32, centred bool, out, mean, invStd []float32) {
	panic("bindings: built without cgo")
}

// GroupNormF32 needs cgo.
func GroupNormF32(moments, affine Kernel, p *Pool, x []float32, batch, channels, groups, inner int, scale, bias []float32, epsilon float32, out []float32) {
	panic("bindings: built without cgo")
}

// ChannelAffineF32 needs cgo.
func ChannelAffineF32(k Kernel, p *Pool, x []float32, batch, channels, inner int, sub, mul, add, out []float32) {
	panic("bindings: built without cgo")
}

// RowAffineF32 needs cgo.
func RowAffineF32(k Kernel, p *Pool, x []float32, rows, channels int, mul, add, out []float32) {
	panic("bindings: built without cgo")
}

// LRNF32 needs cgo.
func LRNF32(k Kernel, p *Pool, x []float32, batch, channels, inner, size int, alpha, beta, bias float32, out []float32) {
	panic("bindings: built without cgo")
}

// SkipNormF32 needs cgo.
func SkipNormF32(add, moments, affine Kernel, p *Pool, x, skip, bias []float32, rows, n int, scale, beta []float32, epsilon float32, centred bool, sum, out, mean, invStd []float32) {
	panic("bindings: built without cgo")
}

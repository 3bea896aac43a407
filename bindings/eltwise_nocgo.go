//go:build !cgo

package bindings

// EltwiseMap may not be called.
func EltwiseMap(*Pool, Kernel, Lane, Lane, int, *Params) { panic("bindings: built without cgo") }

// EltwiseBinary may not be called.
func EltwiseBinary(*Pool, Kernel, Lane, Lane, Lane, []int) { panic("bindings: built without cgo") }

// EltwiseWhere may not be called.
func EltwiseWhere(*Pool, Kernel, Lane, Lane, Lane, Lane, []int) {
	panic("bindings: built without cgo")
}

// EltwiseFused needs cgo.
func EltwiseFused(p *Pool, unary, binary Kernel, params *Params, unaryFirst bool, x, b, y Lane, period, n int) {
	panic("bindings: built without cgo")
}

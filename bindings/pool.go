//go:build cgo

package bindings

// #include "pool/pool.h"
import "C"

func poolFamily() []Kernel {
	var n C.size_t
	return family(C.nacre_pool_kernels(&n), n)
}

//go:build cgo

package bindings

// #include "norm/norm.h"
import "C"

func normFamily() []Kernel {
	var n C.size_t
	return family(C.nacre_norm_kernels(&n), n)
}

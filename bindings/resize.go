//go:build cgo

package bindings

// #include "resize/resize.h"
import "C"

func resizeFamily() []Kernel {
	var n C.size_t
	return family(C.nacre_resize_kernels(&n), n)
}

//go:build cgo

package bindings

// #include "copy/copy.h"
import "C"

import "unsafe"

func copyFamily() []Kernel {
	return family((*C.nacre_kernel)(unsafe.Pointer(&C.nacre_copy_kernels)), C.nacre_copy_kernel_count)
}

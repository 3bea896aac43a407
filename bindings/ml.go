//go:build cgo

package bindings

// #include "ml/ml.h"
import "C"

import "unsafe"

func mlFamily() []Kernel {
	return family((*C.nacre_kernel)(unsafe.Pointer(&C.nacre_ml_kernels)), C.nacre_ml_kernel_count)
}

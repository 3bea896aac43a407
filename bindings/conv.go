//go:build cgo

package bindings

// #include "conv/conv.h"
import "C"

func convFamily() []Kernel {
	var n C.size_t
	return family(C.nacre_conv_kernels(&n), n)
}

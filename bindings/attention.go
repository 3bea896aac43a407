//go:build cgo

package bindings

// #include "attention/attention.h"
import "C"

func attentionFamily() []Kernel {
	var n C.size_t
	return family(C.nacre_attention_kernels(&n), n)
}

//go:build cgo

package bindings

// #include "rnn/rnn.h"
import "C"

func rnnFamily() []Kernel {
	var n C.size_t
	return family(C.nacre_rnn_kernels(&n), n)
}

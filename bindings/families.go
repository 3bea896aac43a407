//go:build cgo

package bindings

// #include "core/kernel.h"
import "C"

import (
	"unsafe"

	all "github.com/nacre-ml/nacre/bindings/internal/families"
)

// families returns the rows of every family.
func families() [][]Kernel {
	list := make([][]Kernel, len(all.All))
	for i, kernels := range all.All {
		rows, count := kernels()
		table := unsafe.Slice((*C.nacre_kernel)(rows), count)
		list[i] = make([]Kernel, count)
		for j := range table {
			list[i][j] = Kernel{&table[j]}
		}
	}
	return list
}

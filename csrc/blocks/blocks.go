// Package blocks compiles the kernels of this folder.
package blocks

/*
#cgo CFLAGS: -std=c11 -D_DEFAULT_SOURCE -O2 -fopenmp-simd -g0 -Wall -Wextra -I${SRCDIR}/..
#cgo LDFLAGS: -lm

#include "blocks/blocks.h"
*/
import "C"

import (
	"embed"
	"unsafe"

	_ "github.com/nacre-ml/nacre/csrc"
)

// Sources holds the files that the C files include, so that an edit of one rebuilds the package.
//
//go:embed *.h *.inc
var Sources embed.FS

// Kernels returns the address and the number of the kernel rows of kernels.inc.
func Kernels() (rows unsafe.Pointer, count int) {
	var n C.size_t
	return unsafe.Pointer(C.nacre_blocks_kernels(&n)), int(n)
}

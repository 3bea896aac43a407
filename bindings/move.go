//go:build cgo

package bindings

/*
#include "move/move.h"

#cgo noescape nacre_move_boxes
#cgo nocallback nacre_move_boxes
#cgo noescape nacre_move_transpose
#cgo nocallback nacre_move_transpose
#cgo noescape nacre_move_gather
#cgo nocallback nacre_move_gather
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// A Box has the layout of its C twin.
var (
	_ [unsafe.Sizeof(Box{})]byte      = [C.sizeof_nacre_move_box]byte{}
	_ [unsafe.Offsetof(Box{}.To)]byte = [unsafe.Offsetof(C.nacre_move_box{}.to)]byte{}
	_ [BoxAxes]int                    = [C.NACRE_MOVE_AXES]int{}
)

func moveFamily() []Kernel {
	return family((*C.nacre_kernel)(unsafe.Pointer(&C.nacre_move_kernels)), C.nacre_move_kernel_count)
}

// MoveBoxes copies boxes of elements of width bytes: 1, 2, 4, 8 or 16. The
// kernel is a row of TransposeOp(width). The call may reorder the list.
func MoveBoxes(k Kernel, width int, list []Box, pool *Pool) {
	if len(list) == 0 {
		return
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	for i := range list {
		if i == 0 || list[i].Src != list[i-1].Src {
			pin.Pin(list[i].Src)
		}
		if i == 0 || list[i].Dst != list[i-1].Dst {
			pin.Pin(list[i].Dst)
		}
	}
	C.nacre_move_boxes(k.row, C.size_t(width), (*C.nacre_move_box)(unsafe.Pointer(&list[0])), C.size_t(len(list)), pool.ptr())
}

// MoveGather copies blocks of blockBytes bytes: with src [outer,axis,block] and
// dst [outer,len(index),block], dst[o,j] = src[o,index[j]]. Every index is in
// 0..axis-1.
func MoveGather(src unsafe.Pointer, index []int64, dst unsafe.Pointer, outer, axis, blockBytes int, pool *Pool) {
	if len(index) == 0 || outer == 0 || blockBytes == 0 {
		return
	}
	C.nacre_move_gather(src, (*C.int64_t)(&index[0]), dst, C.size_t(outer), C.size_t(axis), C.size_t(len(index)),
		C.size_t(blockBytes), pool.ptr())
}

// MoveTranspose is one call of a row of TransposeOp, for tests:
// dst[c*dstStride+r] = src[r*srcStride+c].
func MoveTranspose(k Kernel, src, dst unsafe.Pointer, rows, cols, srcStride, dstStride int) {
	C.nacre_move_transpose(k.row, src, dst, C.size_t(rows), C.size_t(cols), C.ptrdiff_t(srcStride), C.ptrdiff_t(dstStride))
}

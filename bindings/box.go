package bindings

import (
	"strconv"
	"unsafe"
)

// BoxAxes is the most axes that a Box can have.
const BoxAxes = 8

// Box is elements to copy: for every index i with i[a] < Extent[a], element
// DstAt + Σ i[a]·To[a] of Dst becomes element SrcAt + Σ i[a]·From[a] of Src. Src
// and Dst are the starts of two allocations that do not overlap, and no two
// indices have one destination. Extents and offsets are checked by the caller.
type Box struct {
	Src, Dst     unsafe.Pointer
	SrcAt, DstAt int
	Axes         int
	Extent       [BoxAxes]int
	From, To     [BoxAxes]int
	_            int // the driver's own
}

// TransposeOp is the op of the kernels that MoveBoxes takes for that width.
func TransposeOp(width int) string { return "w" + strconv.Itoa(width) + "_transpose" }

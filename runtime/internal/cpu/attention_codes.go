package cpu

import (
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
)

// bindWidenCodes converts a cache of int8, which may be in memory with room, to floats.
func bindWidenCodes(_ *attention.WidenCodes, b *binder) error {
	if err := b.OnlyRoom([]int{0}, nil); err != nil {
		return err
	}
	in, out, memory := b.In[0].Dims, b.Out[0].Dims, b.Memory(0)
	last := len(in) - 1
	axis := 0 // the growing one; axes between it and a row are part of the rows
	for axis < last && memory[axis].Same(in[axis]) {
		axis++
	}
	if axis == last {
		axis = 0
	}
	var w words
	w.part(b.dev.half)
	w.dim(out[:axis].Len(), out[axis:last].Len(), out[last], memory[axis:].Len())
	w.dtype(b.Out[0].DType)
	return b.run("codes_widen", w, b.in(0), b.out(0))
}

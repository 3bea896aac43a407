package cpu

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// bindAppendCodes appends rows to a cache of int8. In memory with room, it writes the new rows
// alone.
func bindAppendCodes(o *attention.AppendCodes, b *binder) error {
	past, rows := b.In[attention.CodesPast].Dims, b.In[attention.CodesRows].Dims
	rank := len(past)
	axis, err := o.Axis(rank)
	if err != nil {
		return err
	}
	if err := b.OnlyRoom([]int{attention.CodesPast}, []int{0}); err != nil {
		return err
	}
	for i, d := range b.Memory(attention.CodesPast) {
		if i != axis && !d.Same(past[i]) {
			return device.Refuse("rows are added along axis %d and there is room along another", axis)
		}
	}
	// Axes between the growing one and a row are part of the rows.
	outer, inner, size := past[:axis].Len(), past[axis+1:rank-1].Len(), rows[rank-1]
	h := attention.WholeHeads(graph.Dims{graph.Known(1), outer, rows[axis].Mul(inner), size})
	kept := past[axis].Mul(inner)
	a := appending{
		past: b.in(attention.CodesPast), pastRows: kept, kept: kept, cache: b.out(0), dtype: tensor.I8,
		room:        kept.Add(h.Rows),
		pastMemory:  b.Memory(attention.CodesPast)[axis].Mul(inner),
		cacheMemory: b.OutMemory(0)[axis].Mul(inner),
	}
	_, err = b.appendRows(b.heads(b.in(attention.CodesRows), b.DType(attention.CodesRows), h), a)
	return err
}

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

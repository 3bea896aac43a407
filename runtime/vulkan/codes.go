package vulkan

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// cacheWidth returns the elements of a row of a cache of type d for heads of that size.
func cacheWidth(d tensor.DType, size int) int {
	n, _ := kit.CacheWidth(d, graph.Known(size)).Value()
	return n
}

// wordsOfRows returns the most words of 32 bits that rows of a head have bytes of.
func wordsOfRows(rows, width int) int { return rows*width/4 + 2 }

// appendCodes adds the dispatch of attention/append_codes, and returns the cache. The variant is of
// the new rows. Each invocation writes a word of 32 bits.
func (b *binder) appendCodes(variant string, x headRows, a appending, c cache) (headRows, error) {
	width := cacheWidth(tensor.I8, x.size)
	most := wordsOfRows(c.written(x), width)
	total := x.batch * x.heads * most
	var w words
	w.int(total, most, x.heads, x.rows, x.size, a.kept)
	w.heads(x)
	w.int(a.biasAt, c.pastRoom*width, c.written(x), c.room*width)
	y := whole(c.at, x.batch, x.heads, a.seen(c), width, c.room)
	y.size, y.coded = x.size, true
	defer b.does(&appended{x, a, c}, "attention/append_codes")
	return y, b.flat("attention/append_codes", variant, total, a.constants(c), w, c.from, x.at, a.bias, a.lengths, c.at)
}

// bindWidenCodes converts a cache of int8, which may be in memory with room, to floats.
func bindWidenCodes(_ *attention.WidenCodes, b *binder) error {
	variant := b.floatName(b.Out[0].DType)
	if err := b.OnlyRoom([]int{0}, nil); err != nil {
		return err
	}
	in, out, memory := b.Shape(0), b.OutShape(0), b.memory(0)
	last := len(in) - 1
	axis := 0 // the growing one; axes between it and a row are part of the rows
	for axis < last && memory[axis] == in[axis] {
		axis++
	}
	if axis == last {
		axis = 0
	}
	var w words
	w.int(out.Len(), out[axis:last].Len(), out[last], memory[axis:].Len())
	return b.flat("attention/widen_codes", variant, out.Len(), nil, w, b.in(0), b.out(0))
}

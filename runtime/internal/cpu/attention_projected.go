package cpu

import (
	"errors"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func bindProjectedAttention(o *attention.ProjectedAttention, b *binder) error {
	if err := b.OnlyRoom([]int{attention.ProjectedPast}, []int{1}); err != nil {
		return err
	}
	x, w := b.In[attention.ProjectedInput].Dims, b.In[attention.ProjectedWeights].Dims
	all, err := b.tempOf(tensor.F32, x[0].Mul(x[1]).Mul(w[1]))
	if err != nil {
		return err
	}
	if err := b.project(x[0].Mul(x[1]), w[1], w[0], all); err != nil {
		return err
	}
	return b.attendProjected(o, all)
}

// project adds the product of the input and the weights of ProjectedAttention, plus the bias.
func (b *binder) project(m, n, k graph.Dim, out device.Operand) error {
	const outType = 11 // the word with the element type of the product
	one := graph.Known(1)
	g := &gemm{product: &product{m: m, n: n, k: k, aRow: k, aCol: one, bRow: n, bCol: one},
		dtype: b.DType(attention.ProjectedInput), alpha: 1}
	bias, err := b.floats(attention.ProjectedBias)
	if err != nil {
		return err
	}
	best, err := b.tiles()
	if err != nil {
		return err
	}
	right, packed, err := b.packed(attention.ProjectedWeights, best, g.forPacking(), 1)
	if err != nil {
		return err
	}
	if g.bPacked = packed; !packed {
		right = b.in(attention.ProjectedWeights)
	}
	w := g.words()
	w[outType] = graph.Known(typeWord(tensor.F32))
	kernel, err := b.choose("f32_gemv", w)
	if refusal := (*device.Refusal)(nil); errors.As(err, &refusal) {
		kernel, err = b.choose("f32_gemm", w)
	}
	if err != nil {
		return err
	}
	return b.add(kernel, nil, w, b.in(attention.ProjectedInput), right, device.Operand{}, bias, device.Operand{}, out)
}

// attendProjected adds attention over queries, keys and values that are side by side in all,
// [batch,tokens,columns] of float32.
func (b *binder) attendProjected(o *attention.ProjectedAttention, all device.Operand) error {
	qh, kh, vh, err := o.Operands(b.In)
	if err != nil {
		return err
	}
	q, k, v := b.heads(all, tensor.F32, qh), b.heads(all, tensor.F32, kh), b.heads(all, tensor.F32, vh)
	kept, room, list, err := b.projectedPast(o, kh)
	if err != nil {
		return err
	}
	if o.Rotary {
		size, ok := qh.Size.Value()
		if !ok {
			return device.Refuse("the size %v of heads is not known", qh.Size)
		}
		for _, x := range []headRows{q, k} {
			r := rotation{x: x, out: x, pairs: graph.Known(o.Pairs(size)), base: 10000, positions: positionsOfBatches,
				index: list, indexType: tensor.I64, past: kept}
			if err := b.rotate(r); err != nil {
				return err
			}
		}
	}
	if b.Has(attention.ProjectedPast) || b.Wants(1) {
		if k, v, err = b.projectedGrown(k, v, appending{kept: kept, lengths: list, room: room}); err != nil {
			return err
		}
	}
	a := b.newAttention(q, k, v)
	a.scale, a.causal, a.filter, a.past, a.lengths = o.Scale, o.Causal, o.Filter, kept, list
	a.mask, a.scores, a.nan = attention.ProjectedMask, attention.ProjectedScores, attention.NaNKept
	return b.attend(a)
}

// projectedPast returns how many rows of the past count, the rows of the cache, and the lengths if
// the node has an operand with them.
func (b *binder) projectedPast(
	o *attention.ProjectedAttention, k attention.HeadRows,
) (kept, room graph.Dim, list device.Operand, err error) {
	if !b.Has(attention.ProjectedPast) {
		return graph.Known(0), k.Rows, list, nil
	}
	kept = b.In[attention.ProjectedPast].Dims[3]
	if !o.Shared {
		return kept, kept.Add(k.Rows), list, nil
	}
	l := lengths{kind: lengthsPast, batch: k.Batch, tokens: k.Rows, room: kept, past: kept}
	l.types[0] = b.DType(attention.ProjectedPastLength)
	list, err = b.lengths(l, b.in(attention.ProjectedPastLength), device.Operand{})
	return graph.Known(0), kept, list, err
}

// projectedGrown puts keys and values into the two halves of a cache.
func (b *binder) projectedGrown(k, v headRows, a appending) (headRows, headRows, error) {
	a.dtype = b.Out[0].DType
	a.cacheMemory = a.room
	if b.Wants(1) {
		a.cacheMemory = b.OutMemory(1)[3]
	}
	bytes := graph.Known(a.dtype.Bits() / 8)
	half := k.Batch.Mul(k.Heads).Mul(a.cacheMemory).Mul(k.Size)
	cache, err := b.cacheAt(1, a.dtype, half.Mul(graph.Known(2)))
	if err != nil {
		return k, v, err
	}
	past := b.in(attention.ProjectedPast)
	if b.Has(attention.ProjectedPast) {
		a.pastRows, a.pastMemory = b.In[attention.ProjectedPast].Dims[3], b.Memory(attention.ProjectedPast)[3]
		if !a.pastMemory.Same(a.pastRows) && !b.Wants(1) {
			return k, v, device.Refuse("a past is in memory with room, and its new rows are not")
		}
	}
	a.past, a.cache = past, cache
	if k, err = b.appendRows(k, a); err != nil {
		return k, v, err
	}
	if past.Place != device.None {
		a.past = past.At(k.Batch.Mul(k.Heads).Mul(a.pastMemory).Mul(k.Size).Mul(bytes))
	}
	a.cache = cache.At(half.Mul(bytes))
	v, err = b.appendRows(v, a)
	return k, v, err
}

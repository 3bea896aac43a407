package cpu

import (
	"errors"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func bindProjectedAttention(o *attention.ProjectedAttention, b *binder) error {
	if err := b.OnlyRoom([]int{attention.ProjectedPast}, []int{1}); err != nil {
		return err
	}
	x, w := b.In[attention.ProjectedInput].Dims, b.In[attention.ProjectedWeights].Dims
	all := b.tempOf(tensor.F32, x[0].Mul(x[1]).Mul(w[1]))
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
	bias := b.floats(attention.ProjectedBias)
	best := b.tiles()
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
	of := func(h attention.HeadRows) lower.Heads {
		return lower.Heads{HeadRows: h, DType: tensor.F32, Operand: all}
	}
	a := lower.NewAttention(of(qh), of(kh), of(vh))
	kept, room, list, err := b.projectedPast(o, kh)
	if err != nil {
		return err
	}
	if o.Rotary {
		size, ok := qh.Size.Value()
		if !ok {
			return device.Refuse("the size %v of heads is not known", qh.Size)
		}
		for _, x := range []*lower.Heads{&a.Q, &a.K} {
			r := &lower.Rotation{X: x, Pairs: graph.Known(o.Pairs(size)), Positions: lower.PositionsOfBatches,
				Index: lower.Value{Operand: list}}
			if err := b.rotate(&rotation{Rotation: r, out: *x, base: 10000, past: kept}); err != nil {
				return err
			}
		}
	}
	if b.Has(attention.ProjectedPast) || b.Wants(1) {
		if err := b.projectedGrown(a, lower.Append{Kept: kept, Lengths: list, Room: room}); err != nil {
			return err
		}
	}
	a.Scale, a.Causal, a.Filter, a.Past, a.Lengths = o.Scale, o.Causal, o.Filter, kept, list
	a.Mask, a.Scores, a.NaN = attention.ProjectedMask, attention.ProjectedScores, attention.NaNKept
	return b.Attend(a)
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
	list, err = b.Lengths(&lower.Lengths{Kind: lower.LengthsPast, Batch: k.Batch, Tokens: k.Rows, Room: kept, Past: kept,
		Counts: lower.Input(b, attention.ProjectedPastLength)})
	return graph.Known(0), kept, list, err
}

// projectedGrown puts keys and values into the two halves of a cache.
func (b *binder) projectedGrown(x *lower.Attention, a lower.Append) (err error) {
	a.DType, a.CacheRows, a.Cache = b.Out[0].DType, a.Room, b.out(1)
	if b.Wants(1) {
		a.CacheRows = b.OutMemory(1)[3]
	}
	bytes := graph.Known(a.DType.Bits() / 8)
	head := x.K.Batch.Mul(x.K.Heads).Mul(x.K.Size).Mul(bytes)
	half := head.Mul(a.CacheRows)
	if b.Has(attention.ProjectedPast) {
		a.Past = b.in(attention.ProjectedPast)
		a.PastRows, a.PastMemory = b.In[attention.ProjectedPast].Dims[3], b.Memory(attention.ProjectedPast)[3]
		if !a.PastMemory.Same(a.PastRows) && !b.Wants(1) {
			return device.Refuse("a past is in memory with room, and its new rows are not")
		}
	}
	if !b.Wants(1) {
		a.Cache = b.tempOf(tensor.U8, half.Mul(graph.Known(2)))
	}
	if x.K, err = b.Append(x.K, &a); err != nil {
		return err
	}
	if a.Past.Place != device.None {
		a.Past = a.Past.At(head.Mul(a.PastMemory))
	}
	a.Cache = a.Cache.At(half)
	x.V, err = b.Append(x.V, &a)
	return err
}

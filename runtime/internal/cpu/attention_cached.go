package cpu

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func bindMultiHeadAttention(o *attention.MultiHeadAttention, b *binder) error {
	inputs := []int{attention.MultiKey, attention.MultiValue, attention.MultiPastKey, attention.MultiPastValue}
	if err := b.OnlyRoom(inputs, []int{1, 2}); err != nil {
		return err
	}
	qh, kh, vh, err := o.Operands(padded(b.InMemory(), attention.MultiPastLength))
	if err != nil {
		return err
	}
	for _, x := range []*attention.MultiHeadOperand{&kh, &vh} {
		if x.Input < len(b.InRoom) && b.InRoom[x.Input] != nil {
			x.Rows = b.rows(x.Input)
		}
	}
	kept, pastRows, list, err := b.multiPast(kh.Rows, kh.Batch)
	if err != nil {
		return err
	}
	q, err := b.multiOperand(qh, -1, -1, appending{})
	if err != nil {
		return err
	}
	grow := appending{pastRows: pastRows, kept: kept, lengths: list, room: kept.Add(kh.Rows)}
	if list.Place != device.None {
		grow.room = pastRows
	}
	k, err := b.multiOperand(kh, attention.MultiPastKey, 1, grow)
	if err != nil {
		return err
	}
	v, err := b.multiOperand(vh, attention.MultiPastValue, 2, grow)
	if err != nil {
		return err
	}
	a := b.newAttention(q, k, v)
	a.scale, a.causal, a.filter, a.past, a.lengths = o.Scale, o.Causal, o.Filter, kept, list
	a.mask, a.scores, a.stage = attention.MultiMask, attention.MultiScores, attention.ScoresBiased
	a.nan = attention.NaNKept
	return b.attend(a)
}

// multiPast returns how many rows of the past count, how many rows it has room for, and the lengths
// if the node has an operand with them.
func (b *binder) multiPast(tokens, batch graph.Dim) (kept, room graph.Dim, list device.Operand, err error) {
	if !b.Has(attention.MultiPastKey) {
		return graph.Known(0), graph.Known(0), list, nil
	}
	room = b.In[attention.MultiPastKey].Dims[2]
	if !b.Has(attention.MultiPastLength) {
		return room, room, list, nil
	}
	l := lengths{kind: lengthsPast, batch: batch, tokens: tokens, room: room, past: room}
	l.types[0] = b.DType(attention.MultiPastLength)
	list, err = b.lengths(l, b.in(attention.MultiPastLength), device.Operand{})
	return graph.Known(0), room, list, err
}

// multiOperand returns operand x with its bias added, appended to the past in pastInput, and in
// output out if the node has it. Negative numbers mean no past and no output.
func (b *binder) multiOperand(x attention.MultiHeadOperand, pastInput, out int, a appending) (headRows, error) {
	d := b.DType(x.Input)
	var past, output device.Operand
	if pastInput >= 0 {
		past, output = b.in(pastInput), b.out(out)
	}
	h := b.heads(b.in(x.Input), d, x.HeadRows)
	whole := past.Place == device.None && output.Place == device.None
	if whole && !x.Biased {
		return h, nil
	}
	a.past, a.cache, a.dtype = past, output, d
	if pastInput >= 0 && b.Has(pastInput) {
		a.dtype = b.DType(pastInput)
	}
	if x.Biased {
		a.biasType = b.DType(attention.MultiBias)
		a.bias = b.in(attention.MultiBias).At(x.Bias.Mul(graph.Known(a.biasType.Bits() / 8)))
	}
	if whole {
		a = appending{bias: a.bias, biasType: a.biasType, dtype: tensor.F32, room: x.Rows}
		pastInput, out = -1, -1
	}
	if err := b.memory(&a, pastInput, out); err != nil {
		return h, err
	}
	if output.Place == device.None {
		var err error
		if a.cache, err = b.tempOf(a.dtype, h.elements(a.dtype, a.room)); err != nil {
			return h, err
		}
	}
	return b.appendRows(h, a)
}

// padded extends the list with nil up to number last, for the inputs left out.
func padded(list []*op.Value, last int) []*op.Value {
	all := make([]*op.Value, max(last+1, len(list)))
	copy(all, list)
	return all
}

func bindGroupQueryAttention(o *attention.GroupQueryAttention, b *binder) error {
	if err := b.OnlyRoom([]int{attention.GroupPastKey, attention.GroupPastValue}, []int{1, 2}); err != nil {
		return err
	}
	qh, kh, vh, err := o.Operands(padded(b.In, attention.GroupKeyNorm))
	if err != nil {
		return err
	}
	past, room, err := b.groupRoom(kh)
	if err != nil {
		return err
	}
	l := lengths{kind: lengthsLast, batch: qh.Batch, tokens: qh.Rows, room: room, past: past}
	l.types = [2]tensor.DType{b.DType(attention.GroupLast), b.DType(attention.GroupTotal)}
	list, err := b.lengths(l, b.in(attention.GroupLast), b.in(attention.GroupTotal))
	if err != nil {
		return err
	}
	inputs := [3]int{attention.GroupQuery, attention.GroupKey, attention.GroupValue}
	if !b.Has(attention.GroupKey) {
		inputs = [3]int{}
	}
	var x [3]headRows
	for i, h := range []attention.HeadRows{qh, kh, vh} {
		x[i] = b.heads(b.in(inputs[i]), b.DType(inputs[i]), h)
	}
	for i, norm := range []int{attention.GroupQueryNorm, attention.GroupKeyNorm} {
		if x[i], err = b.groupRotated(o, x[i], norm, list); err != nil {
			return err
		}
	}
	for i := 1; i < 3; i++ {
		if x[i], err = b.groupGrown(x[i], i, attention.GroupPastKey+i-1, past, room, list); err != nil {
			return err
		}
	}
	a := b.newAttention(x[0], x[1], x[2])
	a.scale, a.cap, a.causal, a.window, a.lengths, a.keys = o.Scale, o.Softcap, o.Causal, o.Window, list, room
	a.scores, a.stage, a.blank = attention.GroupScores, o.Stage, true
	switch {
	case b.Has(attention.GroupSink):
		a.sink, a.sinkInput = givenSinks, attention.GroupSink
	case o.Smooth:
		a.sink = zeroSinks
	}
	return b.attend(a)
}

// groupRoom returns the rows that the past has room for and the rows of the cache.
func (b *binder) groupRoom(k attention.HeadRows) (past, room graph.Dim, err error) {
	if !b.Has(attention.GroupPastKey) {
		return graph.Known(0), k.Rows, nil
	}
	past = b.In[attention.GroupPastKey].Dims[2]
	if b.Wants(1) {
		return past, b.Out[1].Dims[2], nil
	}
	if list, ok := b.In[attention.GroupTotal].IntVec(); ok && len(list) == 1 {
		return past, past.Max(list[0]), nil
	}
	return past, room, &device.NeedValue{Input: attention.GroupTotal}
}

// groupRotated returns queries or keys, normalised and rotated as the node asks.
func (b *binder) groupRotated(
	o *attention.GroupQueryAttention, x headRows, norm int, list device.Operand,
) (headRows, error) {
	if !o.Rotary && !b.Has(norm) {
		return x, nil
	}
	width := x.Heads.Mul(x.Size)
	t, err := b.tempOf(tensor.F32, x.Batch.Mul(x.Rows).Mul(width))
	if err != nil {
		return x, err
	}
	y := headRows{attention.HeadRows{Batch: x.Batch, Heads: x.Heads, Rows: x.Rows, Size: x.Size,
		PerBatch: x.Rows.Mul(width), PerHead: x.Size, PerRow: width}, tensor.F32, t}
	r := rotation{x: x, out: y, interleaved: o.Interleaved, norm: b.in(norm), normType: b.DType(norm), epsilon: o.Epsilon}
	if o.Rotary {
		caches := b.In[attention.GroupCos].Dims
		r.cos, r.sin, r.angleType, r.angleRows, r.pairs = b.in(attention.GroupCos), b.in(attention.GroupSin),
			b.DType(attention.GroupCos), caches[0], caches[1]
		r.positions, r.index, r.indexType = positionsOfBatches, list, tensor.I64
		if b.Has(attention.GroupPositions) {
			r.given(b, attention.GroupPositions, true)
		}
	}
	return y, b.rotate(r)
}

// groupGrown appends keys or values to the past, in the past's element type.
func (b *binder) groupGrown(
	x headRows, output, past int, pastRows, room graph.Dim, list device.Operand,
) (headRows, error) {
	if !b.Has(past) && !b.Wants(output) {
		return x, nil
	}
	d := b.DType(0)
	if b.Has(past) {
		d = b.DType(past)
	}
	a := appending{past: b.in(past), pastRows: pastRows, lengths: list, dtype: d, room: room}
	err := b.memory(&a, past, output)
	if err != nil {
		return x, err
	}
	if a.cache, err = b.cacheAt(output, d, x.elements(d, room)); err != nil {
		return x, err
	}
	return b.appendRows(x, a)
}

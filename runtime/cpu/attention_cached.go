package cpu

import (
	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func bindMultiHeadAttention(o *nn.MultiHeadAttention, b *binder) error {
	if err := b.onlyRoom([]int{nn.MultiPastKey, nn.MultiPastValue}, []int{1, 2}); err != nil {
		return err
	}
	qh, kh, vh, err := o.Operands(padded(b.In, nn.MultiPastLength))
	if err != nil {
		return err
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
	k, err := b.multiOperand(kh, nn.MultiPastKey, 1, grow)
	if err != nil {
		return err
	}
	v, err := b.multiOperand(vh, nn.MultiPastValue, 2, grow)
	if err != nil {
		return err
	}
	a := b.newAttention(q, k, v)
	a.scale, a.causal, a.filter, a.past, a.lengths = o.Scale, o.Causal, o.Filter, kept, list
	a.mask, a.scores, a.stage = nn.MultiMask, nn.MultiScores, nn.ScoresBiased
	return b.attend(a)
}

// multiPast is the rows of the past that count, those that it has room for, and the
// lengths if an operand tells them.
func (b *binder) multiPast(tokens, batch graph.Dim) (kept, room graph.Dim, list device.Operand, err error) {
	if !b.Has(nn.MultiPastKey) {
		return graph.Known(0), graph.Known(0), list, nil
	}
	room = b.In[nn.MultiPastKey].Dims[2]
	if !b.Has(nn.MultiPastLength) {
		return room, room, list, nil
	}
	l := lengths{kind: lengthsPast, batch: batch, tokens: tokens, room: room, past: room}
	l.types[0] = b.DType(nn.MultiPastLength)
	list, err = b.lengths(l, b.in(nn.MultiPastLength), device.Operand{})
	return graph.Known(0), room, list, err
}

// multiOperand is an operand with its bias, behind the past of an input and in an output
// if the node has such; negative numbers stand for none.
func (b *binder) multiOperand(x nn.MultiHeadOperand, pastInput, out int, a appending) (headRows, error) {
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
	if x.Biased {
		a.biasType = b.DType(nn.MultiBias)
		a.bias = b.in(nn.MultiBias).At(x.Bias.Mul(graph.Known(a.biasType.Bits() / 8)))
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
		if a.cache, err = b.tempOf(a.dtype, x.Batch.Mul(x.Heads).Mul(a.room).Mul(x.Size)); err != nil {
			return h, err
		}
	}
	return b.appendRows(h, a)
}

// padded is the list with nil for those left out up to number last.
func padded(list []*op.Value, last int) []*op.Value {
	all := make([]*op.Value, max(last+1, len(list)))
	copy(all, list)
	return all
}

func bindGroupQueryAttention(o *nn.GroupQueryAttention, b *binder) error {
	if err := b.onlyRoom([]int{nn.GroupPastKey, nn.GroupPastValue}, []int{1, 2}); err != nil {
		return err
	}
	qh, kh, vh, err := o.Operands(padded(b.In, nn.GroupKeyNorm))
	if err != nil {
		return err
	}
	past, room, err := b.groupRoom(kh)
	if err != nil {
		return err
	}
	l := lengths{kind: lengthsLast, batch: qh.Batch, tokens: qh.Rows, room: room, past: past}
	l.types = [2]tensor.DType{b.DType(nn.GroupLast), b.DType(nn.GroupTotal)}
	list, err := b.lengths(l, b.in(nn.GroupLast), b.in(nn.GroupTotal))
	if err != nil {
		return err
	}
	inputs := [3]int{nn.GroupQuery, nn.GroupKey, nn.GroupValue}
	if !b.Has(nn.GroupKey) {
		inputs = [3]int{}
	}
	var x [3]headRows
	for i, h := range []nn.HeadRows{qh, kh, vh} {
		x[i] = b.heads(b.in(inputs[i]), b.DType(inputs[i]), h)
	}
	for i, norm := range []int{nn.GroupQueryNorm, nn.GroupKeyNorm} {
		if x[i], err = b.groupRotated(o, x[i], norm, list); err != nil {
			return err
		}
	}
	for i := 1; i < 3; i++ {
		if x[i], err = b.groupGrown(x[i], i, nn.GroupPastKey+i-1, past, room, list); err != nil {
			return err
		}
	}
	a := b.newAttention(x[0], x[1], x[2])
	a.scale, a.cap, a.causal, a.window, a.lengths, a.keys = o.Scale, o.Softcap, o.Causal, o.Window, list, room
	a.scores, a.stage, a.blank = nn.GroupScores, o.Stage, true
	switch {
	case b.Has(nn.GroupSink):
		a.sink, a.sinkInput = givenSinks, nn.GroupSink
	case o.Smooth:
		a.sink = zeroSinks
	}
	return b.attend(a)
}

// groupRoom is the rows that the past has room for and those that the cache has.
func (b *binder) groupRoom(k nn.HeadRows) (past, room graph.Dim, err error) {
	if !b.Has(nn.GroupPastKey) {
		return graph.Known(0), k.Rows, nil
	}
	past = b.In[nn.GroupPastKey].Dims[2]
	if b.Wants(1) {
		return past, b.Out[1].Dims[2], nil
	}
	if list, ok := b.In[nn.GroupTotal].IntVec(); ok && len(list) == 1 {
		return past, past.Max(list[0]), nil
	}
	return past, room, &device.NeedValue{Input: nn.GroupTotal}
}

// groupRotated is queries or keys, normalised and rotated as the node asks.
func (b *binder) groupRotated(o *nn.GroupQueryAttention, x headRows, norm int, list device.Operand) (headRows, error) {
	if !o.Rotary && !b.Has(norm) {
		return x, nil
	}
	width := x.Heads.Mul(x.Size)
	t, err := b.tempOf(tensor.F32, x.Batch.Mul(x.Rows).Mul(width))
	if err != nil {
		return x, err
	}
	y := headRows{nn.HeadRows{Batch: x.Batch, Heads: x.Heads, Rows: x.Rows, Size: x.Size, PerBatch: x.Rows.Mul(width), PerHead: x.Size, PerRow: width}, tensor.F32, t}
	r := rotation{x: x, out: y, interleaved: o.Interleaved, norm: b.in(norm), normType: b.DType(norm), epsilon: o.Epsilon}
	if o.Rotary {
		caches := b.In[nn.GroupCos].Dims
		r.cos, r.sin, r.angleType, r.angleRows, r.pairs = b.in(nn.GroupCos), b.in(nn.GroupSin), b.DType(nn.GroupCos), caches[0], caches[1]
		r.positions, r.index, r.indexType = positionsOfBatches, list, tensor.I64
		if b.Has(nn.GroupPositions) {
			r.given(b, nn.GroupPositions, true)
		}
	}
	return y, b.rotate(r)
}

// groupGrown is keys or values behind those of the past, of the past's element type.
func (b *binder) groupGrown(x headRows, output, past int, pastRows, room graph.Dim, list device.Operand) (headRows, error) {
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
	if a.cache, err = b.cacheAt(output, d, x.Batch.Mul(x.Heads).Mul(room).Mul(x.Size)); err != nil {
		return x, err
	}
	return b.appendRows(x, a)
}

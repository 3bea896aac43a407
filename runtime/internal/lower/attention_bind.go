package lower

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// grow replaces x by a cache of the past in an input and the rows of x. An output receives it if the
// node has that. Without past, output and bias, x stays.
func grow(b AttentionBinder, x *Heads, past, output int, a Append) (err error) {
	f := b.Facts()
	if f.Wants(output) {
		a.DType, a.Cache, a.CacheRows = f.Out[output].DType, b.Output(output), f.OutMemory(output)[2]
	}
	if f.Has(past) {
		a.DType, a.Past, a.PastRows, a.PastMemory = f.DType(past), b.Input(past), f.In[past].Dims[2], f.Memory(past)[2]
	}
	if a.DType == tensor.Invalid && a.Bias.Place == device.None {
		return nil
	}
	if a.Room.Is(0) {
		a.Room = a.Kept.Add(x.Rows)
	}
	*x, err = b.Append(*x, &a)
	return err
}

// rowsOf returns the rows of input i, [batch,heads,rows,size] or [batch,rows,heads*size].
func rowsOf(f *device.Binding, i int) graph.Dim { return f.In[i].Dims[len(f.In[i].Dims)-2] }

// padded extends a list of inputs with nil up to number last.
func padded(list []*op.Value, last int) []*op.Value {
	all := make([]*op.Value, max(last+1, len(list)))
	copy(all, list)
	return all
}

func bindAttention(o *attention.Attention, b AttentionBinder) error {
	f := b.Facts()
	inputs := []int{attention.Key, attention.Value, attention.PastKey, attention.PastValue}
	if err := f.OnlyRoom(inputs, []int{1, 2}); err != nil {
		return err
	}
	qh, kh, vh, err := o.Operands(f.InMemory())
	if err != nil {
		return err
	}
	kh.Rows, vh.Rows = rowsOf(f, attention.Key), rowsOf(f, attention.Value)
	a := NewAttention(HeadsOf(b, attention.Query, qh), HeadsOf(b, attention.Key, kh), HeadsOf(b, attention.Value, vh))
	a.SideBySide, a.Scale, a.Cap, a.Causal, a.Window = len(f.In[0].Dims) == 3, o.Scale, o.Softcap, o.Causal, o.Window
	a.Scores, a.Stage, a.Doubles, a.NaN = attention.Mask, o.Stage, o.InFloat64(f.In), o.NaN
	for i, x := range []*Heads{&a.K, &a.V} {
		past, own := attention.PastKey+i, Append{}
		if f.Has(past) {
			own.Kept = f.In[past].Dims[2]
		}
		if err := grow(b, x, past, 1+i, own); err != nil {
			return err
		}
	}
	if f.Has(attention.PastKey) {
		a.Past = f.In[attention.PastKey].Dims[2]
	}
	if f.Has(attention.Lengths) {
		a.Lengths, err = b.Lengths(&Lengths{Kind: LengthsKeys, Batch: a.Q.Batch, Tokens: a.Q.Rows, Room: a.K.Rows,
			Past: a.Past, Ends: !f.Has(attention.PastKey), Counts: Input(b, attention.Lengths)})
		if err != nil {
			return err
		}
	}
	return b.Attend(a)
}

func bindMultiHeadAttention(o *attention.MultiHeadAttention, b AttentionBinder) error {
	f := b.Facts()
	inputs := []int{attention.MultiKey, attention.MultiValue, attention.MultiPastKey, attention.MultiPastValue}
	if err := f.OnlyRoom(inputs, []int{1, 2}); err != nil {
		return err
	}
	qh, kh, vh, err := o.Operands(padded(f.InMemory(), attention.MultiPastLength))
	if err != nil {
		return err
	}
	for _, x := range []*attention.MultiHeadOperand{&kh, &vh} {
		if x.Input < len(f.InRoom) && f.InRoom[x.Input] != nil {
			x.Rows = rowsOf(f, x.Input)
		}
	}
	grown := Append{Masked: f.Has(attention.MultiScores)}
	if f.Has(attention.MultiPastKey) {
		grown.Kept = f.In[attention.MultiPastKey].Dims[2]
	}
	if f.Has(attention.MultiPastLength) {
		grown.Room, grown.Kept = grown.Kept, graph.Known(0)
		grown.Lengths, err = b.Lengths(&Lengths{Kind: LengthsPast, Batch: kh.Batch, Tokens: kh.Rows, Room: grown.Room,
			Past: grown.Room, Counts: Input(b, attention.MultiPastLength)})
		if err != nil {
			return err
		}
	}
	a := NewAttention(Heads{}, Heads{}, Heads{})
	for i, x := range []*Heads{&a.Q, &a.K, &a.V} {
		h := [3]attention.MultiHeadOperand{qh, kh, vh}[i]
		*x = HeadsOf(b, h.Input, h.HeadRows)
		own, past, output := grown, attention.MultiPastKey+i-1, i
		if i == 0 {
			own, past, output = Append{}, None, None
		}
		if h.Biased {
			own.Bias, own.BiasAt = Input(b, attention.MultiBias), h.Bias
		}
		if err := grow(b, x, past, output, own); err != nil {
			return err
		}
	}
	a.Scale, a.Causal, a.Filter, a.Past, a.Lengths = o.Scale, o.Causal, o.Filter, grown.Kept, grown.Lengths
	a.Mask, a.Scores, a.Stage = attention.MultiMask, attention.MultiScores, attention.ScoresBiased
	a.NaN = attention.NaNKept
	return b.Attend(a)
}

func bindGroupQueryAttention(o *attention.GroupQueryAttention, b AttentionBinder) error {
	f := b.Facts()
	if err := f.OnlyRoom([]int{attention.GroupPastKey, attention.GroupPastValue}, []int{1, 2}); err != nil {
		return err
	}
	qh, kh, vh, err := o.Operands(padded(f.In, attention.GroupKeyNorm))
	if err != nil {
		return err
	}
	past, room, err := groupRoom(f, kh)
	if err != nil {
		return err
	}
	list, err := b.Lengths(&Lengths{Kind: LengthsLast, Batch: qh.Batch, Tokens: qh.Rows, Room: room, Past: past,
		Counts: Input(b, attention.GroupLast), All: Input(b, attention.GroupTotal)})
	if err != nil {
		return err
	}
	inputs := [3]int{attention.GroupQuery, attention.GroupKey, attention.GroupValue}
	if !f.Has(attention.GroupKey) {
		inputs = [3]int{}
	}
	a := NewAttention(HeadsOf(b, inputs[0], qh), HeadsOf(b, inputs[1], kh), HeadsOf(b, inputs[2], vh))
	if err := b.Rotate(groupRotations(o, b, a, list)...); err != nil {
		return err
	}
	for i, x := range []*Heads{&a.K, &a.V} {
		own := Append{Lengths: list, Room: room, Masked: f.Has(attention.GroupScores)}
		if err := grow(b, x, attention.GroupPastKey+i, 1+i, own); err != nil {
			return err
		}
	}
	a.Scale, a.Cap, a.Causal, a.Window, a.Lengths = o.Scale, o.Softcap, o.Causal, o.Window, list
	a.Scores, a.Stage, a.Blank = attention.GroupScores, o.Stage, true
	switch {
	case f.Has(attention.GroupSink):
		a.Sink, a.SinkInput = GivenSinks, attention.GroupSink
	case o.Smooth:
		a.Sink = ZeroSinks
	}
	return b.Attend(a)
}

// groupRoom returns the rows that the past has room for and the rows of the cache.
func groupRoom(f *device.Binding, k attention.HeadRows) (past, room graph.Dim, err error) {
	if !f.Has(attention.GroupPastKey) {
		return graph.Known(0), k.Rows, nil
	}
	past = f.In[attention.GroupPastKey].Dims[2]
	if f.Wants(1) {
		return past, f.Out[1].Dims[2], nil
	}
	if list, ok := f.In[attention.GroupTotal].IntVec(); ok && len(list) == 1 {
		return past, past.Max(list[0]), nil
	}
	return past, room, &device.NeedValue{Input: attention.GroupTotal}
}

// groupRotations returns the rotations of queries and keys that the node asks for.
func groupRotations(
	o *attention.GroupQueryAttention, b AttentionBinder, a *Attention, list device.Operand,
) (all []*Rotation) {
	f := b.Facts()
	for i, x := range []*Heads{&a.Q, &a.K} {
		r := &Rotation{X: x, Norm: Input(b, attention.GroupQueryNorm+i), Epsilon: o.Epsilon, Interleaved: o.Interleaved}
		if o.Rotary {
			r.Cos, r.Sin = Input(b, attention.GroupCos), Input(b, attention.GroupSin)
			r.Pairs, r.Positions, r.Index.Operand = r.Cos.Dims[1], PositionsOfBatches, list
		}
		if o.Rotary && f.Has(attention.GroupPositions) {
			r.given(b, attention.GroupPositions, true)
		}
		if o.Rotary || f.Has(attention.GroupQueryNorm+i) {
			all = append(all, r)
		}
	}
	return all
}

// given takes positions from an input.
func (r *Rotation) given(b Binder, input int, offset bool) {
	r.Index, r.Positions = Input(b, input), PositionsGiven
	if attention.OffsetPosition(b.Facts().In[input], offset) {
		r.Positions = PositionsFrom
	}
}

func bindRotary(o *attention.RotaryEmbedding, b AttentionBinder) error {
	h, pairs, err := o.Operands(b.Facts().In)
	if err != nil {
		return err
	}
	x := HeadsOf(b, 0, h)
	r := &Rotation{X: &x, Out: b.Output(0), Cos: Input(b, o.Cos), Sin: Input(b, o.Sin), Pairs: pairs,
		Interleaved: o.Interleaved}
	if b.Facts().Has(o.Positions) {
		r.given(b, o.Positions, o.Offset)
	}
	return b.Rotate(r)
}

// AttendProjected attends to queries, keys and values that are side by side in all, of type d. Keys and
// values of the cache are its halves.
func AttendProjected(o *attention.ProjectedAttention, b AttentionBinder, d tensor.DType, all device.Operand) error {
	f := b.Facts()
	qh, kh, vh, err := o.Operands(f.In)
	if err != nil {
		return err
	}
	a := NewAttention(Heads{qh, d, all}, Heads{kh, d, all}, Heads{vh, d, all})
	own, hasPast := Append{Room: kh.Rows}, f.Has(attention.ProjectedPast)
	if hasPast {
		own.Kept = f.In[attention.ProjectedPast].Dims[3]
		own.Room = own.Kept.Add(kh.Rows)
	}
	if hasPast && o.Shared {
		own.Room, own.Kept = own.Kept, graph.Known(0)
		own.Lengths, err = b.Lengths(&Lengths{Kind: LengthsPast, Batch: kh.Batch, Tokens: kh.Rows, Room: own.Room,
			Past: own.Room, Counts: Input(b, attention.ProjectedPastLength)})
		if err != nil {
			return err
		}
	}
	if err := b.Rotate(projectedRotations(o, b, a, &own)...); err != nil {
		return err
	}
	if hasPast || f.Wants(1) {
		if err := growHalves(b, a, own); err != nil {
			return err
		}
	}
	a.Scale, a.Causal, a.Filter, a.Past, a.Lengths = o.Scale, o.Causal, o.Filter, own.Kept, own.Lengths
	a.Mask, a.Scores, a.NaN = attention.ProjectedMask, attention.ProjectedScores, attention.NaNKept
	return b.Attend(a)
}

// projectedRotations returns the rotations of queries and keys that the node asks for. Positions follow
// the past.
func projectedRotations(o *attention.ProjectedAttention, b Binder, a *Attention, past *Append) []*Rotation {
	size, known := a.Q.Size.Value()
	switch {
	case !o.Rotary:
		return nil
	case !known:
		b.Note(device.Refuse("the size %v of heads is not known", a.Q.Size))
		return nil
	case o.Pairs(size) == 0:
		return nil
	}
	of := func(x *Heads) *Rotation {
		return &Rotation{X: x, Pairs: graph.Known(o.Pairs(size)), Positions: PositionsOfBatches,
			Index: Value{Operand: past.Lengths}, Base: 10000, Past: past.Kept, Room: past.Room}
	}
	return []*Rotation{of(&a.Q), of(&a.K)}
}

// growHalves appends keys and values to the halves of a cache.
func growHalves(b AttentionBinder, a *Attention, own Append) (err error) {
	f := b.Facts()
	own.DType, own.CacheRows, own.Cache = f.Out[0].DType, own.Room, b.Output(1)
	head := a.K.Batch.Mul(a.K.Heads).Mul(a.K.Size)
	if f.Wants(1) {
		own.CacheRows = f.OutMemory(1)[3]
	}
	if past := attention.ProjectedPast; f.Has(past) {
		own.Past, own.PastRows, own.PastMemory = b.Input(past), f.In[past].Dims[3], f.Memory(past)[3]
	}
	if !f.Wants(1) {
		n, ok := f.Max(head.Mul(own.Room).Mul(graph.Known(2)))
		if !ok {
			return device.Refuse("extents %v are not known", own.Room)
		}
		own.Cache = b.Scratch(own.DType.Bytes(n))
	}
	if a.K, err = b.Append(a.K, &own); err != nil {
		return err
	}
	own.PastAt, own.CacheAt = head.Mul(own.PastMemory), head.Mul(own.CacheRows)
	a.V, err = b.Append(a.V, &own)
	return err
}

// bindAppendCodes appends rows to a cache of int8. Axes between the growing one and a row are part
// of the rows.
func bindAppendCodes(o *attention.AppendCodes, b AttentionBinder) error {
	f := b.Facts()
	past, rows := f.In[attention.CodesPast].Dims, f.In[attention.CodesRows].Dims
	last := len(past) - 1
	axis, err := o.Axis(len(past))
	if err != nil {
		return err
	}
	if err := f.OnlyRoom([]int{attention.CodesPast}, []int{0}); err != nil {
		return err
	}
	memory := f.Memory(attention.CodesPast)
	for i, d := range memory {
		if i != axis && !d.Same(past[i]) {
			return device.Refuse("rows are added along axis %d and there is room along another", axis)
		}
	}
	outer, inner := past[:axis].Len(), past[axis+1:last].Len()
	h := attention.WholeHeads(graph.Dims{graph.Known(1), outer, rows[axis].Mul(inner), rows[last]})
	kept := past[axis].Mul(inner)
	_, err = b.Append(HeadsOf(b, attention.CodesRows, h), &Append{
		Past: b.Input(attention.CodesPast), PastRows: kept, PastMemory: memory[axis].Mul(inner), Kept: kept,
		Cache: b.Output(0), CacheRows: f.OutMemory(0)[axis].Mul(inner), DType: tensor.I8, Room: kept.Add(h.Rows)})
	return err
}

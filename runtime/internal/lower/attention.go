package lower

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Heads is an operand of attention. The view counts from the operand's start. Rows of int8 are codes.
type Heads struct {
	attention.HeadRows
	DType   tensor.DType
	Operand device.Operand
}

// HeadsOf returns the view h of an input.
func HeadsOf(b Binder, input int, h attention.HeadRows) Heads {
	return Heads{h, b.Facts().DType(input), b.Input(input)}
}

// LengthsKind says what the integers of Lengths are.
type LengthsKind int

// The kinds of lengths.
const (
	LengthsLast LengthsKind = iota // the last position of each batch, and the keys of the longest
	LengthsKeys                    // the keys of each batch
	LengthsPast                    // the rows of the past of all batches
)

// Lengths counts the keys of each batch.
type Lengths struct {
	Kind          LengthsKind
	Batch, Tokens graph.Dim
	Room, Past    graph.Dim // rows of the cache and of the past
	Ends          bool      // the queries of a batch are its last keys
	Counts, All   Value
}

// Append makes a cache of a past and of new rows.
type Append struct {
	Past       device.Operand // none without a past
	PastRows   graph.Dim      // rows that the past has room for
	PastMemory graph.Dim      // rows of a head in memory; 0 for PastRows
	Kept       graph.Dim      // rows of the past that count if there are no lengths
	Lengths    device.Operand // none if all batches have as many rows
	Bias       Value          // of the new rows
	BiasAt     graph.Dim      // its first element
	Cache      device.Operand // none for scratch
	CacheRows  graph.Dim      // rows of a head in memory; 0 for Room
	DType      tensor.DType   // of past and cache; Invalid for the device's choice
	Room       graph.Dim      // rows of the cache
	Masked     bool           // a mask has a column for each row of the cache
}

// Positions says where the positions of tokens come from.
type Positions int

// The sources of positions.
const (
	PositionsOfTokens  Positions = iota // tables have a row for each token
	PositionsGiven                      // an integer for each token
	PositionsFrom                       // one integer, the position of the first token
	PositionsOfBatches                  // lengths
)

// Rotation normalises the rows of X if there is a norm, and rotates them if there are tables. X
// becomes the result.
type Rotation struct {
	X           *Heads
	Out         device.Operand // with the strides of X; none for scratch
	Norm        Value
	Epsilon     float32
	Cos, Sin    Value
	Pairs       graph.Dim
	Interleaved bool
	Positions   Positions
	Index       Value
}

// Sinks is a score without a key in each softmax.
type Sinks int

// The sinks.
const (
	NoSink Sinks = iota
	ZeroSinks
	GivenSinks
)

// Attention computes output 0.
type Attention struct {
	Q, K, V    Heads
	SideBySide bool     // heads of the result are side by side in its rows
	Scale      *float32 // of scores; nil for 1/sqrt(size)
	Cap        float32
	Past       graph.Dim // position of the first query if there are no lengths
	Causal     bool
	Window     int
	Lengths    device.Operand
	Scores     int // the input added to scores, None for none
	Mask       int // the input with a mask of integers, None for none
	Filter     float32
	Sink       Sinks
	SinkInput  int
	Stage      int  // the stage that output 3 shows; negative for none
	Blank      bool // output 3 shows nothing of keys that do not count
	Doubles    bool // scores are computed in float64
	NaN        attention.NaN
}

// NewAttention returns attention without masks. Its result has heads side by side.
func NewAttention(q, k, v Heads) *Attention {
	return &Attention{Q: q, K: k, V: v, SideBySide: true, Scores: None, Mask: None, Stage: -1}
}

// AttentionBinder is a Binder for attention.
type AttentionBinder interface {
	Binder
	// Lengths returns the counts.
	Lengths(l *Lengths) (device.Operand, error)
	// Append returns the cache.
	Append(x Heads, a *Append) (Heads, error)
	// Rotate adds the work of all rotations of a node.
	Rotate(list ...*Rotation) error
	Attend(a *Attention) error
}

// Attentions returns the rows of attention with caches.
func Attentions[B AttentionBinder]() []device.Row[B] {
	return []device.Row[B]{
		attentionRow[B]("attention", bindAttention).InRoom(),
		attentionRow[B]("attention", bindMultiHeadAttention).InRoom(),
		attentionRow[B]("attention", bindGroupQueryAttention).InRoom().Reading(),
		attentionRow[B]("rotary", bindRotary),
		attentionRow[B]("append_codes", bindAppendCodes).InRoom(),
	}
}

func attentionRow[B AttentionBinder, T op.Op](name string, bind func(o T, b AttentionBinder) error) device.Row[B] {
	return device.RowFor(name, func(o T, b B) error { return bind(o, b) })
}

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

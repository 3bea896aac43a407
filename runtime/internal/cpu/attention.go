package cpu

import (
	"math"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var attentionRows = []row{
	rowFor("attention", bindAttention).InRoom(),
	rowFor("attention", bindMultiHeadAttention).InRoom(),
	rowFor("attention", bindProjectedAttention).InRoom(),
	rowFor("attention", bindGroupQueryAttention).InRoom().Reading(),
	rowFor("attention", bindDecoderAttention),
	rowFor("gemv", func(o *quant.QAttention, b *binder) error { return bindQAttention(o, "i8_gemv", b) }),
	rowFor("gemm", func(o *quant.QAttention, b *binder) error { return bindQAttention(o, "i8_gemm", b) }),
	rowFor("rotary", bindRotary),
	rowFor("append_codes", bindAppendCodes).InRoom(),
	rowFor("widen_codes", bindWidenCodes).InRoom(),
	rowFor("linear_attention", bindLinearAttention),
	rowFor("causal_conv", bindCausalConv),
	rowFor("tensor_scatter", bindTensorScatter),
}

// headRows is an operand of attention: its extents and strides, its type and its address.
type headRows struct {
	attention.HeadRows
	dtype tensor.DType
	at    device.Operand // of element [0,0,0,0]
}

// heads returns operand x, of element type d, with the strides of view h.
func (b *binder) heads(x device.Operand, d tensor.DType, h attention.HeadRows) headRows {
	return headRows{h, d, x.At(h.Start.Mul(graph.Known(d.Bits() / 8)))}
}

func (w *words) heads(h headRows) {
	w.dtype(h.dtype)
	w.dim(h.PerBatch, h.PerHead, h.PerRow)
}

// tempOf returns scratch for count elements.
func (b *binder) tempOf(d tensor.DType, count graph.Dim) (device.Operand, error) {
	n, ok := b.Max(count)
	if !ok {
		return device.Operand{}, device.Refuse("extent %v is not known", count)
	}
	return b.temp(d.Bytes(n)), nil
}

// The kinds of lengths, numbered as in csrc/attention/attention.h.
const (
	lengthsLast = iota
	lengthsKeys
	lengthsPast
)

// lengths holds the words of attention_lengths.
type lengths struct {
	kind          int
	batch, tokens graph.Dim
	room, past    graph.Dim
	ends          bool
	types         [2]tensor.DType
}

// lengths adds a command that counts the keys of each batch from operands x and y. It returns the
// scratch that receives the counts.
func (b *binder) lengths(l lengths, x, y device.Operand) (device.Operand, error) {
	out, err := b.tempOf(tensor.I64, l.batch.Mul(graph.Known(2)).Add(graph.Known(1)))
	if err != nil {
		return out, err
	}
	var w words
	w.int(l.kind)
	w.dim(l.batch, l.tokens, l.room, l.past)
	w.bool(l.ends)
	w.dtype(l.types[:]...)
	return out, b.run("attention_lengths", w, x, y, out)
}

// appending describes a cache of keys or values that grows.
type appending struct {
	past     device.Operand // none without a past
	pastRows graph.Dim      // rows that the past has room for
	kept     graph.Dim      // rows that count if there are no lengths
	lengths  device.Operand // none if all batches have as many rows
	bias     device.Operand // none if there is no bias
	biasType tensor.DType
	cache    device.Operand
	dtype    tensor.DType // of past and cache
	room     graph.Dim
	// Rows in memory per head. 0 stands for pastRows and for room.
	pastMemory, cacheMemory graph.Dim
}

// memory sets the number of rows that a past and a cache have in memory. Both are
// [batch,heads,rows,size]. A negative input means no past, a negative output no cache.
func (b *binder) memory(a *appending, past, output int) error {
	if past >= 0 && b.Has(past) {
		a.pastMemory = b.Memory(past)[2]
		if !a.pastMemory.Same(a.pastRows) && !b.Wants(output) {
			return device.Refuse("a past is in memory with room, and its new rows are not")
		}
	}
	if output >= 0 && b.Wants(output) {
		a.cacheMemory = b.OutMemory(output)[2]
	}
	return nil
}

// appendRows adds a command that appends new rows to a past, and returns the cache.
func (b *binder) appendRows(x headRows, a appending) (headRows, error) {
	if x.dtype == tensor.I8 {
		return x, device.Refuse("codes are not copied to a cache")
	}
	if a.pastMemory.Is(0) {
		a.pastMemory = a.pastRows
	}
	if a.cacheMemory.Is(0) {
		a.cacheMemory = a.room
	}
	width := kit.CacheWidth(a.dtype, x.Size)
	out := b.heads(a.cache, a.dtype, attention.WholeHeads(graph.Dims{x.Batch, x.Heads, a.cacheMemory, width}))
	out.Rows, out.Size = a.room, x.Size
	pastHead := a.pastMemory.Mul(width)
	var w words
	w.part(b.dev.half)
	w.dim(x.Batch, x.Heads, x.Rows, x.Size)
	w.heads(x)
	w.dtype(a.biasType)
	w.dim(x.Size)
	w.dtype(a.dtype)
	w.dim(a.kept, x.Heads.Mul(pastHead), pastHead, out.PerBatch, out.PerHead, a.room)
	return out, b.run("attention_append", w, a.past, x.at, a.bias, a.lengths, a.cache)
}

// cacheAt returns output i, or scratch for count elements if the node does not have it.
func (b *binder) cacheAt(i int, d tensor.DType, count graph.Dim) (device.Operand, error) {
	if b.Wants(i) {
		return b.out(i), nil
	}
	return b.tempOf(d, count)
}

// elements returns the elements of a cache of type d with that many rows for each head of x.
func (x *headRows) elements(d tensor.DType, rows graph.Dim) graph.Dim {
	return x.Batch.Mul(x.Heads).Mul(rows).Mul(kit.CacheWidth(d, x.Size))
}

// The forms of sinks.
const (
	noSink = iota
	zeroSinks
	givenSinks
)

// attentionCommand is a command f32_attention or f64_attention.
type attentionCommand struct {
	q, k, v, out headRows
	keys         graph.Dim // the most keys there can be
	scale        *float32
	cap          float32
	past         graph.Dim // position of the first query if there are no lengths
	causal       bool
	window       int
	lengths      device.Operand
	scores       int // the input added to scores; negative for none
	mask         int // the input with a mask of integers; negative for none
	filter       float32
	sink         int
	sinkInput    int
	stage        int // the stage that output 3 shows
	blank        bool
	doubles      bool
	nan          attention.NaN
}

// newAttention returns attention without masks. Its output 0 is [batch,rows,heads*size].
func (b *binder) newAttention(q, k, v headRows) *attentionCommand {
	width := q.Heads.Mul(v.Size)
	out := b.heads(b.out(0), b.Out[0].DType,
		attention.HeadRows{PerBatch: q.Rows.Mul(width), PerHead: v.Size, PerRow: width})
	return &attentionCommand{q: q, k: k, v: v, out: out, keys: k.Rows, past: graph.Known(0), scores: -1, mask: -1,
		stage: -1}
}

// attend adds the command.
func (b *binder) attend(a *attentionCommand) error {
	name := "f32_attention"
	if a.doubles {
		name = "f64_attention"
	}
	gemm, err := b.tiles()
	if err != nil {
		return err
	}
	tanh := b.kernel("f32_tanh")
	var w words
	w.part(gemm, tanh)
	w.dim(a.q.Batch, a.q.Heads, a.k.Heads, a.q.Rows, a.keys, a.q.Size, a.v.Size)
	for _, h := range []headRows{a.q, a.k, a.v, a.out} {
		w.heads(h)
	}
	if err := a.factors(&w); err != nil {
		return err
	}
	w.dim(a.past)
	w.bool(a.causal)
	w.int(a.window)
	scores, err := b.scoreWords(a, &w)
	if err != nil {
		return err
	}
	mask, err := b.maskWords(a, &w)
	if err != nil {
		return err
	}
	sink := device.Operand{}
	w.int(a.sink)
	if a.sink == givenSinks {
		sink = b.in(a.sinkInput)
	}
	w.dtype(b.DType(a.sinkInput))
	qk := b.shownWords(a, &w)
	w.int(int(a.nan))
	k, err := b.choose(name, w)
	if err != nil {
		return err
	}
	return b.add(k, []bindings.Kernel{gemm, tanh}, w, a.q.at, a.k.at, a.v.at, a.lengths, scores, mask, sink, a.out.at, qk)
}

// factors appends the factor of scores and their cap.
func (a *attentionCommand) factors(w *words) error {
	scale := float32(0)
	if a.scale != nil {
		scale = *a.scale
	} else {
		d, ok := a.q.Size.Value()
		if !ok {
			return device.Refuse("the size %v of heads is not known", a.q.Size)
		}
		scale = float32(1 / math.Sqrt(float64(max(d, 1))))
	}
	w.float(float64(scale), float64(a.cap))
	return nil
}

// scoreWords appends the words of the input added to scores, and returns that operand.
func (b *binder) scoreWords(a *attentionCommand, w *words) (device.Operand, error) {
	if a.scores < 0 || !b.Has(a.scores) {
		w.int(0, 0, 0, 0, 0, 0)
		return device.Operand{}, nil
	}
	d, err := attention.ScoreDims(b.In[a.scores], a.q.Batch, a.q.Heads, a.q.Rows)
	if err != nil {
		return device.Operand{}, err
	}
	steps, cols := graph.Dims{d[1:].Len(), d[2:].Len(), d[3], graph.Known(1)}, d[3]
	for i := range steps {
		if d[i].Is(1) {
			steps[i] = graph.Known(0)
		}
	}
	if cols.Is(1) {
		cols = graph.Known(-1) // it stretches to all keys
	}
	w.dtype(b.DType(a.scores))
	w.dim(steps...)
	w.dim(cols)
	return b.in(a.scores), nil
}

// maskWords appends the words of a mask of integers, and returns that operand.
func (b *binder) maskWords(a *attentionCommand, w *words) (device.Operand, error) {
	if a.mask < 0 || !b.Has(a.mask) {
		w.int(0, 0, 0)
		w.float(0)
		return device.Operand{}, nil
	}
	v := b.In[a.mask]
	form, err := attention.KeyMaskOf(v, a.q.Batch, a.q.Rows)
	if err != nil {
		return device.Operand{}, err
	}
	w.int(int(form))
	w.dtype(v.DType)
	w.dim(v.Dims[len(v.Dims)-1])
	w.float(float64(a.filter))
	return b.in(a.mask), nil
}

// shownWords appends the words of the output of scores, and returns that operand.
func (b *binder) shownWords(a *attentionCommand, w *words) device.Operand {
	if a.stage < 0 || !b.Wants(3) {
		w.int(-1, 0, 0, 0)
		return device.Operand{}
	}
	w.int(a.stage)
	w.dtype(b.Out[3].DType)
	w.dim(b.Out[3].Dims[3])
	w.bool(a.blank)
	return b.out(3)
}

func bindAttention(o *attention.Attention, b *binder) error {
	inputs := []int{attention.Key, attention.Value, attention.PastKey, attention.PastValue}
	if err := b.OnlyRoom(inputs, []int{1, 2}); err != nil {
		return err
	}
	qh, kh, vh, err := o.Operands(b.InMemory())
	if err != nil {
		return err
	}
	kh.Rows, vh.Rows = b.rows(attention.Key), b.rows(attention.Value)
	q := b.heads(b.in(attention.Query), b.DType(attention.Query), qh)
	k := b.heads(b.in(attention.Key), b.DType(attention.Key), kh)
	v := b.heads(b.in(attention.Value), b.DType(attention.Value), vh)
	past := graph.Known(0)
	if b.Has(attention.PastKey) {
		past = b.In[attention.PastKey].Dims[2]
	}
	if k, err = b.grown(k, attention.PastKey, 1); err != nil {
		return err
	}
	if v, err = b.grown(v, attention.PastValue, 2); err != nil {
		return err
	}
	a := b.newAttention(q, k, v)
	a.scale, a.cap, a.causal, a.window, a.past = o.Scale, o.Softcap, o.Causal, o.Window, past
	a.scores, a.stage, a.doubles, a.nan = attention.Mask, o.Stage, o.InFloat64(b.In), o.NaN
	if len(b.In[0].Dims) == 4 {
		a.out = b.heads(b.out(0), b.Out[0].DType, attention.WholeHeads(graph.Dims{q.Batch, q.Heads, q.Rows, v.Size}))
	}
	if b.Has(attention.Lengths) {
		l := lengths{kind: lengthsKeys, batch: q.Batch, tokens: q.Rows, room: k.Rows, past: past,
			ends: !b.Has(attention.PastKey)}
		l.types[0] = b.DType(attention.Lengths)
		if a.lengths, err = b.lengths(l, b.in(attention.Lengths), device.Operand{}); err != nil {
			return err
		}
	}
	return b.attend(a)
}

// grown appends the rows of x to the past in an input. The result is in an output if the node has
// it, else in scratch. Without a past and an output it is x.
func (b *binder) grown(x headRows, past, output int) (headRows, error) {
	if !b.Has(past) && !b.Wants(output) {
		return x, nil
	}
	kept, d := graph.Known(0), x.dtype
	if b.Has(past) {
		kept, d = b.In[past].Dims[2], b.DType(past)
	}
	a := appending{past: b.in(past), pastRows: kept, kept: kept, dtype: d, room: kept.Add(x.Rows)}
	err := b.memory(&a, past, output)
	if err != nil {
		return x, err
	}
	if a.cache, err = b.cacheAt(output, d, x.elements(d, a.room)); err != nil {
		return x, err
	}
	return b.appendRows(x, a)
}

// rows returns the row extent of input i: [batch,heads,rows,size] or [batch,rows,heads*size].
func (b *binder) rows(i int) graph.Dim { return b.In[i].Dims[len(b.In[i].Dims)-2] }

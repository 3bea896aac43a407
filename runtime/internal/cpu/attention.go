package cpu

import (
	"math"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var attentionRows = []row{
	rowFor("attention", bindProjectedAttention).InRoom(),
	rowFor("attention", bindDecoderAttention),
	rowFor("gemv", func(o *quant.QAttention, b *binder) error { return bindQAttention(o, "i8_gemv", b) }),
	rowFor("gemm", func(o *quant.QAttention, b *binder) error { return bindQAttention(o, "i8_gemm", b) }),
	rowFor("widen_codes", bindWidenCodes).InRoom(),
	rowFor("linear_attention", bindLinearAttention),
	rowFor("causal_conv", bindCausalConv),
	rowFor("tensor_scatter", bindTensorScatter),
}

// placeOf returns the address of element [0,0,0,0].
func placeOf(h lower.Heads) device.Operand {
	return h.Operand.At(h.Start.Mul(graph.Known(h.DType.Bits() / 8)))
}

func (w *words) heads(h lower.Heads) {
	w.dtype(h.DType)
	w.dim(h.PerBatch, h.PerHead, h.PerRow)
}

// tempOf returns scratch for count elements.
func (b *binder) tempOf(d tensor.DType, count graph.Dim) device.Operand {
	n, ok := b.Max(count)
	if !ok {
		b.Note(device.Refuse("extent %v is not known", count))
	}
	return b.temp(d.Bytes(n))
}

// Lengths adds a command, and returns the scratch that receives the counts.
func (b *binder) Lengths(l *lower.Lengths) (device.Operand, error) {
	out := b.tempOf(tensor.I64, l.Batch.Mul(graph.Known(2)).Add(graph.Known(1)))
	var w words
	w.int(int(l.Kind))
	w.dim(l.Batch, l.Tokens, l.Room, l.Past)
	w.bool(l.Ends)
	w.dtype(l.Counts.DType, l.All.DType)
	return out, b.run("attention_lengths", w, l.Counts.Operand, l.All.Operand, out)
}

// Append adds a command. Biased rows without a cache are float32.
func (b *binder) Append(x lower.Heads, a *lower.Append) (lower.Heads, error) {
	cache, d, past, rows := a.Cache, a.DType, a.PastMemory, a.CacheRows
	if past.Is(0) {
		past = a.PastRows
	}
	if rows.Is(0) {
		rows = a.Room
	}
	if d == tensor.Invalid {
		d = tensor.F32
	}
	switch {
	case x.DType == tensor.I8:
		return x, device.Refuse("codes are not copied to a cache")
	case cache.Place != device.Out && !past.Same(a.PastRows):
		return x, device.Refuse("a past is in memory with room, and its new rows are not")
	}
	width := kit.CacheWidth(d, x.Size)
	h := attention.WholeHeads(graph.Dims{x.Batch, x.Heads, rows, width})
	if cache.Place == device.None {
		cache = b.tempOf(d, h.Batch.Mul(h.PerBatch))
	}
	h.Rows, h.Size = a.Room, x.Size
	pastHead := past.Mul(width)
	var w words
	w.part(b.dev.half)
	w.dim(x.Batch, x.Heads, x.Rows, x.Size)
	w.heads(x)
	w.dtype(a.Bias.DType)
	w.dim(x.Size)
	w.dtype(d)
	w.dim(a.Kept, x.Heads.Mul(pastHead), pastHead, h.PerBatch, h.PerHead, a.Room)
	bytes := func(n graph.Dim, d tensor.DType) graph.Dim { return n.Mul(graph.Known(d.Bits() / 8)) }
	from, bias := a.Past.At(bytes(a.PastAt, d)), a.Bias.At(bytes(a.BiasAt, a.Bias.DType))
	cache = cache.At(bytes(a.CacheAt, d))
	return lower.Heads{HeadRows: h, DType: d, Operand: cache},
		b.run("attention_append", w, from, placeOf(x), bias, a.Lengths, cache)
}

// Attend adds the command f32_attention or f64_attention.
func (b *binder) Attend(a *lower.Attention) error {
	name := "f32_attention"
	if a.Doubles {
		name = "f64_attention"
	}
	gemm := b.tiles()
	tanh := b.kernel("f32_tanh")
	var w words
	w.part(gemm, tanh)
	w.dim(a.Q.Batch, a.Q.Heads, a.K.Heads, a.Q.Rows, a.K.Rows, a.Q.Size, a.V.Size)
	width := a.Q.Heads.Mul(a.V.Size)
	out := attention.HeadRows{PerBatch: a.Q.Rows.Mul(width), PerHead: a.V.Size, PerRow: width}
	if !a.SideBySide {
		out = attention.WholeHeads(graph.Dims{a.Q.Batch, a.Q.Heads, a.Q.Rows, a.V.Size})
	}
	for _, h := range []lower.Heads{a.Q, a.K, a.V, {HeadRows: out, DType: b.Out[0].DType}} {
		w.heads(h)
	}
	if err := b.factors(a, &w); err != nil {
		return err
	}
	w.dim(a.Past)
	w.bool(a.Causal)
	w.int(a.Window)
	scores, err := b.scoreWords(a, &w)
	if err != nil {
		return err
	}
	mask, err := b.maskWords(a, &w)
	if err != nil {
		return err
	}
	sink := device.Operand{}
	w.int(int(a.Sink))
	if a.Sink == lower.GivenSinks {
		sink = b.in(a.SinkInput)
	}
	w.dtype(b.DType(a.SinkInput))
	qk := b.shownWords(a, &w)
	w.int(int(a.NaN))
	return b.runWith(name, []bindings.Kernel{gemm, tanh}, w, placeOf(a.Q), placeOf(a.K), placeOf(a.V), a.Lengths, scores,
		mask, sink, b.out(0), qk)
}

// factors appends the factor of scores and their cap.
func (b *binder) factors(a *lower.Attention, w *words) error {
	scale := float32(0)
	if a.Scale != nil {
		scale = *a.Scale
	} else {
		d, ok := a.Q.Size.Value()
		if !ok {
			return device.Refuse("the size %v of heads is not known", a.Q.Size)
		}
		scale = float32(1 / math.Sqrt(float64(max(d, 1))))
	}
	w.float(float64(scale), float64(a.Cap))
	return nil
}

// scoreWords appends the words of the input added to scores, and returns that operand.
func (b *binder) scoreWords(a *lower.Attention, w *words) (device.Operand, error) {
	if !b.Has(a.Scores) {
		w.int(0, 0, 0, 0, 0, 0)
		return device.Operand{}, nil
	}
	d, err := attention.ScoreDims(b.In[a.Scores], a.Q.Batch, a.Q.Heads, a.Q.Rows)
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
	w.dtype(b.DType(a.Scores))
	w.dim(steps...)
	w.dim(cols)
	return b.in(a.Scores), nil
}

// maskWords appends the words of a mask of integers, and returns that operand.
func (b *binder) maskWords(a *lower.Attention, w *words) (device.Operand, error) {
	if !b.Has(a.Mask) {
		w.int(0, 0, 0)
		w.float(0)
		return device.Operand{}, nil
	}
	v := b.In[a.Mask]
	form, err := attention.KeyMaskOf(v, a.Q.Batch, a.Q.Rows)
	if err != nil {
		return device.Operand{}, err
	}
	w.int(int(form))
	w.dtype(v.DType)
	w.dim(v.Dims[len(v.Dims)-1])
	w.float(float64(a.Filter))
	return b.in(a.Mask), nil
}

// shownWords appends the words of the output of scores, and returns that operand.
func (b *binder) shownWords(a *lower.Attention, w *words) device.Operand {
	if a.Stage < 0 || !b.Wants(3) {
		w.int(-1, 0, 0, 0)
		return device.Operand{}
	}
	w.int(a.Stage)
	w.dtype(b.Out[3].DType)
	w.dim(b.Out[3].Dims[3])
	w.bool(a.Blank)
	return b.out(3)
}

package vulkan

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var attentionRows = []row{
	rowFor("attention", bindProjectedAttention).InRoom(),
	rowFor("attention", bindFlexAttention),
	rowFor("widen_codes", bindWidenCodes).InRoom(),
	rowFor("linear", bindLinearAttention),
	rowFor("causal", bindCausalConv),
	rowFor("rows", bindTensorScatter),
}

// Bounds of attention/attention and attention/tile: the most elements of a head, and the invocations
// of a workgroup. A workgroup of attention/tile has tileQueries queries, and tileStep elements of a
// head in shared memory. Fewer queries than leastTiled take a workgroup each.
const (
	mostHead      = 256
	attentionSide = 64
	tileQueries   = 16
	tileStep      = 16
	leastTiled    = 6
)

// headRows is an operand of attention [batch,heads,rows,size] in memory. It begins at element
// start; perBatch, perHead and perRow are the strides of the first three axes in elements. Rows of
// int8 are coded: they have more bytes than the size of a head.
type headRows struct {
	batch, heads, rows, size         int
	start, perBatch, perHead, perRow int
	at                               device.Operand
	coded                            bool
}

// numbers returns an operand with extents that are numbers.
func (b *binder) numbers(h lower.Heads) headRows {
	s := b.known(h.Batch, h.Heads, h.Rows, h.Size, h.Start, h.PerBatch, h.PerHead, h.PerRow)
	return headRows{s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], h.Operand, h.DType == tensor.I8}
}

// lowered returns the operand, of element type d, as numbers takes it.
func (h *headRows) lowered(d tensor.DType) lower.Heads {
	n := graph.Known
	return lower.Heads{DType: d, Operand: h.at, HeadRows: attention.HeadRows{
		Batch: n(h.batch), Heads: n(h.heads), Rows: n(h.rows), Size: n(h.size), Start: n(h.start),
		PerBatch: n(h.perBatch), PerHead: n(h.perHead), PerRow: n(h.perRow)}}
}

// whole returns operand x as [batch,heads,rows,size]. Room is the rows that the memory of a head
// has space for.
func whole(x device.Operand, batch, heads, rows, size, room int) headRows {
	return headRows{batch, heads, rows, size, 0, heads * room * size, room * size, size, x, false}
}

// extents returns the extents of all axes.
func (h *headRows) extents() [4]int { return [4]int{h.batch, h.heads, h.rows, h.size} }

// steps returns the first element and the strides of the first three axes.
func (h *headRows) steps() [4]int { return [4]int{h.start, h.perBatch, h.perHead, h.perRow} }

// len returns the number of elements.
func (h *headRows) len() int { return h.batch * h.heads * h.rows * h.size }

// inWords reports whether rows are whole words of tileWord elements.
func (h *headRows) inWords() bool {
	all := h.size | h.start | h.perBatch | h.perHead | h.perRow
	return all%tileWord == 0 && !h.coded
}

func (w *words) heads(h headRows) { w.int(h.start, h.perBatch, h.perHead, h.perRow) }

// The masks that are added, as attention/attention numbers them.
const (
	maskNone = iota
	maskAdded
	maskBytes
)

// attending is a dispatch of attention/attention or attention/tile.
type attending struct {
	*lower.Attention
	q, k, v headRows
	past    int // keys before the key of the first query; not used with lengths
}

// Attend adds the dispatches of attention.
func (b *binder) Attend(a *lower.Attention) error {
	if a.Doubles {
		return device.Refuse("softmax is in float64")
	}
	x := &attending{Attention: a}
	for i, h := range []lower.Heads{a.Q, a.K, a.V} {
		if h.DType != a.Q.DType && h.DType != tensor.I8 {
			return device.Refuse("keys or values are %v and the query %v", h.DType, a.Q.DType)
		}
		*[]*headRows{&x.q, &x.k, &x.v}[i] = b.numbers(h)
	}
	x.past = b.known(a.Past)[0]
	return b.attend(x)
}

// attend adds the dispatch. Its result is output 0. If few workgroups would run, each query's keys
// are split among several, and a second dispatch joins their sums.
func (b *binder) attend(a *attending) error {
	variant := b.floatName(b.DType(0))
	if a.q.size > mostHead || a.v.size > mostHead || a.k.heads == 0 || a.k.rows == 0 ||
		b.dev.info.Caps.MaxInvocations < attentionSide {
		return device.Refuse("heads have %d and %d elements, and %d keys", a.q.size, a.v.size, a.k.rows)
	}
	stage, shown := 0, device.Operand{}
	if a.Stage >= 0 && b.Wants(3) {
		if stage, shown = a.Stage+1, b.out(3); a.Lengths.Place != device.None || b.Out[3].DType != b.DType(0) {
			return device.Refuse("scores are shown as %v, or of different numbers of keys in batches", b.Out[3].DType)
		}
	}
	tiled := stage == 0 && a.isTiled(b.dev)
	b.Note(b.loops(a.turns(tiled)))
	var w words
	w.int(a.q.batch, a.q.heads, a.q.heads/a.k.heads, a.q.rows, a.k.rows, a.q.size, a.v.size)
	w.heads(a.q)
	w.heads(a.k)
	w.heads(a.v)
	mask, added, err := b.maskWords(a, &w)
	if err != nil {
		return err
	}
	if mask == maskBytes {
		variant += "_bytes"
	}
	if a.k.coded != a.v.coded {
		return device.Refuse("of keys and values, one has codes and the other floats")
	}
	if a.k.coded {
		variant += "_codes"
	}
	scale := 1 / math.Sqrt(float64(max(a.q.size, 1)))
	if a.Scale != nil {
		scale = float64(*a.Scale)
	}
	w.float(scale, float64(a.Cap))
	w.int(a.past)
	keys, there, intWords, err := b.keyWords(a, &w)
	if err != nil {
		return err
	}
	sink := device.Operand{}
	if a.Sink == lower.GivenSinks {
		if b.DType(a.SinkInput) != b.DType(0) {
			return device.Refuse("sinks are %v", b.DType(a.SinkInput))
		}
		sink = b.in(a.SinkInput)
	}
	n, parts, partial := a.q.batch*a.q.heads*a.q.rows, 1, device.Operand{}
	groups := n
	if tiled {
		groups = a.q.batch * a.q.heads * ((a.q.rows + tileQueries - 1) / tileQueries)
	}
	if stage == 0 {
		parts = b.parts(groups, a.k.rows, leastTerms, 4*n*(a.v.size+2))
	}
	y := b.out(0)
	if parts > 1 {
		y, partial = device.Operand{}, b.temp(parts*4*n*(a.v.size+2))
	}
	w.int(parts)
	constants := []uint32{
		mask, uint32(kit.Btoi(a.Causal)), uint32(a.Window), uint32(kit.Btoi(a.Lengths.Place != device.None)),
		uint32(keys), uint32(intWords), uint32(a.Sink), uint32(kit.Btoi(a.SideBySide)), uint32(kit.Btoi(parts > 1)),
		uint32(a.NaN), uint32(kit.Btoi(a.k.inWords())), uint32(kit.Btoi(a.v.inWords())),
	}
	operands := []device.Operand{a.q.at, a.k.at, a.v.at, added, there, a.Lengths, sink, y, partial}
	if tiled {
		err = b.dispatch("attention/tile", variant, attentionSide, b.flatGroups(groups*parts),
			append(constants, uint32(a.wide()), tileStep), w, operands...)
	} else {
		err = b.dispatch("attention/attention", variant, attentionSide, b.flatGroups(groups*parts),
			append(constants, uint32(stage)), w, append(operands, shown)...)
	}
	b.works(n * a.k.rows * (a.q.size + a.v.size))
	if err != nil || parts == 1 {
		return err
	}
	total := n * a.v.size
	w = words{}
	w.int(total, a.q.heads, a.q.rows, a.v.size, parts)
	return b.flat("attention/join", shortName(b.DType(0)), total,
		[]uint32{uint32(kit.Btoi(a.SideBySide)), uint32(a.NaN)}, w, partial, b.out(0))
}

// tileWaste is the most work of attention/tile, as a multiple of what scores and results need, by type
// of device; any for others. Devices in software gain nothing from reading keys for all queries of a
// tile at once.
var tileWaste = map[string]float64{"cpu": 1.5}

// isTiled reports whether attention/tile computes the results.
func (a *attending) isTiled(d *Device) bool {
	if a.q.rows < leastTiled || a.q.size == 0 || a.v.size == 0 {
		return false
	}
	whole := func(n, of int) float64 { return float64((n + of - 1) / of * of) }
	work := whole(a.q.rows, tileQueries) * whole(a.k.rows, attentionSide) *
		(whole(a.q.size, tileStep) + whole(a.v.size, attentionSide))
	most, ok := tileWaste[d.info.Type]
	return !ok || work <= most*float64(a.q.rows)*float64(a.k.rows)*float64(a.q.size+a.v.size)
}

// wide returns the pieces of attentionSide elements of a result.
func (a *attending) wide() int { return (a.v.size + attentionSide - 1) / attentionSide }

// turns returns the most loop iterations of an invocation.
func (a *attending) turns(tiled bool) int {
	blocks := (a.k.rows + attentionSide - 1) / attentionSide
	if !tiled {
		return blocks * (a.q.size + 2*attentionSide)
	}
	const each = 2*tileStep + tileQueries // turns of a step: loads, and products
	return blocks * ((a.q.size+tileStep-1)/tileStep + attentionSide/tileStep*a.wide() + 1) * each
}

// maskWords appends the strides of the added mask along the axes of scores, and its number of
// columns, -1 if it is stretched. It returns the mask's kind and operand.
func (b *binder) maskWords(a *attending, w *words) (uint32, device.Operand, error) {
	if !b.Has(a.Scores) {
		w.int(0, 0, 0, 0, -1)
		return maskNone, device.Operand{}, nil
	}
	s := b.Shape(a.Scores)
	cols := -1
	if n := len(s); n > 0 && s[n-1] != 1 {
		cols = s[n-1]
	}
	if cols > a.k.rows {
		return 0, device.Operand{}, device.Refuse("the mask has %d columns for %d keys", cols, a.k.rows)
	}
	for i := range 4 {
		w.int(stepAlong(s, i-4+len(s)))
	}
	w.int(cols)
	switch b.DType(a.Scores) {
	case tensor.Bool:
		return maskBytes, b.in(a.Scores), nil
	case b.DType(0):
		return maskAdded, b.in(a.Scores), nil
	}
	return 0, device.Operand{}, device.Refuse("masks are %v", b.DType(a.Scores))
}

// keyWords appends the columns of the integers that select keys, and the number that is added for
// the other keys. It returns the integers' form, their operand, and the words of each.
func (b *binder) keyWords(a *attending, w *words) (form attention.KeyMask, there device.Operand, words int, err error) {
	if !b.Has(a.Mask) {
		w.int(0)
		w.float(0)
		return attention.NoMask, there, 1, nil
	}
	words = b.intWords(b.DType(a.Mask))
	form, err = attention.KeyMaskOf(b.In[a.Mask], graph.Known(a.q.batch), graph.Known(a.q.rows))
	if err != nil {
		return form, there, words, err
	}
	s, total, fits := b.Shape(a.Mask), a.k.rows, true
	cols := s[len(s)-1]
	switch form {
	case attention.KeysThere:
		fits = cols == total || a.past > 0 && cols == total-a.past
	case attention.PairsThere:
		fits = cols == total
	case attention.SquareOf:
		fits = cols >= total && a.past+a.q.rows <= cols
	}
	if !fits || a.Lengths.Place != device.None {
		return form, there, words, device.Refuse("a mask %v for %d keys", s, total)
	}
	w.int(cols)
	w.float(float64(a.Filter))
	return form, b.in(a.Mask), words, nil
}

// intWords returns the 32-bit words of an integer of type d. It refuses types that shaders do not
// read as words.
func (b *binder) intWords(d tensor.DType) int {
	switch d {
	case tensor.I32:
		return 1
	case tensor.I64:
		return 2
	}
	b.Note(device.Refuse("the shader reads integers of 32 and 64 bits, not %v", d))
	return 0
}

// bindFlexAttention binds attention without graphs for scores.
func bindFlexAttention(o *attention.FlexAttention, b *binder) error {
	if o.InFloat64(b.DType(0)) {
		return device.Refuse("scores are computed in float64")
	}
	a := &attending{Attention: lower.NewAttention(lower.Heads{}, lower.Heads{}, lower.Heads{})}
	a.SideBySide = false
	for i, h := range []*headRows{&a.q, &a.k, &a.v} {
		s := b.Shape(i)
		*h = whole(b.in(i), s[0], s[1], s[2], s[3], s[2])
	}
	scale := o.ScaleFor(a.q.size)
	a.Scale = &scale
	return b.attend(a)
}

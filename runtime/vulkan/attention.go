package vulkan

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/attention"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var attentionRows = []row{
	rowFor("attention", bindAttention).withRoom(),
	rowFor("rotary", bindRotary),
}

// The most elements of a head, and the invocations of a group, of attention/attention.
const (
	mostHead      = 256
	attentionSide = 64
)

func bindAttention(o *attention.Attention, b *binder) error {
	d := b.DType(attention.Query)
	variant, err := floatName(d)
	if err != nil {
		return err
	}
	switch {
	case b.Has(attention.Lengths):
		return device.Refuse("the keys that are there are told by a value")
	case b.Wants(3) || o.InFloat64(b.In) || o.Window != 0:
		return device.Refuse("scores are a result, softmax is in float64, or queries see a window")
	case b.DType(attention.Key) != d || b.DType(attention.Value) != d:
		return device.Refuse("operands are %v, %v and %v", d, b.DType(attention.Key), b.DType(attention.Value))
	}
	if err := b.onlyRoom([]int{attention.PastKey, attention.PastValue}, []int{1, 2}); err != nil {
		return err
	}
	q, k, v, err := o.Operands(b.In)
	if err != nil {
		return err
	}
	var w words
	s, err := known(q.Batch, q.Heads, k.Heads, q.Rows, k.Rows, q.Size, v.Size)
	if err != nil {
		return err
	}
	batch, heads, kvHeads, rows, keys, size, width := s[0], s[1], s[2], s[3], s[4], s[5], s[6]
	if size > mostHead || width > mostHead || kvHeads == 0 || keys == 0 || b.dev.info.Caps.MaxInvocations < attentionSide {
		return device.Refuse("heads have %d and %d elements", size, width)
	}
	b.step.InPlace = nil
	past := 0
	if b.Has(attention.PastKey) {
		past = b.Shape(attention.PastKey)[2]
	}
	keyAt, k, err := b.grown(k, attention.Key, attention.PastKey, 1)
	if err != nil {
		return err
	}
	valueAt, v, err := b.grown(v, attention.Value, attention.PastValue, 2)
	if err != nil {
		return err
	}
	keys += past
	w.int(batch*heads*rows, heads, heads/kvHeads, rows, keys, size, width)
	for _, h := range []attention.HeadRows{q, k, v} {
		list, err := known(h.Start, h.PerBatch, h.PerHead, h.PerRow)
		if err != nil {
			return err
		}
		w.int(list...)
	}
	if len(b.Shape(0)) == 4 {
		w.int(heads*rows*width, rows*width, width)
	} else {
		w.int(rows*heads*width, width, heads*width)
	}
	mask, err := b.maskWords(&w, tensor.Shape{batch, heads, rows, keys})
	if err != nil {
		return err
	}
	if mask == maskBytes {
		variant += "_bytes"
	}
	scale := 1 / math.Sqrt(float64(size))
	if o.Scale != nil {
		scale = float64(*o.Scale)
	}
	w.float(scale, float64(o.Softcap))
	w.int(past)
	defer b.works(batch * heads * rows * keys * (size + width))
	return b.dispatch("attention/attention", variant, attentionSide, b.flatGroups(batch*heads*rows), []uint32{mask, uint32(op.Btoi(o.Causal))}, w,
		b.in(attention.Query), keyAt, valueAt, b.in(attention.Mask), b.out(0))
}

// grown joins the rows of an operand with those of the past in an input, in an output if
// the node has that, and returns where they lie. Without both it is the operand itself. The
// past stays where it is if it lies in the output's memory.
func (b *binder) grown(h attention.HeadRows, operand, past, output int) (device.Operand, attention.HeadRows, error) {
	if !b.Has(past) && !b.Wants(output) {
		return b.in(operand), h, nil
	}
	s, err := known(h.Batch, h.Heads, h.Rows, h.Size, h.Start, h.PerBatch, h.PerHead, h.PerRow)
	if err != nil {
		return device.Operand{}, h, err
	}
	kept, room, d := 0, 0, b.DType(operand)
	if b.Has(past) {
		if kept, room = b.Shape(past)[2], b.memory(past)[2]; b.DType(past) != d {
			return device.Operand{}, h, device.Refuse("the past is %v", b.DType(past))
		}
	}
	rows := kept + s[2]
	to := b.out(output)
	if b.Wants(output) {
		rows = b.outMemory(output)[2]
	} else {
		to = b.temp(d.Bytes(s[0] * s[1] * rows * s[3]))
	}
	place := func(n, start, perBatch, perHead, perRow, at int, x device.Operand) error {
		axes := []axisSteps{{s[0], perBatch, s[1] * rows * s[3]}, {s[1], perHead, rows * s[3]}, {n, perRow, s[3]}, {s[3], 1, 1}}
		if n == 0 {
			return nil
		}
		return b.strided(d, start, at, axes, x, to)
	}
	if err := place(kept, 0, s[1]*room*s[3], room*s[3], s[3], 0, b.in(past)); err != nil {
		return to, h, err
	}
	if kept > 0 && room == rows {
		b.staysWhole()
	}
	if err := place(s[2], s[4], s[5], s[6], s[7], kept*s[3], b.in(operand)); err != nil {
		return to, h, err
	}
	return to, attention.WholeHeads(graph.Dims{h.Batch, h.Heads, graph.Known(rows), h.Size}), nil
}

// The masks, as attention/attention numbers them.
const (
	maskNone = iota
	maskAdded
	maskBytes
)

// maskWords appends the steps of the mask along the axes of scores, and returns its kind.
func (b *binder) maskWords(w *words, scores tensor.Shape) (uint32, error) {
	if !b.Has(attention.Mask) {
		w.int(0, 0, 0, 0)
		return maskNone, nil
	}
	s := b.Shape(attention.Mask)
	if n := len(s); n > 0 && s[n-1] != 1 && s[n-1] != scores[3] {
		return 0, device.Refuse("the mask has %d columns for %d keys", s[n-1], scores[3])
	}
	for a := range scores {
		w.int(stepAlong(s, a-len(scores)+len(s)))
	}
	switch b.DType(attention.Mask) {
	case tensor.Bool:
		return maskBytes, nil
	case b.DType(attention.Query):
		return maskAdded, nil
	}
	return 0, device.Refuse("masks are %v", b.DType(attention.Mask))
}

// The rows of tables that tokens take, as attention/rotary numbers them.
const (
	positionsOfTokens = iota
	positionsGiven
	positionsFrom
)

func bindRotary(o *attention.RotaryEmbedding, b *binder) error {
	variant, err := floatName(b.DType(0))
	if err != nil {
		return err
	}
	h, pairs, err := o.Operands(b.In)
	if err != nil {
		return err
	}
	s, err := known(h.Batch, h.Heads, h.Rows, h.Size, pairs, h.Start, h.PerBatch, h.PerHead, h.PerRow)
	if err != nil {
		return err
	}
	index, positions := 1, positionsOfTokens
	if b.Has(o.Positions) {
		if positions = positionsGiven; attention.OffsetPosition(b.In[o.Positions], o.Offset) {
			positions = positionsFrom
		}
		switch b.DType(o.Positions) {
		case tensor.I64:
			index = 2
		case tensor.I32:
		default:
			return device.Refuse("positions are %v", b.DType(o.Positions))
		}
	}
	caches := b.Shape(o.Cos)
	n := s[0] * s[1] * s[2] * s[3]
	b.step.InPlace = nil
	var w words
	w.int(n, s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], caches[:len(caches)-1].Len())
	constants := []uint32{uint32(index), uint32(op.Btoi(o.Interleaved)), uint32(positions)}
	return b.flat("attention/rotary", variant, n, constants, w, b.in(0), b.in(o.Cos), b.in(o.Sin), b.in(o.Positions), b.out(0),
		b.fault("position %d is not one of the caches' rows"))
}

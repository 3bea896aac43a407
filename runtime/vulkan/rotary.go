package vulkan

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// How tokens select rows of the tables, as attention/rotary numbers them.
const (
	positionsOfTokens = iota
	positionsGiven
	positionsFrom
	positionsOfBatches
)

// rotation is a dispatch of attention/rotary, and its work for merge.
type rotation struct {
	x, out      headRows
	pairs       int
	interleaved bool
	cos, sin    device.Operand
	table       int // rows of cos and sin
	positions   int
	index       device.Operand
	indexWords  int
}

// given takes positions from an input.
func (r *rotation) given(b *binder, input int, offset bool) {
	r.index, r.indexWords, r.positions = b.in(input), b.intWords(b.DType(input)), positionsGiven
	if attention.OffsetPosition(b.In[input], offset) {
		r.positions = positionsFrom
	}
}

// rotate adds the dispatch.
func (b *binder) rotate(r *rotation) error {
	variant := b.floatName(b.DType(0))
	var w words
	w.int(r.x.len(), r.x.heads, r.x.rows, r.x.size, r.pairs)
	w.heads(r.x)
	w.heads(r.out)
	w.int(r.table)
	constants := []uint32{uint32(max(r.indexWords, 1)), uint32(kit.Btoi(r.interleaved)), uint32(r.positions)}
	defer b.does(r, "attention/rotary")
	return b.flat("attention/rotary", variant, r.x.len(), constants, w, r.x.at, r.cos, r.sin, r.index, r.out.at,
		b.fault("position %d is not one of the caches' rows"))
}

func bindRotary(o *attention.RotaryEmbedding, b *binder) error {
	h, pairs, err := o.Operands(b.In)
	if err != nil {
		return err
	}
	n, err := known(pairs)
	if err != nil {
		return err
	}
	r := &rotation{pairs: n[0], interleaved: o.Interleaved}
	if err := r.tables(b, o.Cos, o.Sin); err != nil {
		return err
	}
	if r.x, err = heads(b.in(0), b.DType(0), h); err != nil {
		return err
	}
	r.out = r.x
	r.out.at = b.out(0)
	if b.Has(o.Positions) {
		r.given(b, o.Positions, o.Offset)
	}
	return b.rotate(r)
}

// tables takes cosines and sines from inputs.
func (r *rotation) tables(b *binder, cos, sin int) error {
	if b.DType(cos) != b.DType(0) {
		return device.Refuse("cosines are %v", b.DType(cos))
	}
	s := b.Shape(cos)
	r.cos, r.sin, r.table = b.in(cos), b.in(sin), s[:len(s)-1].Len()
	return nil
}

// angles computes cosines and sines for positions 0 to positions - 1. Pair i turns by position /
// base^(i/pairs).
func (r *rotation) angles(d tensor.DType, positions int, base float64) {
	cosines, sines := make([]float64, positions*r.pairs), make([]float64, positions*r.pairs)
	for i := range cosines {
		at, pair := float64(i/r.pairs), float64(i%r.pairs)
		sines[i], cosines[i] = math.Sincos(at / math.Pow(base, pair/float64(r.pairs)))
	}
	list := func(x []float64) device.Operand {
		t := tensor.New(d, len(x))
		kit.PutDoubles(t, x)
		return device.Operand{Place: device.Const, Data: t.Bytes()}
	}
	r.cos, r.sin, r.table = list(cosines), list(sines), positions
}

// sideBySide returns scratch for the elements of x, with the heads of a row side by side.
func (b *binder) sideBySide(x headRows) headRows {
	width := x.heads * x.size
	return headRows{x.batch, x.heads, x.rows, x.size, 0, x.rows * width, x.size, width, b.temp(b.DType(0).Bytes(x.len())),
		false}
}

// rotatedAfter returns queries or keys, rotated as ProjectedAttention asks. Their positions follow
// the past.
func (b *binder) rotatedAfter(o *attention.ProjectedAttention, x headRows, past appending) (headRows, error) {
	if !o.Rotary || o.Pairs(x.size) == 0 {
		return x, nil
	}
	r := &rotation{x: x, out: b.sideBySide(x), pairs: o.Pairs(x.size), positions: positionsFrom,
		index: constant(int32(past.kept))}
	if past.lengths.Place != device.None {
		r.positions, r.index = positionsOfBatches, past.lengths
	}
	const base = 10000
	r.angles(b.DType(0), past.room, base)
	return r.out, b.rotate(r)
}

// rotatedHeads returns queries or keys, rotated by the positions in list. If the node has input
// positions, they come from there.
func (b *binder) rotatedHeads(
	x headRows, interleaved bool, cos, sin, positions int, list device.Operand,
) (headRows, error) {
	y := b.sideBySide(x)
	r := &rotation{x: x, out: y, pairs: b.Shape(cos)[1], interleaved: interleaved, positions: positionsOfBatches,
		index: list}
	if err := r.tables(b, cos, sin); err != nil {
		return y, err
	}
	if b.Has(positions) {
		r.given(b, positions, true)
	}
	return y, b.rotate(r)
}

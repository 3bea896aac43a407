package vulkan

import (
	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/attention"
)

// The rows of tables that tokens take, as attention/rotary numbers them.
const (
	positionsOfTokens = iota
	positionsGiven
	positionsFrom
	positionsOfBatches
)

// rotation is a dispatch of attention/rotary.
type rotation struct {
	x, out      headRows
	pairs       int
	interleaved bool
	cos, sin    int // inputs
	positions   int
	index       device.Operand
	indexWords  int
}

// given takes positions from an input.
func (r *rotation) given(b *binder, input int, offset bool) (err error) {
	r.index, r.positions = b.in(input), positionsGiven
	if attention.OffsetPosition(b.In[input], offset) {
		r.positions = positionsFrom
	}
	r.indexWords, err = intWords(b.DType(input))
	return err
}

// rotate adds the dispatch.
func (b *binder) rotate(r *rotation) error {
	variant, err := floatName(b.DType(0))
	if err != nil {
		return err
	}
	if b.DType(r.cos) != b.DType(0) {
		return device.Refuse("cosines are %v", b.DType(r.cos))
	}
	caches := b.Shape(r.cos)
	var w words
	w.int(r.x.len(), r.x.heads, r.x.rows, r.x.size, r.pairs)
	w.heads(r.x)
	w.heads(r.out)
	w.int(caches[:len(caches)-1].Len())
	b.step.InPlace = nil
	constants := []uint32{uint32(max(r.indexWords, 1)), uint32(op.Btoi(r.interleaved)), uint32(r.positions)}
	return b.flat("attention/rotary", variant, r.x.len(), constants, w, r.x.at, b.in(r.cos), b.in(r.sin), r.index, r.out.at,
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
	r := &rotation{pairs: n[0], interleaved: o.Interleaved, cos: o.Cos, sin: o.Sin}
	if r.x, err = heads(b.in(0), h); err != nil {
		return err
	}
	r.out = r.x
	r.out.at = b.out(0)
	if b.Has(o.Positions) {
		if err := r.given(b, o.Positions, o.Offset); err != nil {
			return err
		}
	}
	return b.rotate(r)
}

// rotatedHeads is queries or keys, rotated by the positions of lengths, or by those of an
// input that is there.
func (b *binder) rotatedHeads(x headRows, interleaved bool, cos, sin, positions int, list device.Operand) (headRows, error) {
	y := x
	y.start, y.perBatch, y.perHead, y.perRow = 0, x.rows*x.heads*x.size, x.size, x.heads*x.size
	y.at = b.temp(b.DType(0).Bytes(x.len()))
	r := &rotation{x: x, out: y, pairs: b.Shape(cos)[1], interleaved: interleaved, cos: cos, sin: sin, positions: positionsOfBatches, index: list}
	if b.Has(positions) {
		if err := r.given(b, positions, true); err != nil {
			return y, err
		}
	}
	return y, b.rotate(r)
}

package vulkan

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// rotation is a dispatch of attention/rotary, and its work for merge.
type rotation struct {
	x, out      headRows
	pairs       int
	interleaved bool
	cos, sin    device.Operand
	table       int // rows of cos and sin
	positions   lower.Positions
	index       device.Operand
	indexWords  int
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

// Rotate adds dispatches that normalise, and then those that rotate.
func (b *binder) Rotate(list ...*lower.Rotation) error {
	heads := make([]headRows, len(list))
	for i, l := range list {
		var err error
		heads[i] = b.numbers(*l.X)
		if l.Norm.Place == device.None {
			continue
		}
		if heads[i], err = b.normalisedHeads(heads[i], l.Norm.Operand, float64(l.Epsilon)); err != nil {
			return err
		}
	}
	for i, l := range list {
		x := &heads[i]
		if l.Cos.Place != device.None || l.Base != 0 {
			if err := b.rotated(x, l); err != nil {
				return err
			}
		}
		*l.X = x.lowered(l.X.DType)
	}
	return nil
}

// rotated rotates the rows of x.
func (b *binder) rotated(x *headRows, l *lower.Rotation) error {
	n := b.known(l.Pairs, l.Past, l.Room)
	r := &rotation{x: *x, out: *x, pairs: n[0], interleaved: l.Interleaved, cos: l.Cos.Operand, sin: l.Sin.Operand,
		positions: l.Positions, index: l.Index.Operand}
	switch {
	case l.Base != 0:
		r.angles(l.X.DType, n[2], l.Base)
		if r.index.Place == device.None {
			r.positions, r.index = lower.PositionsFrom, constant(int32(n[1]))
		}
	case l.Cos.DType != l.X.DType:
		return device.Refuse("cosines are %v", l.Cos.DType)
	default:
		r.table = b.known(l.Cos.Dims[:len(l.Cos.Dims)-1].Len())[0]
	}
	if r.out.at = l.Out; l.Out.Place == device.None {
		r.out = b.sideBySide(*x)
	}
	if l.Positions == lower.PositionsGiven || l.Positions == lower.PositionsFrom {
		r.indexWords = b.intWords(l.Index.DType)
	}
	*x = r.out
	return b.rotate(r)
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

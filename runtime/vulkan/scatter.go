package vulkan

import (
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// scatterReductions are the numbers that scatter/reduce has for reductions.
var scatterReductions = map[string]uint32{"add": 0, "mul": 1, "max": 2, "min": 3}

// scatterLane is the most updates that one invocation joins.
const scatterLane = 1 << 14

// bindScatter copies the data and then writes the updates, or joins them with it.
func bindScatter(o *array.Scatter, b *binder) error {
	var t *targets
	var err error
	updates := b.Shape(2)
	s := kit.AxisView{Outer: 1}
	if o.Tuples {
		tuples := b.Shape(1)
		t, err = b.tuplesOf(updates.Len(), 0)
		s.N = tuples[:len(tuples)-1].Len()
		s.Inner = updates.Len() / max(s.N, 1)
	} else if t, err = b.elementsOf(o.Axis); err == nil {
		var axis int
		axis, err = op.NormAxis(o.Axis, len(updates))
		s = kit.ViewAlong(updates, axis)
	}
	if err != nil {
		return err
	}
	n := b.Shape(0).Len()
	if err := b.copyAll(b.DType(0), n, b.in(0), b.out(0)); err != nil {
		return err
	}
	if o.Reduce == "none" {
		return b.scatterLast(t, updates.Len(), s.Inner, o.Tuples)
	}
	return b.scatterJoined(t, s, scatterReductions[o.Reduce])
}

// scatterLast adds dispatches that write the last update of each block. With tuples a block has
// inner elements, otherwise one.
func (b *binder) scatterLast(t *targets, n, inner int, tuples bool) error {
	variant := b.widthName(b.DType(0))
	block := 1
	if tuples {
		block = inner
	}
	blocks := b.Shape(0).Len() / block
	winners := b.temp(4 * blocks)
	if err := b.clear(winners, tensor.I32, blocks); err != nil {
		return err
	}
	if err := b.flat("scatter/note", "index", n/block, t.constants, t.words, winners, b.in(1), t.fault); err != nil {
		return err
	}
	return b.flat("scatter/write", variant, n, t.constants, t.words, b.in(2), b.in(1), winners, b.out(0), t.fault)
}

// scatterJoined adds a dispatch that joins updates with the output, in their order.
func (b *binder) scatterJoined(t *targets, s kit.AxisView, reduction uint32) error {
	variant := b.typeName(b.DType(0))
	if s.N > scatterLane {
		return device.Refuse("one invocation would join %d updates", s.N)
	}
	w := append(words{}, t.words...)
	w.int(s.N, s.Inner)
	constants := append([]uint32{}, t.constants...)
	return b.flat("scatter/reduce", variant, s.Outer*s.Inner, append(constants, reduction), w, b.in(2), b.in(1),
		b.out(0), t.fault)
}

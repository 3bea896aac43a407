package vulkan

import (
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
)

// topScans is the most elements of a lane that one workgroup reads.
const topScans = 1 << 24

// top is searches for the k best elements of lanes.
type top struct {
	view     kit.AxisView
	k        int
	variant  string
	kind     uint32
	smallest bool
}

func bindTopK(o *arith.TopK, b *binder) error {
	variant, kind := b.ordered(b.DType(0))
	s, err := o.View(b.Shape(0))
	if err != nil {
		return err
	}
	out := b.OutShape(0)
	if !b.Wants(0) {
		out = b.OutShape(1)
	}
	lanes := s.Outer * s.Inner
	t := &top{s, out.Len() / lanes, variant, kind, o.Smallest}
	pieces, piece := t.pieces()
	if t.k*piece > topScans || pieces > 1 && t.k*t.k*pieces > topScans {
		return device.Refuse("a lane of %d elements would be read %d times", s.N, t.k)
	}
	x, from := b.in(0), device.Operand{}
	if pieces > 1 {
		n := pieces * t.k
		values, places := b.temp(b.DType(0).Bytes(n*lanes)), b.temp(8*n*lanes)
		if err := b.top(t, pieces, piece, x, from, values, places); err != nil {
			return err
		}
		t.view.N, x, from = n, values, places
	}
	return b.top(t, 1, t.view.N, x, from, b.out(0), b.out(1))
}

// Lanes are searched in pieces if they have at least topLane elements and there are at most
// topLanes of them. A piece has at least topPiece elements.
const (
	topLane  = 8192
	topLanes = 64
	topPiece = 2048
)

// pieces returns how many workgroups search a lane, and how many elements each has.
func (t *top) pieces() (pieces, piece int) {
	piece = max(topPiece, 4*t.k)
	if t.view.N < max(topLane, 2*piece) || t.view.Outer*t.view.Inner > topLanes {
		return 1, t.view.N
	}
	return (t.view.N + piece - 1) / piece, piece
}

// top adds a dispatch that searches pieces of lanes. If x is the result of another search, from has
// its places.
func (b *binder) top(t *top, pieces, piece int, x, from, values, places device.Operand) error {
	constants := words{t.kind}
	constants.bool(t.smallest)
	constants.int(kit.Btoi(values.Place != device.None) | kit.Btoi(places.Place != device.None)<<1)
	constants.bool(from.Place != device.None)
	lanes := t.view.Outer * t.view.Inner
	var w words
	w.int(lanes, t.view.N, t.view.Inner, t.k, pieces, piece)
	return b.lanes("reduce/top", t.variant, lanes*pieces, piece, constants, w, x, from, values, places)
}

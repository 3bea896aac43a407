package vulkan

import (
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
)

// Reduce adds a dispatch.
func (b *binder) Reduce(r *lower.Reduction) error {
	variant := b.typeName(r.From)
	if r.From.IsInteger() && (r.Logs || !r.Divisor.Is(1) || r.Root != arith.RootNone) {
		return device.Refuse("%v elements are computed in Go", r.From)
	}
	if r.From != r.To {
		to := b.typeName(r.To)
		variant += "_" + to
	}
	n := b.known(r.Outer, r.N, r.Inner, r.Divisor)
	s := kit.AxisView{Outer: n[0], N: n[1], Inner: n[2]}
	if r.Logs {
		return b.along("reduce/log_sum", variant, s, nil, r.X, r.Y)
	}
	lanes := s.Outer * s.Inner
	var w words
	w.int(lanes, s.N, s.Inner)
	w.float(float64(n[3]))
	return b.lanes("reduce/reduce", variant, lanes, s.N, []uint32{uint32(r.First), uint32(r.Root)}, w, r.X, r.Y)
}

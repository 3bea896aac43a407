package vulkan

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
)

// oneType returns the variant. It refuses inputs and outputs of other types than input 0 has.
func (b *binder) oneType() string {
	for i := range b.Out {
		if b.Wants(i) && b.Out[i].DType != b.DType(0) {
			b.Note(device.Refuse("operands are %v and results %v", b.DType(0), b.Out[i].DType))
		}
	}
	return b.sameTypes()
}

func bindLinearAttention(o *attention.LinearAttention, b *binder) error {
	variant := b.oneType()
	k, v := b.Shape(1), b.Shape(2)
	dk, dv := k[2]/o.KVHeads, v[2]/o.KVHeads
	scale := float64(o.Scale)
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(max(dk, 1)))
	}
	cols := func(i int) int {
		if !b.Has(i) {
			return 0
		}
		return b.Shape(i)[2]
	}
	var w words
	w.int(k[0], k[1], o.Heads, o.KVHeads, dk, dv, cols(4), cols(5), max(o.Window, 1))
	w.float(scale)
	n := k[0] * o.KVHeads * dv
	b.Note(b.loops(k[1] * dk * (2 + max(1, o.Heads/o.KVHeads))))
	defer b.works(4 * n * dk * k[1])
	constants := []uint32{uint32(kit.Btoi(b.Has(5))), uint32(kit.Btoi(b.Has(3))), uint32(kit.Btoi(b.Wants(1)))}
	return b.flat("attention/linear", variant, n, constants, w,
		b.in(0), b.in(1), b.in(2), b.in(3), b.in(4), b.in(5), b.out(0), b.out(1), b.temp(4*n*dk))
}

func bindCausalConv(o *attention.CausalConv, b *binder) error {
	variant := b.oneType()
	x, taps := b.Shape(0), b.Shape(1)[2]
	before := (taps - 1) * o.Dilation
	perRow := x[2]
	if b.Wants(1) {
		perRow += before
	}
	n := x[0] * x[1] * perRow
	var w words
	w.int(n, x[1], x[2], before, taps, o.Dilation, perRow)
	defer b.works(x.Len() * taps)
	constants := []uint32{uint32(kit.Btoi(o.SiLU)), uint32(kit.Btoi(b.Has(2))), uint32(kit.Btoi(b.Has(3)))}
	return b.flat("attention/causal", variant, n, constants, w, b.in(0), b.in(1), b.in(2), b.in(3), b.out(0), b.out(1))
}

// bindTensorScatter copies the cache and then writes rows over it.
func bindTensorScatter(o *attention.TensorScatter, b *binder) error {
	variant := b.widthName(b.DType(0))
	cache := b.Shape(0)
	axis, err := o.Axis(len(cache))
	if err != nil {
		return err
	}
	words32 := 0
	if b.Has(2) {
		words32 = b.intWords(b.DType(2))
	}
	if err := b.copyAll(b.DType(0), cache.Len(), b.in(0), b.out(0)); err != nil {
		return err
	}
	n := b.Shape(1).Len()
	var w words
	w.int(n, cache[1:axis].Len(), b.Shape(1)[axis], cache[axis], cache[axis+1:].Len())
	constants := []uint32{uint32(kit.Btoi(o.Circular)), uint32(words32)}
	return b.flat("scatter/rows", variant, n, constants, w, b.in(1), b.in(2), b.out(0),
		b.fault("the rows of batch %d do not fit from its index on"))
}

package vulkan

import (
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/signal"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var generateRows = []row{
	rowFor("range", func(_ array.Range, b *binder) error { return bindRange(b) }),
	rowFor("window", bindWindow),
	rowFor("window", bindMelWeights),
}

// mostNarrow is the most elements of 16 bits that a range may have. The shader multiplies by the
// 12- and 13-bit parts of an element's place.
const mostNarrow = 1 << 25

// bindRange computes a range. A missing delta is 1.
func bindRange(b *binder) error {
	d, n := b.DType(0), b.OutShape(0).Len()
	if !op.IsIndex(d) && d != tensor.I16 {
		b.floatName(d)
	}
	if d.Bits() == 16 && d.IsFloat() && n > mostNarrow {
		return device.Refuse("a range of %d elements of type %v; the device counts to %d", n, d, mostNarrow)
	}
	delta := b.scalar(2)
	if !b.Has(2) {
		delta = elementOf(kit.One(d))
	}
	return b.flat("generate/range", shortName(d), n, nil, words{uint32(n)}, b.scalar(0), delta, b.out(0))
}

// scalar returns the element of input i as an operand. If it is constant, the step brings it.
func (b *binder) scalar(i int) device.Operand {
	if t := b.Const(i); t != nil {
		return elementOf(t)
	}
	return b.in(i)
}

// elementOf returns the element of a tensor as an operand that the step brings with it.
func elementOf(t *tensor.Tensor) device.Operand {
	return device.Operand{Place: device.Const, Data: t.Aligned().Bytes()}
}

// bindWindow takes the size of the window from the output's extents.
func bindWindow(o *signal.CosineWindow, b *binder) error {
	variant := b.floatName(b.Out[0].DType)
	n := b.OutShape(0).Len()
	terms, period := o.Terms(n)
	var squares [2]float64
	total := terms[0]
	for k, t := range terms[1:] {
		total += t
		squares[k] = 2 * t
	}
	w := words{uint32(n), uint32(period)}
	w.float(total, squares[0], squares[1])
	return b.flat("generate/window", variant, n, nil, w, b.out(0))
}

// bindMelWeights computes the corners of the triangles on the host: two more than bands.
func bindMelWeights(_ *signal.MelWeights, b *binder) error {
	variant := b.floatName(b.Out[0].DType)
	var whole [3]int
	for i := range whole {
		n, err := b.number(i)
		if err != nil {
			return err
		}
		whole[i] = *n
	}
	var edges [2]float64
	for i := range edges {
		t := b.Const(3 + i)
		if t == nil {
			return &device.NeedValue{Input: 3 + i}
		}
		edge, err := kit.ScalarNumber(t, "an edge")
		if err != nil {
			return err
		}
		edges[i] = edge
	}
	bands, length, rate := whole[0], whole[1], whole[2]
	if rate < 1 {
		return device.Refuse("a rate of %d", rate)
	}
	bins, err := signal.MelCorners(bands, length, rate, edges)
	if err != nil {
		return err
	}
	n, corners := b.OutShape(0).Len(), kit.Convert(bins, func(bin int) int32 { return int32(bin) })
	return b.flat("generate/triangles", variant, n, nil, words{uint32(n), uint32(bands)}, constant(corners...), b.out(0))
}

package vulkan

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var randomRows = []row{
	rowFor("random", bindRandomFill),
	rowFor("random", bindBernoulli),
	rowFor("random", bindMultinomial),
}

// double appends the bits of a float64.
func (w *words) double(f float64) {
	bits := math.Float64bits(f)
	*w = append(*w, uint32(bits), uint32(bits>>32))
}

func bindRandomFill(o *array.RandomFill, b *binder) error {
	variant := b.floatName(b.Out[0].DType)
	n := b.OutShape(0).Len()
	w := words{uint32(n)}
	w.double(o.A)
	w.double(o.B)
	constants := words{}
	constants.bool(o.Normal)
	return b.flat("random/fill", variant, n, constants, w, b.key(o.RandomSource), b.out(0))
}

// bindBernoulli draws integers and converts them to the output's type.
func bindBernoulli(o *array.Bernoulli, b *binder) error {
	variant := b.floatName(b.DType(0))
	d, n := b.Out[0].DType, b.OutShape(0).Len()
	drawn := b.out(0)
	if d != tensor.U32 {
		drawn = b.temp(4 * n)
	}
	if err := b.flat("random/bernoulli", variant, n, nil, words{uint32(n)}, b.in(0), b.key(o.RandomSource),
		drawn); err != nil || d == tensor.U32 {
		return err
	}
	return b.convert(tensor.U32, d, n, drawn, b.out(0))
}

// bindMultinomial computes running sums of the chances in a row, and looks up each sample among the
// sums.
func bindMultinomial(o *array.Multinomial, b *binder) error {
	variant := b.floatName(b.DType(0))
	rows, n, total := b.Shape(0)[0], b.Shape(0)[1], b.OutShape(0).Len()
	b.Note(b.loops(2 * ((n + 15) / 16)))
	sums := b.temp(tensor.F64.Bytes(rows * n))
	var w words
	w.int(rows, n)
	if err := b.lanes("random/chances", variant, rows, n, nil, w, b.in(0), sums,
		b.fault("row %d has no outcome to draw")); err != nil {
		return err
	}
	w = words{}
	w.int(total, n, total/rows)
	return b.flat("random/outcome", "f64", total, []uint32{b.outWords(0)}, w, sums, b.key(o.RandomSource), b.out(0))
}

// outWords returns the 32-bit words of an integer of output i.
func (b *binder) outWords(i int) uint32 { return uint32(b.Out[i].DType.Bits() / 32) }

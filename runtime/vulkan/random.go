package vulkan

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/op/array"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var randomRows = []row{
	rowFor("random", bindRandomFill),
	rowFor("random", bindBernoulli),
	rowFor("random", func(*array.Multinomial, *binder) error {
		return device.Refuse("outcomes are drawn from sums in float64, each of the one before")
	}),
}

// keyOf returns the key of a node's numbers.
func keyOf(s array.RandomSource) (words, error) {
	if !s.Seeded {
		return nil, device.Refuse("the node has no seed, and its numbers are new in every run")
	}
	return words{uint32(s.Seed), uint32(s.Seed >> 32)}, nil
}

// double appends the bits of a float64.
func (w *words) double(f float64) {
	bits := math.Float64bits(f)
	*w = append(*w, uint32(bits), uint32(bits>>32))
}

func bindRandomFill(o *array.RandomFill, b *binder) error {
	variant, err := floatName(b.Out[0].DType)
	if err != nil {
		return err
	}
	key, err := keyOf(o.RandomSource)
	if err != nil {
		return err
	}
	n := b.OutShape(0).Len()
	w := append(words{uint32(n)}, key...)
	w.double(o.A)
	w.double(o.B)
	constants := words{}
	constants.bool(o.Normal)
	return b.flat("random/fill", variant, n, constants, w, b.out(0))
}

// bindBernoulli draws integers and turns them into the output's type.
func bindBernoulli(o *array.Bernoulli, b *binder) error {
	variant, err := floatName(b.DType(0))
	if err != nil {
		return err
	}
	key, err := keyOf(o.RandomSource)
	if err != nil {
		return err
	}
	d, n := b.Out[0].DType, b.OutShape(0).Len()
	drawn := b.out(0)
	if d != tensor.U32 {
		drawn = b.temp(4 * n)
	}
	b.step.InPlace = nil
	if err := b.flat("random/bernoulli", variant, n, nil, append(words{uint32(n)}, key...), b.in(0), drawn); err != nil || d == tensor.U32 {
		return err
	}
	return b.convert(tensor.U32, d, n, drawn, b.out(0))
}

package vulkan

import (
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/shaders"
)

// optional returns input i and its number of elements.
func (b *binder) optional(i int) (device.Operand, int) {
	if !b.Has(i) {
		return device.Operand{}, 0
	}
	return b.in(i), b.Shape(i).Len()
}

// halfScales reports whether the scales among inputs are float16. It refuses scales of several
// types.
func (b *binder) halfScales(list ...int) (uint32, error) {
	d := tensor.Invalid
	for _, i := range list {
		if !b.Has(i) {
			continue
		}
		if d != tensor.Invalid && d != b.DType(i) || b.DType(i) != tensor.F32 && b.DType(i) != tensor.F16 {
			return 0, device.Refuse("scales are %v and %v", d, b.DType(i))
		}
		d = b.DType(i)
	}
	return uint32(kit.Btoi(d == tensor.F16)), nil
}

func signed(d tensor.DType) uint32 { return uint32(kit.Btoi(d == tensor.I8)) }

// ByteProduct adds a dispatch. It uses cooperative matrices or an instruction for dot products if the
// device has them.
func (b *binder) ByteProduct(_ string, p *lower.ByteProduct) error {
	half, err := b.halfScales(p.AScale, p.BScale, p.YScale)
	if err != nil {
		return err
	}
	variant := map[tensor.DType]string{tensor.I32: "integers", tensor.F32: "floats", tensor.U8: "bytes",
		tensor.I8: "bytes"}[p.Result]
	if variant == "" {
		return device.Refuse("results are %v", p.Result)
	}
	g := productFrom(p.Product)
	if len(g.batch) > batchAxes {
		return device.Refuse("the batch has %d axes", len(g.batch))
	}
	biasStep := b.known(p.BiasRow, p.BiasCol)
	a, aType := b.in(p.A), b.DType(p.A)
	aScale, aScales := b.optional(p.AScale)
	aZero, aZeros := b.optional(p.AZero)
	if p.Floats {
		n := b.Shape(p.A).Len()
		a, aScale, aZero, aScales, aZeros, aType = b.temp(n), b.temp(4), b.temp(1), 1, 1, tensor.U8
		if err := b.quantizeDynamic(n, a, aScale, aZero); err != nil {
			return err
		}
	}
	bScale, bScales := b.optional(p.BScale)
	bZero, bZeros := b.optional(p.BZero)
	codes, err := b.turned(p, g)
	if err != nil {
		return err
	}
	yScale, scaled := b.optional(p.YScale)
	yZero, _ := b.optional(p.YZero)
	bias, biased := b.optional(p.Bias)
	batch := []batchAxis{{1, 0, 0}, {1, 0, 0}, {1, 0, 0}}
	copy(batch[batchAxes-len(g.batch):], g.batch)
	z := batch[0].n * batch[1].n * batch[2].n
	var w words
	w.int(g.m, g.n, g.k, g.aRow, g.aCol, g.bRow, g.bCol, batch[1].n, batch[2].n)
	w.int(batch[0].a, batch[1].a, batch[2].a, batch[0].b, batch[1].b, batch[2].b)
	w.int(aScales, aZeros, bScales, bZeros, scaled)
	w.bool(biased > 0)
	w.int(biasStep...)
	w.bool(p.Add.Place != device.None)
	w.float(p.Alpha)
	if err := b.loops(6 * g.k); err != nil {
		return err
	}
	defer b.works(g.m * g.n * g.k * z)
	operands := []device.Operand{a, aScale, aZero, codes, bScale, bZero, yScale, yZero, bias, p.Add, p.Y}
	signs := []uint32{signed(aType), signed(b.DType(p.B)), signed(p.Result), half}
	left := sideOf(wordBytes, g.m, g.k, g.aRow, g.aCol, batch[0].a, batch[1].a, batch[2].a)
	right := sideOf(wordBytes, g.n, g.k, g.bCol, g.bRow, batch[0].b, batch[1].b, batch[2].b)
	size := tiled{g.m, g.n, g.k, z, 4}
	if t := b.dev.matrixTiling("quant/matrix", "i8", size, mostShares, left, right); t != nil {
		return b.codesByMatrices(&codeProduct{p, g, size, aType, left, right}, t, variant, signs, w, operands)
	}
	if b.dev.features&shaders.IntDot != 0 {
		variant += "_dot"
	}
	n := (g.n + 3) / 4 * g.m * z
	return b.dispatch("quant/product", variant, groupSize, b.flatGroups((n+groupSize-1)/groupSize), signs, w, operands...)
}

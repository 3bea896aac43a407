package vulkan

import (
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// rulesOf returns how numbers are rounded to a type of floats of 4 or 8 bits. It reports false for
// other types.
func rulesOf(d tensor.DType) (packed.Rules, bool) {
	if f := packed.Float8Of(d.String()); f != nil {
		return f.Rules(), true
	}
	return packed.RulesE2M1, d == tensor.F4E2M1
}

// unscaled returns the words of quant/narrow and quant/unpack for n elements without scales.
func unscaled(n int) (w words) {
	w.int(n, 1, 1, 1, 0, 0, 0, 0)
	return w
}

// narrow adds a dispatch that rounds numbers of type from, scaled or not, to floats of 4 or 8 bits.
// An invocation writes one 32-bit word.
func (b *binder) narrow(from tensor.DType, saturate, scaled bool, precision uint32, w words) error {
	variant := b.scaleVariant(from)
	d := b.Out[0].DType
	rules, ok := rulesOf(d)
	if !ok {
		return device.Refuse("no shader rounds to %v elements", d)
	}
	over := rules.Over
	if saturate {
		over = rules.Max
	}
	constants := words{}
	constants.int(d.Bits(), rules.Fraction, rules.Bias, int(rules.Max), int(over), int(rules.NaN))
	constants.bool(rules.OneZero, scaled)
	constants = append(constants, precision)
	scale, zero, table := device.Operand{}, device.Operand{}, device.Operand{}
	if scaled {
		scale, zero, table = b.in(1), b.in(2), device.Operand{Place: device.Const, Data: quant.Numbers(d)}
	}
	n, each := b.OutShape(0).Len(), 32/d.Bits()
	return b.flat("quant/narrow", variant, (n+each-1)/each, constants, w, b.in(0), scale, zero, table, b.out(0))
}

// widen adds a dispatch that converts elements of fewer bits to floats.
func (b *binder) widen() error {
	variant := b.scaleVariant(b.Out[0].DType)
	codes := b.codesOf(b.DType(0))
	n := b.OutShape(0).Len()
	return b.flat("quant/unpack", variant, n, append(codes.constants, 0), unscaled(n), b.in(0), device.Operand{},
		device.Operand{}, codes.table, b.out(0))
}

// lowTypes are the types that hold low bits of integers.
var lowTypes = map[tensor.DType]bool{tensor.I2: true, tensor.U2: true, tensor.I4: true, tensor.U4: true}

// low adds dispatches that keep the low bits of elements, by way of integers of 32 bits.
func (b *binder) low(from tensor.DType) error {
	bits, n, whole := b.Out[0].DType.Bits(), b.OutShape(0).Len(), b.in(0)
	if from != tensor.I32 {
		whole = b.temp(4 * n)
		if err := b.convert(from, tensor.I32, n, b.in(0), whole); err != nil {
			return err
		}
	}
	each := 32 / bits
	return b.flat("quant/low", "integers", (n+each-1)/each, []uint32{uint32(bits)}, words{uint32(n)}, whole, b.out(0))
}

// codes is how quant/unpack decodes elements.
type codes struct {
	constants words // bits, kind, and whether there is a table
	table     device.Operand
}

// codesOf returns how codes of type d are decoded: integers, or floats of 4 or 8 bits.
func (b *binder) codesOf(d tensor.DType) codes {
	if _, ok := rulesOf(d); ok {
		return codes{words{uint32(d.Bits()), 0, 1}, device.Operand{Place: device.Const, Data: quant.Numbers(d)}}
	}
	return codes{words{uint32(d.Bits()), b.packedKind(d), 0}, device.Operand{}}
}

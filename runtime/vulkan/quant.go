package vulkan

import (
	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var quantRows = []row{
	rowFor("quantize", bindQuantizeLinear),
	rowFor("dequantize", bindDequantizeLinear),
	rowFor("codes", bindNBits),
	rowFor("codes", bindBnb4),
	rowFor("dynamic", bindDynamicQuantizeLinear),
	rowFor("pair", bindQLinearPair),
}

// precisions are the numbers that include/scale.glsl has for types.
var precisions = map[tensor.DType]uint32{tensor.F32: 0, tensor.F16: 1, tensor.BF16: 2}

// grid adds a dispatch on codes of type d. Input 1 has their scales.
func (b *binder) grid(shader string, g quant.Granularity, d tensor.DType, constants []uint32) error {
	if d == tensor.Bool || b.Has(2) && b.DType(2) != d {
		return device.Refuse("codes are %v and zero points %v", d, b.DType(2))
	}
	variant := b.typeName(d)
	scales := b.scaleVariant(b.DType(1))
	if scales != "f32" {
		variant += "_" + scales
	}
	n := b.OutShape(0).Len()
	w := b.gridWords(g, n)
	return b.flat(shader, variant, n, constants, w, b.in(0), b.in(1), b.in(2), b.out(0))
}

func bindQuantizeLinear(o *quant.QuantizeLinear, b *binder) error {
	d := b.Out[0].DType
	if d.IsInteger() && d.Bits() < 8 {
		return b.pack(o, d)
	}
	if _, ok := rulesOf(d); ok {
		if b.DType(0) != b.DType(1) || b.Has(2) && b.DType(2) != d {
			return device.Refuse("values are %v, scales %v and zero points %v", b.DType(0), b.DType(1), b.DType(2))
		}
		w := b.gridWords(o.Granularity, b.OutShape(0).Len())
		return b.narrow(b.DType(0), o.Saturate, true, precisions[o.Precision(b.DType(1))], w)
	}
	if !d.IsInteger() || d.Bits() > 16 || b.DType(0) != b.DType(1) {
		return device.Refuse("codes are %v, values %v and scales %v", d, b.DType(0), b.DType(1))
	}
	low, high := elements.Bounds[int](d)
	return b.grid("quant/quantize", o.Granularity, d,
		[]uint32{uint32(low), uint32(high), precisions[o.Precision(b.DType(1))]})
}

func bindDequantizeLinear(o *quant.DequantizeLinear, b *binder) error {
	if b.Out[0].DType != b.DType(1) {
		return device.Refuse("scales are %v and results %v", b.DType(1), b.Out[0].DType)
	}
	if d := b.DType(0); d.Bits() < 8 || !d.IsInteger() {
		return b.unpack(o.Granularity, d)
	}
	return b.grid("quant/dequantize", o.Granularity, b.DType(0), nil)
}

// gridWords returns the words of a grid of scales for n elements, as grid passes them.
func (b *binder) gridWords(g quant.Granularity, n int) (w words) {
	at, err := g.Grid(b.In[0].Dims, b.In[1].Dims)
	b.Note(err)
	s := b.known(at.Axis, at.Inner, at.Block, at.PerOuter, at.PerAxis, at.PerInner)
	w.int(n)
	w.int(s...)
	w.bool(b.Has(2))
	return w
}

// scaleVariant returns the variant for scales of type d.
func (b *binder) scaleVariant(d tensor.DType) string {
	if !floats[d] {
		b.Note(device.Refuse("scales are %v", d))
	}
	return b.typeName(d)
}

// packedKind returns the kind of integers of type d, as packed.glsl numbers them. Shaders read
// elements that are whole in a word of 32 bits.
func (b *binder) packedKind(d tensor.DType) uint32 {
	switch {
	case d == tensor.T1:
		return 2
	case d.IsInteger() && d.Bits() <= 16 && 32%d.Bits() == 0:
		return uint32(kit.Btoi(d.Kind() == tensor.Signed))
	}
	b.Note(device.Refuse("elements are %v", d))
	return 0
}

// unpack decodes codes of fewer than 8 bits, and codes that are floats.
func (b *binder) unpack(g quant.Granularity, d tensor.DType) error {
	variant := b.scaleVariant(b.DType(1))
	if b.Has(2) && b.DType(2) != d || d.Bits() > 8 {
		return device.Refuse("codes are %v and zero points %v", d, b.DType(2))
	}
	codes := b.codesOf(d)
	n := b.OutShape(0).Len()
	w := b.gridWords(g, n)
	return b.flat("quant/unpack", variant, n, append(codes.constants, 1), w, b.in(0), b.in(1), b.in(2), codes.table,
		b.out(0))
}

// pack encodes codes of fewer than 8 bits.
func (b *binder) pack(o *quant.QuantizeLinear, d tensor.DType) error {
	variant := b.scaleVariant(b.DType(1))
	if b.DType(0) != b.DType(1) || b.Has(2) && b.DType(2) != d {
		return device.Refuse("values are %v, scales %v and zero points %v", b.DType(0), b.DType(1), b.DType(2))
	}
	n, bits := b.OutShape(0).Len(), d.Bits()
	w := b.gridWords(o.Granularity, n)
	least, most := 0, 1<<bits-1
	if d.Kind() == tensor.Signed {
		least, most = -1<<(bits-1), 1<<(bits-1)-1
	}
	each := 32 / bits
	return b.flat("quant/pack", variant, (n+each-1)/each, []uint32{uint32(least), uint32(most), uint32(bits),
		precisions[o.Precision(b.DType(1))]}, w, b.in(0), b.in(1), b.in(2), b.out(0))
}

// bindNBits multiplies by weights of few bits, read as they are stored.
func bindNBits(o *quant.MatMulNBits, b *binder) error {
	d := b.DType(0)
	variant := b.floatName(d)
	switch {
	case b.Has(4):
		return device.Refuse("columns are spread over blocks")
	case b.DType(2) != d || b.Has(5) && b.DType(5) != d || b.Out[0].DType != d:
		return device.Refuse("rows are %v and scales %v", d, b.DType(2))
	case b.Has(3) && b.DType(3) != tensor.U8:
		return device.Refuse("zero points are %v", b.DType(3))
	case o.RowBytes()%4 != 0:
		return device.Refuse("rows of %d bytes", o.RowBytes())
	}
	m, zeros := b.Shape(0).Len()/o.K, 0
	if b.Has(3) {
		zeros = (o.Blocks()*o.Bits + 7) / 8
	}
	var w words
	w.int(m, o.N, o.K, o.Block, o.Blocks(), o.RowBytes()/4, zeros)
	w.bool(b.Has(5))
	defer b.works(m * o.N * o.K)
	p := &fewBits{m: m, n: o.N, k: o.K, shader: "quant/nbits", variant: variant, isWhole: o.Block%run == 0,
		constants: []uint32{uint32(o.Bits)}, words: w,
		operands: []device.Operand{b.in(0), b.in(1), b.in(2), b.in(3), b.in(5), b.out(0)}}
	if done, err := p.byMatrices(b, b.accuracy.Rounds(o.Rounds)); done {
		return err
	}
	if done, err := p.byTiles(b); done {
		return err
	}
	if o.Bits == 4 && o.Block%unit == 0 {
		return b.nbits4(o, b.dotVariant(variant, o.Rounds), m, w, p.operands...)
	}
	rows := min(m, fewRows)
	const columns = 4
	groups := [3]int{(o.N + columns - 1) / columns, (m + rows - 1) / rows, 1}
	return b.dispatch("quant/nbits", variant, min(256, b.dev.info.Caps.MaxInvocations), groups,
		[]uint32{uint32(o.Bits), uint32(rows), columns}, w, p.operands...)
}

// bindBnb4 multiplies by weights of 4 bits, decoded by a table.
func bindBnb4(o *quant.MatMulBnb4, b *binder) error {
	d := b.DType(0)
	variant := b.floatName(d)
	if b.DType(2) != d {
		return device.Refuse("rows are %v and factors %v", d, b.DType(2))
	}
	deep, n, step, along := o.K, o.N, o.K, 1
	if o.Plain {
		deep, n, step, along = o.N, o.K, 1, o.K
	}
	m := b.Shape(0).Len() / deep
	size := min(256, b.dev.info.Caps.MaxInvocations)
	rows := min(m, fewRows)
	const columns = 4
	b.Note(b.loops((deep*columns + size - 1) / size * rows))
	var w words
	w.int(m, n, deep, o.Block, step, along)
	defer b.works(m * o.N * o.K)
	groups := [3]int{(n + columns - 1) / columns, (m + rows - 1) / rows, 1}
	return b.dispatch("quant/bnb4", variant, size, groups, []uint32{uint32(rows), columns}, w, b.in(0), b.in(1), b.in(2),
		constant(o.Table...), b.out(0))
}

// quantizeDynamic adds dispatches that find the range of the n floats of input 0, store its scale
// and zero point, and quantise the floats.
func (b *binder) quantizeDynamic(n int, codes, scale, zero device.Operand) error {
	if b.DType(0) != tensor.F32 {
		return device.Refuse("values are %v", b.DType(0))
	}
	if err := b.lanes("quant/dynamic", "f32", 1, n, nil, words{uint32(n)}, b.in(0), scale, zero); err != nil {
		return err
	}
	var w words
	w.int(n, 1, n, 1, 0, 0, 0, 1) // all elements follow one axis of one element
	return b.flat("quant/quantize", "u8", n, []uint32{0, 255, 0}, w, b.in(0), scale, zero, codes)
}

func bindDynamicQuantizeLinear(_ *quant.DynamicQuantizeLinear, b *binder) error {
	if !b.Wants(0) || !b.Wants(1) || !b.Wants(2) {
		return device.Refuse("an output is left out")
	}
	return b.quantizeDynamic(b.Shape(0).Len(), b.out(0), b.out(1), b.out(2))
}

func bindQLinearPair(o *quant.QLinearPair, b *binder) error {
	const a, c, y = quant.QLinearPairA, quant.QLinearPairB, quant.QLinearPairYScale
	half := tensor.F16 == b.DType(y)
	for _, i := range []int{a + 1, c + 1, y} {
		if b.DType(i) != b.DType(y) || !half && b.DType(i) != tensor.F32 {
			return device.Refuse("scales are %v and %v", b.DType(y), b.DType(i))
		}
	}
	n := b.OutShape(0).Len()
	w := words{uint32(n)}
	b.under(&w, b.OutShape(0), b.Shape(a), b.Shape(c))
	zeros := kit.Btoi(b.Has(a+2)) | kit.Btoi(b.Has(c+2))<<1 | kit.Btoi(b.Has(y+1))<<2
	constants := []uint32{uint32(kit.Btoi(o.Product)), signed(b.DType(a)), uint32(kit.Btoi(half)), uint32(zeros)}
	var operands []device.Operand
	for i := range y + 2 {
		operands = append(operands, b.in(i))
	}
	return b.flat("quant/pair", "bytes", n, constants, w, append(operands, b.out(0))...)
}

// Lookup adds a dispatch.
func (b *binder) Lookup(l *lower.Lookup) error {
	n := b.known(l.Rows.Mul(l.N), l.N, l.At, l.To)
	var w words
	w.int(n...)
	return b.flat("quant/lookup", "bytes", n[0], nil, w, l.X, l.Table, l.Y)
}

// tableFunctions are the numbers that quant/table has for functions of dequantised values.
var tableFunctions = map[string]uint32{"": 0, "sigmoid": 1, "leaky_relu": 2}

// Table adds a dispatch.
func (b *binder) Table(x, from, to int, f string, alpha float32) (device.Operand, error) {
	t := b.temp(256)
	if b.DType(from) != b.DType(to) || b.DType(to) != tensor.F32 && b.DType(to) != tensor.F16 {
		return t, device.Refuse("scales are %v and %v", b.DType(from), b.DType(to))
	}
	zeros := kit.Btoi(b.Has(from+1)) | kit.Btoi(b.Has(to+1))<<1
	constants := []uint32{tableFunctions[f], signed(b.DType(x)), uint32(kit.Btoi(b.DType(to) == tensor.F16)),
		uint32(zeros)}
	var w words
	w.float(float64(alpha))
	return t, b.flat("quant/table", "bytes", 256, constants, w, b.in(from), b.in(from+1), b.in(to), b.in(to+1), t)
}

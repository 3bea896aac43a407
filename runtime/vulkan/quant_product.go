package vulkan

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/shaders"
)

var quantProductRows = []row{
	rowFor("product", func(_ *quant.MatMulInteger, b *binder) error {
		return b.byteProduct(byteInputs{a: 0, aZero: 2, b: 1, bZero: 3}, b.byteProductOf(0, 1), tensor.I32, b.out(0))
	}),
	rowFor("product", bindQLinearMatMul),
	rowFor("product", bindMatMulIntegerToFloat),
	rowFor("product", bindDynamicQuantizeMatMul),
	rowFor("product", bindQGemm),
}

// byteInputs is the inputs of a node that are operands of a product of bytes. For all but a and b,
// 0 is none.
type byteInputs struct {
	a, aScale, aZero, b, bScale, bZero, yScale, yZero, bias, add int
	dynamic                                                      []device.Operand // a, its scale and its zero point, if they are not inputs
}

// bytes is the products of a node of bytes.
type bytes struct {
	*product
	alpha            float64
	biasRow, biasCol int
}

func (b *binder) byteProductOf(left, right int) *bytes {
	return &bytes{product: productOf([2]arith.AxisOrder{}, b, left, right), alpha: 1}
}

// optional returns input i and its number of elements. For i = 0 it returns none.
func (b *binder) optional(i int) (device.Operand, int) {
	if i == 0 || !b.Has(i) {
		return device.Operand{}, 0
	}
	return b.in(i), b.Shape(i).Len()
}

// halfScales reports whether the scales among inputs are float16. It refuses scales of several
// types.
func (b *binder) halfScales(list ...int) (uint32, error) {
	d := tensor.Invalid
	for _, i := range list {
		if i == 0 || !b.Has(i) {
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

// byteProduct adds the dispatch of products of bytes. It uses cooperative matrices or an
// instruction for dot products if the device has them.
func (b *binder) byteProduct(in byteInputs, g *bytes, result tensor.DType, y device.Operand) error {
	half, err := b.halfScales(in.aScale, in.bScale, in.yScale)
	if err != nil {
		return err
	}
	variant := map[tensor.DType]string{tensor.I32: "integers", tensor.F32: "floats", tensor.U8: "bytes",
		tensor.I8: "bytes"}[result]
	if variant == "" {
		return device.Refuse("results are %v", result)
	}
	if len(g.batch) > batchAxes {
		return device.Refuse("the batch has %d axes", len(g.batch))
	}
	a, aType := b.in(in.a), b.DType(in.a)
	aScale, aScales := b.optional(in.aScale)
	aZero, aZeros := b.optional(in.aZero)
	if in.dynamic != nil {
		a, aScale, aZero, aScales, aZeros, aType = in.dynamic[0], in.dynamic[1], in.dynamic[2], 1, 1, tensor.U8
	}
	bScale, bScales := b.optional(in.bScale)
	bZero, bZeros := b.optional(in.bZero)
	yScale, scaled := b.optional(in.yScale)
	yZero, _ := b.optional(in.yZero)
	bias, biased := b.optional(in.bias)
	add, added := b.optional(in.add)
	batch := []batchAxis{{1, 0, 0}, {1, 0, 0}, {1, 0, 0}}
	copy(batch[batchAxes-len(g.batch):], g.batch)
	z := batch[0].n * batch[1].n * batch[2].n
	var w words
	w.int(g.m, g.n, g.k, g.aRow, g.aCol, g.bRow, g.bCol, batch[1].n, batch[2].n)
	w.int(batch[0].a, batch[1].a, batch[2].a, batch[0].b, batch[1].b, batch[2].b)
	w.int(aScales, aZeros, bScales, bZeros, scaled)
	w.bool(biased > 0)
	w.int(g.biasRow, g.biasCol)
	w.bool(added > 0)
	w.float(g.alpha)
	if err := b.loops(6 * g.k); err != nil {
		return err
	}
	b.step.InPlace = nil
	defer b.works(g.m * g.n * g.k * z)
	operands := []device.Operand{a, aScale, aZero, b.in(in.b), bScale, bZero, yScale, yZero, bias, add, y}
	signs := []uint32{signed(aType), signed(b.DType(in.b)), signed(result), half}
	left := sideOf(wordElements, g.m, g.k, g.aRow, g.aCol, batch[0].a, batch[1].a, batch[2].a)
	right := sideOf(wordElements, g.n, g.k, g.bCol, g.bRow, batch[0].b, batch[1].b, batch[2].b)
	if t := b.dev.matrixTiling("quant/matrix", "i8", g.m, g.n, z, 1, left, right); t != nil {
		return b.dispatch(t.shader, variant, t.size, t.grid(g.m, g.n, z),
			slices.Concat(t.constants, wordConstants(left, right), signs), w, operands...)
	}
	if b.dev.features&shaders.IntDot != 0 {
		variant += "_dot"
	}
	n := (g.n + 3) / 4 * g.m * z
	return b.dispatch("quant/product", variant, groupSize, b.flatGroups((n+groupSize-1)/groupSize), signs, w, operands...)
}

func bindQLinearMatMul(o *quant.QLinearMatMul, b *binder) error {
	if !o.OnlyBytes(b.DType(0), b.DType(3), b.DType(7)) {
		return device.Refuse("codes are floats")
	}
	in := byteInputs{a: 0, aScale: 1, aZero: 2, b: 3, bScale: 4, bZero: 5, yScale: 6, yZero: 7}
	return b.byteProduct(in, b.byteProductOf(0, 3), b.DType(7), b.out(0))
}

func bindMatMulIntegerToFloat(_ *quant.MatMulIntegerToFloat, b *binder) error {
	in := byteInputs{a: 0, aScale: 2, aZero: 4, b: 1, bScale: 3, bZero: 5, add: 6}
	return b.byteProduct(in, b.byteProductOf(0, 1), b.Out[0].DType, b.out(0))
}

// bindDynamicQuantizeMatMul quantises the left operand as a whole.
func bindDynamicQuantizeMatMul(_ *quant.DynamicQuantizeMatMul, b *binder) error {
	n := b.Shape(0).Len()
	in := byteInputs{b: 1, bScale: 2, bZero: 3, add: 4, dynamic: []device.Operand{b.temp(n), b.temp(4), b.temp(1)}}
	if err := b.quantizeDynamic(n, in.dynamic[0], in.dynamic[1], in.dynamic[2]); err != nil {
		return err
	}
	return b.byteProduct(in, b.byteProductOf(0, 1), tensor.F32, b.out(0))
}

func bindQGemm(o *quant.QGemm, b *binder) error {
	order := [2]arith.AxisOrder{{Matrix: o.Gemm.TransA}, {Matrix: o.Gemm.TransB}}
	g := &bytes{product: productOf(order, b, quant.QGemmA, quant.QGemmB), alpha: float64(o.Gemm.Alpha)}
	if s := b.Shape(quant.QGemmC); b.Has(quant.QGemmC) {
		if n := len(s); n > 0 && s[n-1] != 1 {
			g.biasCol = 1
		}
		if n := len(s); n > 1 && s[n-2] != 1 {
			g.biasRow = s[n-1]
		}
	}
	in := byteInputs{
		a: quant.QGemmA, aScale: quant.QGemmAScale, aZero: quant.QGemmAZero, b: quant.QGemmB, bScale: quant.QGemmBScale,
		bZero:  quant.QGemmBZero,
		yScale: quant.QGemmYScale, yZero: quant.QGemmYZero, bias: quant.QGemmC,
	}
	return b.byteProduct(in, g, b.Out[0].DType, b.out(0))
}

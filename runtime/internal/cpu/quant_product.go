package cpu

import (
	"math"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var quantProductRows = []row{
	rowFor("gemv", func(o *quant.MatMulInteger, b *binder) error { return bindMatMulInteger("i8_gemv", b) }),
	rowFor("gemm", func(o *quant.MatMulInteger, b *binder) error { return bindMatMulInteger("i8_gemm", b) }),
	rowFor("gemv", func(o *quant.QLinearMatMul, b *binder) error { return bindQLinearMatMul(o, "i8_gemv", b) }),
	rowFor("gemm", func(o *quant.QLinearMatMul, b *binder) error { return bindQLinearMatMul(o, "i8_gemm", b) }),
	rowFor("gemv", func(o *quant.MatMulIntegerToFloat, b *binder) error { return bindMatMulIntegerToFloat("i8_gemv", b) }),
	rowFor("gemm", func(o *quant.MatMulIntegerToFloat, b *binder) error { return bindMatMulIntegerToFloat("i8_gemm", b) }),
	rowFor("gemv", func(o *quant.DynamicQuantizeMatMul,
		b *binder) error {
		return bindDynamicQuantizeMatMul("i8_gemv", b)
	}),
	rowFor("gemm", func(o *quant.DynamicQuantizeMatMul,
		b *binder) error {
		return bindDynamicQuantizeMatMul("i8_gemm", b)
	}),
	rowFor("gemv", func(o *quant.QGemm, b *binder) error { return bindQGemm(o, "i8_gemv", b) }),
	rowFor("gemm", func(o *quant.QGemm, b *binder) error { return bindQGemm(o, "i8_gemm", b) }),
}

// byteInputs gives the input for each operand of a product of bytes, none for no input.
type byteInputs struct {
	a, aScale, aZero, b, bScale, bZero, yScale, yZero, bias int
}

const none = math.MaxInt // an input that no node has

// byteProduct holds the words of i8_gemm and i8_gemv.
type byteProduct struct {
	*product
	aSigned, bSigned             bool
	bPacked                      bool
	bStep                        graph.Dim // bytes from one right matrix to the next
	aScale, aZero, bScale, bZero quantNumbers
	result, yScale               tensor.DType
	alpha                        float64
	biasRow, biasCol             graph.Dim
	quantize                     bindings.Kernel // kernel that quantizes a left operand of floats
	aSize                        graph.Dim       // elements of that operand
}

// quantNumbers is the number of scales or zero points, and their type.
type quantNumbers struct {
	dtype tensor.DType
	count graph.Dim
}

func (b *binder) quantNumbers(i int) quantNumbers {
	if !b.Has(i) {
		return quantNumbers{}
	}
	return quantNumbers{b.DType(i), b.In[i].Dims.Len()}
}

func (g *byteProduct) words() words {
	var w words
	w.dim(g.m, g.n, g.k)
	w.bool(g.aSigned)
	w.dim(g.aRow, g.aCol)
	w.bool(g.bPacked, g.bSigned)
	w.dim(g.bRow, g.bCol, g.bStep)
	for _, n := range []quantNumbers{g.aScale, g.aZero, g.bScale, g.bZero} {
		w.dtype(n.dtype)
		w.dim(n.count)
	}
	w.dtype(g.result, g.yScale)
	w.float(g.alpha)
	w.dim(g.biasRow, g.biasCol)
	w.part(g.quantize)
	w.dim(g.aSize)
	w.batch(g.batch)
	return w
}

// forPacking returns the words that the form of a packed right operand depends on, for one of its
// matrices or for all.
func (g *byteProduct) forPacking(one bool) words {
	p := &product{m: graph.Known(1), n: g.n, k: g.k, bRow: g.bRow, bCol: g.bCol}
	for _, x := range g.batch {
		if !one && !x.b.Is(0) {
			p.batch = append(p.batch, batchAxis{x.n, graph.Known(0), x.b})
		}
	}
	return (&byteProduct{product: p, bSigned: g.bSigned}).words()
}

// pack sets the strides of the right operand to those of matrices packed for kernel k.
func (g *byteProduct) pack(b *binder, k bindings.Kernel) error {
	list, err := b.numbers(g.forPacking(true))
	if err != nil {
		return err
	}
	size := graph.Known(k.Packed(list, byteRight))
	for i := range g.batch {
		g.batch[i].b = g.batch[i].b.Div(g.bStep).Mul(size)
	}
	g.bPacked, g.bStep = true, size
	return nil
}

// byteRight is the index of i8_gemm's right operand.
const byteRight = 3

// packsBytes reports whether the kernel i8_gemm would pack the right operand, input i.
func (b *binder) packsBytes(g *byteProduct, i int) (bool, error) {
	t := b.Const(i)
	if t == nil || t.Len() == 0 {
		return false, nil
	}
	k, err := b.kernel("i8_gemm")
	if err != nil {
		return false, err
	}
	list, err := b.numbers(g.forPacking(false))
	return err == nil && k.Packed(list, byteRight) > 0, err
}

// bytes adds products of bytes by a kernel of that op.
func (b *binder) bytes(kernel string, g *byteProduct, in byteInputs, add, y device.Operand) error {
	g.aSigned, g.bSigned = b.DType(in.a) == tensor.I8, b.DType(in.b) == tensor.I8
	g.bStep = g.k.Mul(g.n)
	if kernel == "i8_gemv" {
		if packs, err := b.packsBytes(g, in.b); err != nil || packs {
			return orRefuse(err, "the right operand is packed")
		}
	}
	g.aScale, g.aZero, g.bScale, g.bZero = b.quantNumbers(in.aScale), b.quantNumbers(in.aZero),
		b.quantNumbers(in.bScale), b.quantNumbers(in.bZero)
	g.yScale = b.DType(in.yScale)
	k, err := b.choose(kernel, g.words())
	if err != nil {
		return err
	}
	right, packed, err := b.packed(in.b, k, g.forPacking(false), byteRight)
	if err != nil {
		return err
	}
	if !packed {
		right = b.in(in.b)
	} else if err := g.pack(b, k); err != nil {
		return err
	}
	return b.add(k, []bindings.Kernel{g.quantize}, g.words(), b.in(in.a), b.in(in.aScale), b.in(in.aZero), right,
		b.in(in.bScale), b.in(in.bZero), b.in(in.yScale), b.in(in.yZero), b.in(in.bias), add, y)
}

// byteProductOf returns a product with the broadcasting of MatMul.
func (b *binder) byteProductOf(left, right int, result tensor.DType) *byteProduct {
	return &byteProduct{product: b.productOf([2]arith.AxisOrder{}, left, right), result: result, alpha: 1}
}

func bindMatMulInteger(kernel string, b *binder) error {
	if b.isEmpty() {
		return nil
	}
	in := byteInputs{a: 0, aScale: none, aZero: 2, b: 1, bScale: none, bZero: 3, yScale: none, yZero: none, bias: none}
	return b.bytes(kernel, b.byteProductOf(0, 1, tensor.I32), in, device.Operand{}, b.out(0))
}

func bindQLinearMatMul(o *quant.QLinearMatMul, kernel string, b *binder) error {
	if !o.OnlyBytes(b.DType(0), b.DType(3), b.DType(7)) {
		return device.Refuse("codes that are floats are multiplied in Go")
	}
	if b.isEmpty() {
		return nil
	}
	in := byteInputs{a: 0, aScale: 1, aZero: 2, b: 3, bScale: 4, bZero: 5, yScale: 6, yZero: 7, bias: none}
	return b.bytes(kernel, b.byteProductOf(0, 3, b.DType(7)), in, device.Operand{}, b.out(0))
}

// bindMatMulIntegerToFloat computes other results than float32 in scratch, and rounds them.
func bindMatMulIntegerToFloat(kernel string, b *binder) error {
	if b.isEmpty() {
		return nil
	}
	add, err := b.floats(6)
	if err != nil {
		return err
	}
	in := byteInputs{a: 0, aScale: 2, aZero: 4, b: 1, bScale: 3, bZero: 5, yScale: none, yZero: none, bias: none}
	g := b.byteProductOf(0, 1, tensor.F32)
	return b.inFloats(func(y device.Operand) error { return b.bytes(kernel, g, in, add, y) })
}

func bindDynamicQuantizeMatMul(kernel string, b *binder) error {
	if b.isEmpty() {
		return nil
	}
	k, err := b.kernel("f32_quantize")
	if err != nil {
		return err
	}
	in := byteInputs{a: 0, aScale: none, aZero: none, b: 1, bScale: 2, bZero: 3, yScale: none, yZero: none, bias: none}
	g := b.byteProductOf(0, 1, tensor.F32)
	g.quantize, g.aSize = k, b.In[0].Dims.Len()
	return b.bytes(kernel, g, in, b.in(4), b.out(0))
}

func bindQGemm(o *quant.QGemm, kernel string, b *binder) error {
	if b.isEmpty() {
		return nil
	}
	p := gemmProduct(&o.Gemm, b.In[quant.QGemmA].Dims, b.In[quant.QGemmB].Dims, b.Out[0].Dims)
	g := &byteProduct{product: p, result: b.Out[0].DType, alpha: float64(o.Gemm.Alpha)}
	in := byteInputs{
		a: quant.QGemmA, aScale: quant.QGemmAScale, aZero: quant.QGemmAZero, b: quant.QGemmB, bScale: quant.QGemmBScale,
		bZero:  quant.QGemmBZero,
		yScale: quant.QGemmYScale, yZero: quant.QGemmYZero, bias: quant.QGemmC,
	}
	if b.Has(quant.QGemmC) {
		dims := b.In[quant.QGemmC].Dims
		cols := graph.Known(1)
		if n := len(dims); n > 0 {
			cols = dims[n-1]
		}
		if !cols.Is(1) {
			g.biasCol = graph.Known(1)
		}
		if len(dims) > 1 && !dims[0].Is(1) {
			g.biasRow = cols
		}
	}
	return b.bytes(kernel, g, in, device.Operand{}, b.out(0))
}

package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// byteProduct holds the words of i8_gemm and i8_gemv.
type byteProduct struct {
	*lower.Product
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
	w.dim(g.M, g.N, g.K)
	w.bool(g.aSigned)
	w.dim(g.ARow, g.ACol)
	w.bool(g.bPacked, g.bSigned)
	w.dim(g.BRow, g.BCol, g.bStep)
	for _, n := range []quantNumbers{g.aScale, g.aZero, g.bScale, g.bZero} {
		w.dtype(n.dtype)
		w.dim(n.count)
	}
	w.dtype(g.result, g.yScale)
	w.float(g.alpha)
	w.dim(g.biasRow, g.biasCol)
	w.part(g.quantize)
	w.dim(g.aSize)
	w.batch(g.Batch)
	return w
}

// forPacking returns the words that the form of a packed right operand depends on, for one of its
// matrices or for all.
func (g *byteProduct) forPacking(one bool) words {
	p := &lower.Product{M: graph.Known(1), N: g.N, K: g.K, BRow: g.BRow, BCol: g.BCol}
	for _, x := range g.Batch {
		if !one && !x.B.Is(0) {
			p.Batch = append(p.Batch, lower.BatchAxis{N: x.N, B: x.B})
		}
	}
	return (&byteProduct{Product: p, bSigned: g.bSigned}).words()
}

// pack sets the strides of the right operand to those of matrices packed for kernel k.
func (g *byteProduct) pack(b *binder, k bindings.Kernel) error {
	list, err := b.numbers(g.forPacking(true))
	if err != nil {
		return err
	}
	size := graph.Known(k.Packed(list, byteRight))
	for i := range g.Batch {
		g.Batch[i].B = g.Batch[i].B.Div(g.bStep).Mul(size)
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
	k := b.kernel("i8_gemm")
	list, err := b.numbers(g.forPacking(false))
	return err == nil && k.Packed(list, byteRight) > 0, err
}

// bytes adds products of bytes by a kernel of that op.
func (b *binder) bytes(kernel string, g *byteProduct, in lower.ByteInputs, add, y device.Operand) error {
	g.aSigned, g.bSigned = b.DType(in.A) == tensor.I8, b.DType(in.B) == tensor.I8
	g.bStep = g.K.Mul(g.N)
	if kernel == "i8_gemv" {
		if packs, err := b.packsBytes(g, in.B); err != nil || packs {
			return orRefuse(err, "the right operand is packed")
		}
	}
	g.aScale, g.aZero, g.bScale, g.bZero = b.quantNumbers(in.AScale), b.quantNumbers(in.AZero),
		b.quantNumbers(in.BScale), b.quantNumbers(in.BZero)
	g.yScale = b.DType(in.YScale)
	k, err := b.choose(kernel, g.words())
	if err != nil {
		return err
	}
	right, packed, err := b.packed(in.B, k, g.forPacking(false), byteRight)
	if err != nil {
		return err
	}
	if !packed {
		right = b.in(in.B)
	} else if err := g.pack(b, k); err != nil {
		return err
	}
	return b.add(k, []bindings.Kernel{g.quantize}, g.words(), b.in(in.A), b.in(in.AScale), b.in(in.AZero), right,
		b.in(in.BScale), b.in(in.BZero), b.in(in.YScale), b.in(in.YZero), b.in(in.Bias), add, y)
}

// ByteProduct adds products by the kernel i8_gemv or i8_gemm.
func (b *binder) ByteProduct(kernel string, p *lower.ByteProduct) (err error) {
	g := &byteProduct{Product: p.Product, result: p.Result, alpha: p.Alpha, biasRow: p.BiasRow,
		biasCol: p.BiasCol}
	if p.Floats {
		g.quantize = b.kernel("f32_quantize")
		g.aSize = b.In[p.A].Dims.Len()
	}
	return b.bytes("i8_"+kernel, g, p.ByteInputs, p.Add, p.Y)
}

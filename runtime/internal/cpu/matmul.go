package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var matmulRows = []row{
	rowFor("narrow", func(o *arith.MatMul, b *binder) error { return bindMatMul("f32_narrow", b) }).InRoom(),
	rowFor("gemv", func(o *arith.MatMul, b *binder) error { return bindMatMul("f32_gemv", b) }).InRoom(),
	rowFor("gemm", func(o *arith.MatMul, b *binder) error { return bindMatMul("f32_gemm", b) }).InRoom(),
	rowFor("formula", func(o *arith.MatMul, b *binder) error { return bindMatMul("", b) }).InRoom(),
	rowFor("narrow", func(o *arith.MatMulBias, b *binder) error { return bindMatMulBias(o, "f32_narrow", b) }),
	rowFor("gemv", func(o *arith.MatMulBias, b *binder) error { return bindMatMulBias(o, "f32_gemv", b) }),
	rowFor("gemm", func(o *arith.MatMulBias, b *binder) error { return bindMatMulBias(o, "f32_gemm", b) }),
	rowFor("narrow", func(o *arith.FusedMatMul, b *binder) error { return bindFusedMatMul(o, "f32_narrow", b) }).InRoom(),
	rowFor("gemv", func(o *arith.FusedMatMul, b *binder) error { return bindFusedMatMul(o, "f32_gemv", b) }).InRoom(),
	rowFor("gemm", func(o *arith.FusedMatMul, b *binder) error { return bindFusedMatMul(o, "f32_gemm", b) }).InRoom(),
	rowFor("formula", func(o *arith.FusedMatMul, b *binder) error { return bindFusedMatMul(o, "", b) }).InRoom(),
	rowFor("narrow", func(o *arith.Gemm, b *binder) error { return bindGemm(o, kit.Epilogue{}, "f32_narrow", b) }),
	rowFor("gemv", func(o *arith.Gemm, b *binder) error { return bindGemm(o, kit.Epilogue{}, "f32_gemv", b) }),
	rowFor("gemm", func(o *arith.Gemm, b *binder) error { return bindGemm(o, kit.Epilogue{}, "f32_gemm", b) }),
	rowFor("formula", func(o *arith.Gemm, b *binder) error { return bindWideGemm(o, b) }),
	rowFor("narrow", func(o *arith.WidenedGemm, b *binder) error { return bindWidenedGemm(o, "f32_narrow", b) }),
	rowFor("gemv", func(o *arith.WidenedGemm, b *binder) error { return bindWidenedGemm(o, "f32_gemv", b) }),
	rowFor("gemm", func(o *arith.WidenedGemm, b *binder) error { return bindWidenedGemm(o, "f32_gemm", b) }),
	rowFor("narrow", func(o *arith.FusedGemm, b *binder) error { return bindGemm(&o.Gemm, o.Epilogue, "f32_narrow", b) }),
	rowFor("gemv", func(o *arith.FusedGemm, b *binder) error { return bindGemm(&o.Gemm, o.Epilogue, "f32_gemv", b) }),
	rowFor("gemm", func(o *arith.FusedGemm, b *binder) error { return bindGemm(&o.Gemm, o.Epilogue, "f32_gemm", b) }),
}

// wideGemms are the kernels for integers. Sums that wrap have the same bits signed and unsigned.
var wideGemms = map[tensor.DType]string{
	tensor.I32: "u32_gemm", tensor.U32: "u32_gemm", tensor.I64: "u64_gemm", tensor.U64: "u64_gemm",
}

// rightOf returns input 1 if it is a constant that may be packed: its matrices, with axes in the given
// order, follow each other.
func (b *binder) rightOf(order [2]arith.AxisOrder) *tensor.Tensor {
	if order[1].Batch || b.HasRoom() {
		return nil
	}
	return b.Const(1)
}

func (w *words) batch(list []lower.BatchAxis) {
	w.int(len(list))
	for _, x := range list {
		w.dim(x.N)
	}
	for _, x := range list {
		w.dim(x.A)
	}
	for _, x := range list {
		w.dim(x.B)
	}
}

// sum holds the addends of a product, and its epilogue, which follows them.
type sum struct {
	row, col, all device.Operand // one number per matrix row, per column, per element
	epilogue      kit.Epilogue
}

// gemm is the words of f32_gemm, f32_gemv, f32_narrow, and their counterparts for doubles.
type gemm struct {
	*lower.Product
	dtype    tensor.DType
	bType    tensor.DType // Invalid for dtype
	bPacked  bool
	alpha    float64
	epilogue kit.Epilogue
	apply    bindings.Kernel // kernel of the epilogue, unless that is a clamp
}

// right returns the element type of the right operand.
func (g *gemm) right() tensor.DType {
	if g.bType != tensor.Invalid {
		return g.bType
	}
	return g.dtype
}

func (g *gemm) words() words {
	var w words
	w.dim(g.M, g.N, g.K)
	w.dtype(g.dtype)
	w.bool(false)
	w.dim(g.ARow, g.ACol)
	w.dtype(g.right())
	w.bool(g.bPacked)
	w.dim(g.BRow, g.BCol)
	w.dtype(g.dtype)
	w.dim(g.N)
	w.float(g.alpha)
	w.epilogue(wide(g.dtype), g.epilogue, g.apply)
	w.batch(g.Batch)
	return w
}

// gemmOf returns the kernel for elements of type d that corresponds to a kernel for float32.
func gemmOf(kernel string, d tensor.DType) (string, error) {
	switch {
	case wide(d) == tensor.F32:
		return kernel, nil
	case d == tensor.F64 && kernel == "f32_gemm":
		return "f64_gemm", nil
	case d == tensor.F64 && kernel == "f32_gemv":
		return "f64_gemv", nil
	case d == tensor.F64 && kernel == "f32_narrow":
		return "f64_narrow", nil
	}
	return "", device.Refuse("elements are %v", d)
}

// floatProduct adds products of floats, by a kernel of that op or its float64 counterpart. right is input
// 1 if it is a constant that may be packed.
func (b *binder) floatProduct(kernel string, p *lower.Product, right *tensor.Tensor, alpha float64, s sum) error {
	d := b.DType(0)
	kernel, err := gemmOf(kernel, d)
	if err != nil {
		return err
	}
	apply := b.mapped(wide(d), s.epilogue)
	g := &gemm{Product: p, dtype: d, bType: b.DType(1), alpha: alpha, epilogue: s.epilogue, apply: apply}
	if kernel == "f32_gemv" || kernel == "f64_gemv" {
		if packs, err := b.packs(g, right); err != nil || packs {
			return orRefuse(err, "the right operand is packed")
		}
	}
	narrow := kernel == "f32_narrow" || kernel == "f64_narrow"
	if narrow && (s.row.Place != device.None || s.all.Place != device.None) {
		return device.Refuse("numbers are added to rows or elements")
	}
	k, err := b.chooseProduct(kernel, g, right)
	if err != nil {
		return err
	}
	if narrow {
		return b.add(k, nil, g.words(), b.in(0), b.in(1), device.Operand{}, s.col, device.Operand{}, b.out(0))
	}
	data, err := b.packedPieces(right, k, g.forPacking(), 1,
		func(list []int64, n int) pieces { return g.pieces(k, list, n) })
	y, packed, err := b.packedOperand(1, data, err)
	if err != nil {
		return err
	}
	if packed {
		g.bPacked = true
		g.packBatch(k)
	} else {
		y = b.in(1)
	}
	return b.add(k, []bindings.Kernel{apply}, g.words(), b.in(0), y, s.row, s.col, s.all, b.out(0))
}

// chooseProduct returns the best kernel of an op for a product with the right operand t, which is
// nil unless it is a constant that may be packed. Each kernel is asked about the operand in the
// form that it would read.
func (b *binder) chooseProduct(kernel string, g *gemm, t *tensor.Tensor) (bindings.Kernel, error) {
	if !b.packable(t) {
		return b.choose(kernel, g.words())
	}
	packed := *g
	packed.bPacked = true
	var lists [3][]int64
	for i, w := range []words{g.words(), packed.words(), g.forPacking()} {
		var err error
		if lists[i], err = b.numbers(w); err != nil {
			return bindings.Kernel{}, err
		}
	}
	return b.chooseFor(kernel, g.words().fixed(), func(k bindings.Kernel) []int64 {
		if k.Packed(lists[2], 1) > 0 {
			return lists[1]
		}
		return lists[0]
	})
}

func orRefuse(err error, why string) error {
	if err != nil {
		return err
	}
	return device.Refuse("%s", why)
}

// packs reports whether a kernel of matrices would pack the right operand, t if it may be packed.
func (b *binder) packs(g *gemm, t *tensor.Tensor) (bool, error) {
	if !b.packable(t) {
		return false, nil
	}
	name, err := gemmOf("f32_gemm", g.dtype)
	if err != nil {
		return false, err
	}
	k := b.kernel(name)
	list, err := b.numbers(g.forPacking())
	return err == nil && k.Packed(list, 1) > 0, err
}

// forPacking returns the words that the form of a packed right operand depends on.
func (g *gemm) forPacking() words {
	own := *g
	p := *g.Product
	own.Product = &p
	p.M, p.ARow, p.ACol = graph.Known(1), graph.Known(0), graph.Known(0)
	p.Batch = nil
	for _, x := range g.Batch {
		if !x.B.Is(0) {
			p.Batch = append(p.Batch, lower.BatchAxis{N: x.N, B: x.B})
		}
	}
	own.alpha, own.epilogue, own.apply = 1, kit.Epilogue{}, bindings.Kernel{}
	return own.words()
}

// packBatch sets the strides of the right operand to those between packed matrices.
func (g *gemm) packBatch(k bindings.Kernel) {
	one := *g
	p := *g.Product
	one.Product = &p
	p.Batch = nil
	list := make([]int64, 0, 32)
	for _, d := range one.forPacking() {
		n, _ := d.Value()
		list = append(list, int64(n))
	}
	size := k.Packed(list, 1) / (g.right().Bits() / 8)
	plain, _ := g.K.Mul(g.N).Value()
	for i := range g.Batch {
		n, _ := g.Batch[i].B.Value()
		g.Batch[i].B = graph.Known(n / plain * size)
	}
}

// wideProduct adds products of integers.
func (b *binder) wideProduct(d tensor.DType, p *lower.Product, x, y, out device.Operand) error {
	name, ok := wideGemms[d]
	if !ok {
		return device.Refuse("elements are %v", d)
	}
	var w words
	w.dim(p.M, p.N, p.K, p.ARow, p.ACol, p.BRow, p.BCol, p.N)
	w.batch(p.Batch)
	return b.run(name, w, x, y, out)
}

// multiply adds products of elements of type d without packing. It refuses elements of 16 bits.
func (b *binder) multiply(d tensor.DType, p *lower.Product, x, y, out device.Operand) error {
	ops := map[tensor.DType][]string{tensor.F32: {"f32_gemv", "f32_gemm"}, tensor.F64: {"f64_gemv", "f64_gemm"}}[d]
	if ops == nil {
		return b.wideProduct(d, p, x, y, out)
	}
	w := (&gemm{Product: p, dtype: d, alpha: 1}).words()
	k, err := b.first(w, ops...)
	if err != nil {
		return err
	}
	none := device.Operand{}
	return b.add(k, nil, w, x, y, none, none, none, out)
}

// isEmpty reports whether output 0 has no elements.
func (b *binder) isEmpty() bool {
	n, ok := b.Out[0].Dims.Len().Value()
	return ok && n == 0
}

func bindMatMul(kernel string, b *binder) error {
	if b.isEmpty() {
		return nil
	}
	if b.OutRoom != nil {
		return device.Refuse("products follow each other without gaps")
	}
	order := [2]arith.AxisOrder{}
	p := lower.InputProduct(b, order, 0, 1)
	if kernel == "" {
		return b.wideProduct(b.DType(0), p, b.in(0), b.in(1), b.out(0))
	}
	return b.floatProduct(kernel, p, b.rightOf(order), 1, sum{})
}

func bindMatMulBias(o *arith.MatMulBias, kernel string, b *binder) error {
	if b.isEmpty() {
		return nil
	}
	p := lower.InputProduct(b, [2]arith.AxisOrder{}, 0, 1)
	return b.floatProduct(kernel, p, b.Const(1), 1, sum{col: b.widened(2), all: b.widened(3), epilogue: o.Epilogue})
}

// floats returns input i as float32: itself, or widened into scratch.
func (b *binder) floats(i int) device.Operand {
	return lower.As(b, tensor.F32, lower.Input(b, i))
}

// widened returns input i in the type that its elements are computed in, or none if it is left out.
func (b *binder) widened(i int) device.Operand {
	if b.DType(i) == tensor.F64 {
		return b.in(i)
	}
	return b.floats(i)
}

// joinOut replaces output 0 by a function of it and x, computed in the output's type.
func (b *binder) joinOut(name string, x device.Operand, dims graph.Dims) error {
	d := b.Out[0].DType
	k := b.function(d, name)
	l := storage{bytes: d.Bits() / 8}
	y := b.Out[0].Dims
	return b.pairs(k, l, l, l, b.out(0), x, b.out(0), y, y, dims)
}

func bindFusedMatMul(o *arith.FusedMatMul, kernel string, b *binder) error {
	if b.isEmpty() {
		return nil
	}
	if b.OutRoom != nil {
		return device.Refuse("products follow each other without gaps")
	}
	p := lower.InputProduct(b, o.Order, 0, 1)
	if kernel != "" {
		return b.floatProduct(kernel, p, b.rightOf(o.Order), float64(o.Alpha), sum{})
	}
	if o.Alpha != 1 {
		return device.Refuse("%v elements are scaled", b.DType(0))
	}
	return b.wideProduct(b.DType(0), p, b.in(0), b.in(1), b.out(0))
}

func bindGemm(o *arith.Gemm, epilogue kit.Epilogue, kernel string, b *binder) error {
	if b.isEmpty() {
		return nil
	}
	p := b.gemmProduct(o)
	s := b.addend(o, p)
	s.epilogue = epilogue
	return b.floatProduct(kernel, p, b.Const(1), float64(o.Alpha), s)
}

// bindWidenedGemm binds products with elements of 16 bits. It refuses blocks.
func bindWidenedGemm(o *arith.WidenedGemm, kernel string, b *binder) error {
	if d := b.DType(1); d.Blocks() != nil {
		return device.Refuse("the right operand is in blocks of %v", d)
	}
	return bindGemm(&o.Gemm, kit.Epilogue{}, kernel, b)
}

func (b *binder) gemmProduct(o *arith.Gemm) *lower.Product {
	return lower.InputProduct(b, [2]arith.AxisOrder{{Matrix: o.TransA}, {Matrix: o.TransB}}, 0, 1)
}

// addend returns beta times C, per matrix row, per column or per element.
func (b *binder) addend(o *arith.Gemm, p *lower.Product) (s sum) {
	if !b.Has(2) || o.Beta == 0 {
		return s
	}
	dims := b.In[2].Dims
	rows, cols := graph.Known(1), graph.Known(1)
	if len(dims) > 0 {
		cols = dims[len(dims)-1]
	}
	if len(dims) > 1 {
		rows = dims[len(dims)-2]
	}
	x := b.widened(2)
	one := rows.Is(1) && cols.Is(1)
	if o.Beta != 1 || one && !p.N.Is(1) {
		if one {
			cols = p.N
		}
		x = b.scaled(x, dims, graph.Dims{rows, cols}, o.Beta)
	}
	switch {
	case rows.Is(1):
		s.col = x
	case cols.Is(1) && !p.N.Is(1):
		s.row = x
	case p.N.Is(1):
		s.row = x
	default:
		s.all = x
	}
	return s
}

// scaled returns x, a value of floats, broadcast to extents [rows,cols] and multiplied by a number,
// in scratch.
func (b *binder) scaled(x device.Operand, dims, to graph.Dims, by float32) device.Operand {
	d, factor := wide(b.DType(0)), constant(by)
	if d == tensor.F64 {
		factor = constant(float64(by))
	}
	k := b.function(d, "mul")
	t, l := b.tempOf(d, to.Len()), storage{bytes: d.Bytes(1)}
	b.Note(b.pairs(k, l, l, l, x, factor, t, to, dims, graph.Dims{}))
	return t
}

// bindWideGemm binds Gemm of integers without scaling. It refuses other factors.
func bindWideGemm(o *arith.Gemm, b *binder) error {
	if b.isEmpty() {
		return nil
	}
	d := b.DType(0)
	if o.Alpha != 1 || b.Has(2) && o.Beta != 1 && o.Beta != 0 {
		return device.Refuse("%v elements are scaled", d)
	}
	p := b.gemmProduct(o)
	if err := b.wideProduct(d, p, b.in(0), b.in(1), b.out(0)); err != nil {
		return err
	}
	if !b.Has(2) || o.Beta == 0 {
		return nil
	}
	return b.joinOut("add", b.in(2), b.In[2].Dims)
}

package vulkan

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/openinfer"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var matmulRows = []row{
	rowFor("gemm", func(_ *arith.MatMul, b *binder) error { return bindMatMul(&arith.FusedMatMul{Alpha: 1}, b) }).InRoom(),
	rowFor("gemm", bindMatMulBias),
	rowFor("gemm", bindMatMul).InRoom(),
	rowFor("gemm", func(o *arith.Gemm, b *binder) error { return bindGemm(o, kit.Epilogue{}, b) }),
	rowFor("gemm", func(o *arith.FusedGemm, b *binder) error { return bindGemm(&o.Gemm, o.Epilogue, b) }),
	rowFor("gemm", bindWidenedGemm),
	rowFor("det", bindDet),
	rowFor("inverse", bindInverse),
	rowFor("packed", bindPackedMatMul),
}

// batchAxes is the most axes of a batch that a dispatch steps over.
const batchAxes = 3

// product is a batch of products of matrices [m,k] and [k,n]. The results follow each other without
// gaps. Strides are in elements.
type product struct {
	m, n, k                int
	aRow, aCol, bRow, bCol int
	batch                  []batchAxis // outermost first
}

// batchAxis is an extent and the strides of both operands. A shared operand has stride 0.
type batchAxis struct{ n, a, b int }

// productOf returns the products of inputs left and right with axes in the given order.
func productOf(order [2]arith.AxisOrder, b *binder, left, right int) *product {
	return productFrom(lower.InputProduct(b, order, left, right))
}

// productFrom returns products with extents that are numbers.
func productFrom(x *lower.Product) *product {
	number := func(d graph.Dim) int {
		n, _ := d.Value()
		return n
	}
	p := &product{m: number(x.M), n: number(x.N), k: number(x.K), aRow: number(x.ARow), aCol: number(x.ACol),
		bRow: number(x.BRow), bCol: number(x.BCol)}
	for _, a := range x.Batch {
		p.batch = append(p.batch, batchAxis{number(a.N), number(a.A), number(a.B)})
	}
	return p
}

// addend is a value added to products: an operand with strides over rows, columns and matrices, and
// its factor.
type addend struct {
	operand         device.Operand
	row, col, batch int
	beta            float32
}

// multiply adds the dispatches of products. If a shader cannot see the whole right operand, it is
// cut at rows, and the output sums the products of the parts.
func (b *binder) multiply(p *product, alpha float32, c addend, epilogue kit.Epilogue) error {
	d := b.DType(0)
	if b.DType(1) != d || b.Has(2) && b.DType(2) != d {
		return device.Refuse("operands are %v and %v", d, b.DType(1))
	}
	if d.IsInteger() && (alpha != 1 || c.beta != 1 && c.operand.Place != device.None) {
		return device.Refuse("%v elements are scaled", d)
	}
	right, size := b.in(1), d.Bytes(1)
	rows := p.k
	if n := d.Bytes(b.Shape(1).Len()); !b.isVisible(n) {
		var err error
		if rows, err = b.visibleRows(p, size); err != nil {
			return err
		}
	}
	for k := 0; k == 0 || k < p.k; k += rows {
		part := *p
		part.k = min(rows, p.k-k)
		if rows < p.k {
			right = b.in(1).At(graph.Known(k * p.bRow * size))
			right.Bytes = part.k * p.bRow * size
		}
		last := kit.Epilogue{}
		if k+rows >= p.k {
			last = epilogue
		}
		x := &multiplying{product: &part, dtype: d, left: b.in(0), right: right, out: b.out(0), first: k * p.aCol,
			alpha: alpha, c: c, epilogue: last}
		if err := b.products(x); err != nil {
			return err
		}
		c = addend{operand: b.out(0), row: p.n, col: 1, batch: p.m * p.n, beta: 1}
	}
	return nil
}

// visibleRows returns how many rows of the right operand a shader sees at a time.
func (b *binder) visibleRows(p *product, size int) (int, error) {
	if len(p.batch) > 0 || p.bCol != 1 || b.DType(0) != tensor.F32 {
		return 0, device.Refuse("the right operand has more bytes than shaders see at a time, and is not cut at rows")
	}
	step := 1
	for step*p.bRow*size%align != 0 {
		step *= 2
	}
	rows := b.dev.info.Caps.MaxRange / (p.bRow * size) / step * step
	if rows == 0 {
		return 0, device.Refuse("%d rows of the right operand have more bytes than shaders see at a time", step)
	}
	return rows, nil
}

// multiplying is a dispatch of products: out = F(alpha * left right + c).
type multiplying struct {
	*product
	dtype            tensor.DType
	narrow           tensor.DType // of the right operand, if it is not dtype: float16 or bfloat16
	left, right, out device.Operand
	first            int // first element of the rows of left
	alpha            float32
	c                addend
	epilogue         kit.Epilogue
}

// products adds the dispatch.
func (b *binder) products(x *multiplying) error {
	variant := b.typeName(x.dtype)
	if x.narrow != tensor.Invalid {
		variant += "_" + x.narrow.Short()
	}
	function, err := epilogueNumber(x.epilogue)
	if err != nil {
		return err
	}
	if len(x.batch) > batchAxes {
		return device.Refuse("the batch has %d axes", len(x.batch))
	}
	batch := []batchAxis{{1, 0, 0}, {1, 0, 0}, {1, 0, 0}}
	copy(batch[batchAxes-len(x.batch):], x.batch)
	z := batch[0].n * batch[1].n * batch[2].n
	var w words
	w.int(x.m, x.n, x.k, x.aRow, x.aCol, x.bRow, x.bCol, batch[1].n, batch[2].n)
	w.int(batch[0].a, batch[1].a, batch[2].a, batch[0].b, batch[1].b, batch[2].b)
	w.int(x.c.row, x.c.col, x.c.batch)
	w.bool(x.c.operand.Place != device.None)
	w.float(float64(x.alpha), float64(x.c.beta))
	w = append(w, function)
	w.float(x.epilogue.P, x.epilogue.Q)
	w.int(x.first)
	defer b.works(x.m * x.n * x.k * z)
	begins := [2][]int{{x.first, batch[0].a, batch[1].a, batch[2].a}, {batch[0].b, batch[1].b, batch[2].b}}
	if x.m <= fewRows {
		return b.fewRows(x, z, variant, w, sideOf(tileWord, x.m, x.k, x.aRow, x.aCol, begins[0]...),
			sideOf(tileWord, x.n, x.k, x.bCol, x.bRow, begins[1]...))
	}
	word := wordBytes / x.dtype.Bytes(1)
	left := sideOf(word, x.m, x.k, x.aRow, x.aCol, begins[0]...)
	right := sideOf(word, x.n, x.k, x.bCol, x.bRow, begins[1]...)
	if t := b.dev.matrixTiling("matmul/matrix", variant, tiled{x.m, x.n, x.k, z, 4}, mostShares, left, right); t != nil {
		return b.byMatrices(x, t, z, variant, function, w, left, right)
	}
	left = sideOf(tileWord, x.m, x.k, x.aRow, x.aCol, begins[0]...)
	right = sideOf(tileWord, x.n, x.k, x.bCol, x.bRow, begins[1]...)
	return b.byTiles(x, z, variant, function, w, left, right)
}

// The workgroups that a dispatch should have, the most that share an axis, and the least terms of a
// sum (or keys of a query) that each of these takes.
const (
	manyGroups = 128
	mostParts  = 16
	leastTerms = 256
)

// parts returns the number of workgroups that share an axis of n elements, if a dispatch would
// otherwise have few groups. Each takes least elements or more. The results of one have the given
// bytes.
func (b *binder) parts(groups, n, least, bytes int) int {
	parts := min(manyGroups/max(groups, 1), n/least, mostParts)
	for parts > 1 && !b.isVisible(parts*bytes) {
		parts--
	}
	return max(parts, 1)
}

func bindMatMul(o *arith.FusedMatMul, b *binder) error {
	if b.OutRoom != nil {
		return device.Refuse("products follow each other without gaps")
	}
	return b.multiply(productOf(o.Order, b, 0, 1), o.Alpha, addend{}, kit.Epilogue{})
}

// bindMatMulBias adds input 2, a number for each column, and input 3, a value.
func bindMatMulBias(o *arith.MatMulBias, b *binder) error {
	p := productOf([2]arith.AxisOrder{}, b, 0, 1)
	c := addend{operand: b.in(2), col: 1, beta: 1}
	switch {
	case !b.Has(3):
	case !b.Has(2):
		c = addend{operand: b.in(3), row: p.n, col: 1, batch: p.m * p.n, beta: 1}
	case o.Epilogue.Func != "" || b.DType(3) != b.DType(0):
		return device.Refuse("a bias and a value are added, and a function follows")
	default:
		b.step.InPlace = nil // the value is read after the products are written
		if err := b.multiply(p, 1, c, o.Epilogue); err != nil {
			return err
		}
		y := b.OutShape(0)
		return b.pairs("eltwise/binary", "add", b.DType(0), b.out(0), b.in(3), b.out(0), y, y, b.Shape(3))
	}
	return b.multiply(p, 1, c, o.Epilogue)
}

func bindGemm(o *arith.Gemm, epilogue kit.Epilogue, b *binder) error {
	p := productOf([2]arith.AxisOrder{{Matrix: o.TransA}, {Matrix: o.TransB}}, b, 0, 1)
	return b.multiply(p, o.Alpha, b.gemmAddend(o), epilogue)
}

// bindWidenedGemm multiplies float32 by a right operand of other elements, read as they are stored.
func bindWidenedGemm(o *arith.WidenedGemm, b *binder) error {
	if b.DType(1).Blocks() != nil {
		return bindBlocks(o, b)
	}
	d, c := b.DType(1), b.gemmAddend(&o.Gemm)
	if d != tensor.F16 && d != tensor.BF16 {
		return device.Refuse("elements are %v", d)
	}
	p := productOf([2]arith.AxisOrder{{Matrix: o.TransA}, {Matrix: o.TransB}}, b, 0, 1)
	if !o.TransA && o.TransB && p.k%pieceElements == 0 {
		f := &fewBits{m: p.m, n: p.n, k: p.k, shader: "matmul/wide", variant: "f32_" + d.Short(), isWhole: true,
			words: c.blockWords(p.m, p.n, p.k, o.Alpha), operands: []device.Operand{b.in(0), b.in(1), c.operand, b.out(0)}}
		if done, err := f.byMatrices(b, false); done {
			b.works(p.m * p.n * p.k)
			return err
		}
	}
	return b.products(&multiplying{product: p, dtype: tensor.F32, narrow: d, left: b.in(0), right: b.in(1), out: b.out(0),
		alpha: o.Alpha, c: c})
}

// blockWords returns the push constants of include/block_gemm.glsl.
func (c *addend) blockWords(m, n, k int, alpha float32) (w words) {
	w.int(m, n, k, c.row, c.col)
	w.bool(c.operand.Place != device.None)
	w.float(float64(alpha), float64(c.beta))
	return w
}

// gemmAddend returns the addend of Gemm: input 2, unless its factor is 0.
func (b *binder) gemmAddend(o *arith.Gemm) addend {
	c := addend{beta: 1}
	if s := b.Shape(2); b.Has(2) && o.Beta != 0 {
		c = addend{operand: b.in(2), beta: o.Beta}
		if n := len(s); n > 0 && s[n-1] != 1 {
			c.col = 1
		}
		if n := len(s); n > 1 && s[n-2] != 1 {
			c.row = s[n-1]
		}
	}
	return c
}

// The most rows of a matrix for which one invocation computes the determinant, or the inverse.
const (
	mostDet     = 40
	mostInverse = 30
)

func bindDet(_ arith.Det, b *binder) error {
	variant := b.floatName(b.DType(0))
	s := b.Shape(0)
	n, count := s[len(s)-1], b.OutShape(0).Len()
	if n > mostDet {
		return device.Refuse("matrices have %d rows", n)
	}
	defer b.works(count * n * n * n)
	return b.flat("matmul/det", variant, count, nil, words{uint32(count), uint32(n)}, b.in(0), b.temp(4*count*n*n),
		b.out(0))
}

func bindInverse(_ arith.Inverse, b *binder) error {
	variant := b.floatName(b.DType(0))
	s := b.Shape(0)
	n := s[len(s)-1]
	if n > mostInverse {
		return device.Refuse("matrices have %d rows", n)
	}
	count := s.Len() / (n * n)
	defer b.works(2 * count * n * n * n)
	return b.flat("matmul/inverse", variant, count, nil, words{uint32(count), uint32(n)}, b.in(0),
		b.temp(tensor.F64.Bytes(s.Len())), b.temp(4*count*n), b.out(0))
}

// bindPackedMatMul multiplies matrices of integers of 16 bits or fewer, read as they are stored.
func bindPackedMatMul(_ *openinfer.MatMul, b *binder) error {
	d, result := b.DType(0), b.Out[0].DType
	kind := b.packedKind(d)
	p := productOf([2]arith.AxisOrder{}, b, 0, 1)
	// Sums of 32 bits equal sums of 64 bits while they do not wrap.
	const most = 1<<31 - 1
	switch {
	case len(p.batch) > batchAxes:
		return device.Refuse("the batch has %d axes", len(p.batch))
	case result.Bits() == 64 && (d.Bits() > 8 || p.k > most>>(2*d.Bits())):
		return device.Refuse("sums of %d products of %v elements may take 64 bits", p.k, d)
	case result == tensor.T1:
		return device.Refuse("results are %v", result)
	}
	each := max(1, 32/result.Bits())
	b.Note(b.loops(each * p.k))
	batch := []batchAxis{{1, 0, 0}, {1, 0, 0}, {1, 0, 0}}
	copy(batch[batchAxes-len(p.batch):], p.batch)
	total := b.OutShape(0).Len()
	var w words
	w.int(total, p.m, p.n, p.k, p.aRow, p.aCol, p.bRow, p.bCol, batch[1].n, batch[2].n)
	w.int(batch[0].a, batch[1].a, batch[2].a, batch[0].b, batch[1].b, batch[2].b)
	defer b.works(total * p.k)
	return b.flat("matmul/packed", "integers", (total+each-1)/each,
		[]uint32{uint32(d.Bits()), kind, uint32(result.Bits())}, w, b.in(0), b.in(1), b.out(0))
}

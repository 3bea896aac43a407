package op

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// multiplier multiplies matrices of one element type: f32 and the 16-bit floats
// with sums in f32, the others in their own type.
type multiplier struct {
	dtype  tensor.DType
	kernel bindings.Kernel
	right  []byte // a constant right operand, packed; nil if there is none
}

// gemmOps is the kernel op for each element type. Sums that wrap have the same
// bits whether their terms have signs or not.
var gemmOps = map[tensor.DType]string{
	tensor.F32: "f32_gemm", tensor.F16: "f32_gemm", tensor.BF16: "f32_gemm", tensor.F64: "f64_gemm",
	tensor.I32: "u32_gemm", tensor.U32: "u32_gemm", tensor.I64: "u64_gemm", tensor.U64: "u64_gemm",
}

// products is the extents and strides of a batch of products.
type products struct {
	m, n, k                int
	aRow, aCol, bRow, bCol int
	batch                  []int // as bindings.Gemm.Batch
}

// addend is what is added to a product, after it is scaled by alpha: beta times
// a matrix whose extents are 1 or those of the product.
type addend struct {
	t           *tensor.Tensor // nil for none
	rows, cols  int
	alpha, beta float32
	finish      bindings.Finish // what follows, for narrow floats
}

func (p *multiplier) prepare(c *Prepare) (err error) {
	p.dtype = c.DType(0)
	name, ok := gemmOps[p.dtype]
	if !ok {
		return graph.Mark(graph.ErrUnsupported, "products of %v elements", p.dtype)
	}
	p.kernel, err = c.Kernel(name)
	return err
}

// packRight packs constant input i, whose last two axes are [k,n], or [n,k] if
// transposed.
func (p *multiplier) packRight(c *Prepare, i int, transposed bool) error {
	w := c.Const(i)
	ft, ok := floatTypes[p.dtype]
	if w == nil || !ok || len(w.Shape()) < 2 || w.Len() == 0 || w.DType() != p.dtype {
		return nil
	}
	k, n := w.Shape()[len(w.Shape())-2], w.Shape()[len(w.Shape())-1]
	b := bindings.Operand{Type: ft, Row: n, Col: 1}
	if transposed {
		k, n = n, k
		b.Row, b.Col = 1, k
	}
	size := p.kernel.PackedB(n, k)
	const mostPadding = 4
	if n == 1 || size > mostPadding*n*k+mostPadding*k {
		return nil
	}
	count := w.Len() / (k * n)
	kind := fmt.Sprintf("%s %s right %d %dx%d %v", p.kernel.Op(), p.kernel.Variant(), count, k, n, transposed)
	each := w.DType().Bytes(size)
	packed, err := c.Packs.Get(w, kind, count*each, func(dst []byte) {
		w := w.Aligned()
		for q := range count {
			p.kernel.PackB(n, k, b, unsafe.Add(w.Pointer(), w.DType().Bytes(q*k*n)), dst[q*each:][:each])
		}
	})
	if err != nil {
		return err
	}
	p.right = packed
	c.Drop(i)
	return nil
}

// describe names the kernel.
func (p *multiplier) describe() string {
	if !p.kernel.Valid() {
		return ""
	}
	s := p.kernel.Op() + " " + p.kernel.Variant()
	if p.right != nil {
		s += ", packed weights"
	}
	return s
}

var floatTypes = map[tensor.DType]bindings.FloatType{
	tensor.F32: bindings.Float32, tensor.F16: bindings.Float16, tensor.BF16: bindings.BFloat16,
}

// asFloats returns bytes of memory that ops get, which is aligned, as floats.
func asFloats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// run computes out = alpha·a·b + beta·(what is added), and what follows it.
func (p *multiplier) run(c *Run, s *products, a, b, out *tensor.Tensor, add addend) error {
	if out.Len() == 0 {
		return nil
	}
	if _, ok := floatTypes[p.dtype]; !ok {
		return p.runWide(c, s, a, b, out, add)
	}
	if err := checkAdded(add.finish, out); err != nil {
		return err
	}
	ft := floatTypes[p.dtype]
	g := bindings.Gemm{
		Kernel: p.kernel, M: s.m, N: s.n, K: s.k, C: ft, LDC: s.n, Alpha: add.alpha, Batch: s.batch, Finish: add.finish,
		A: bindings.Operand{Type: ft, Row: s.aRow, Col: s.aCol},
		B: bindings.Operand{Type: ft, Row: s.bRow, Col: s.bCol},
	}
	right := b.Pointer()
	if p.right != nil {
		g.B = bindings.Operand{Packed: true, Type: ft}
		g.Batch = packedBatch(s, p.kernel.PackedB(s.n, s.k))
		right = unsafe.Pointer(unsafe.SliceData(p.right))
	}
	row, col, err := p.addends(c, s, &g, add)
	if err != nil {
		return err
	}
	scratch, err := c.scratchFloats(g.Scratch(c.Pool))
	if err != nil {
		return err
	}
	g.Run(c.Pool, a.Pointer(), right, row, col, out.Pointer(), scratch)
	return nil
}

// runFloats computes dst = alpha·a·b, one product, in float32; col, unless it is
// nil, is added to every row.
func (p *multiplier) runFloats(c *Run, s *products, a, b unsafe.Pointer, alpha float32, col, dst []float32) error {
	ft := floatTypes[p.dtype]
	g := bindings.Gemm{
		Kernel: p.kernel, M: s.m, N: s.n, K: s.k, LDC: s.n, Alpha: alpha,
		A: bindings.Operand{Type: ft, Row: s.aRow, Col: s.aCol}, B: bindings.Operand{Type: ft, Row: s.bRow, Col: s.bCol},
	}
	if p.right != nil {
		g.B = bindings.Operand{Packed: true, Type: ft}
		b = unsafe.Pointer(unsafe.SliceData(p.right))
	}
	scratch, err := c.scratchFloats(g.Scratch(c.Pool))
	if err != nil {
		return err
	}
	g.Run(c.Pool, a, b, nil, col, unsafe.Pointer(unsafe.SliceData(dst)), scratch)
	return nil
}

// packedBatch is the batch axes with the right operand's strides in packed
// matrices of that size.
func packedBatch(s *products, size int) []int {
	list := slices.Clone(s.batch)
	for i := len(list) / 3 * 2; i < len(list); i++ {
		list[i] = list[i] / (s.k * s.n) * size
	}
	return list
}

// addends returns what is added as a vector for the rows or the columns, or else
// has the product add it to each element.
func (p *multiplier) addends(c *Run, s *products, g *bindings.Gemm, add addend) (row, col []float32, err error) {
	if add.t == nil || add.beta == 0 {
		return nil, nil, nil
	}
	v, err := c.floats(add.t)
	if err != nil {
		return nil, nil, err
	}
	whole := add.rows == s.m && add.cols == s.n && s.m > 1 && s.n > 1
	if add.beta != 1 || len(v) == 1 {
		size := len(v)
		if size == 1 {
			size = s.n
		}
		scaled, err := c.scratchFloats(size)
		if err != nil {
			return nil, nil, err
		}
		for i := range scaled {
			scaled[i] = v[min(i, len(v)-1)]
		}
		scaleFloats(scaled, scaled, add.beta)
		if len(v) == 1 {
			return nil, scaled, nil
		}
		v = scaled
	}
	switch {
	case whole:
		g.Add = v
		return nil, nil, nil
	case add.rows > 1:
		return v, nil, nil
	}
	return nil, v, nil
}

func scaleFloats(dst, src []float32, by float32) {
	if by == 1 {
		copy(dst, src)
		return
	}
	for i, v := range src {
		dst[i] = v * by
	}
}

func (p *multiplier) runWide(c *Run, s *products, a, b, out *tensor.Tensor, add addend) error {
	g := bindings.WideGemm{
		Kernel: p.kernel, M: s.m, N: s.n, K: s.k, LDC: s.n, Batch: s.batch,
		ARow: s.aRow, ACol: s.aCol, BRow: s.bRow, BCol: s.bCol,
	}
	scratch, err := c.Mem.Scratch(p.dtype.Bytes(g.Scratch(c.Pool)))
	if err != nil {
		return err
	}
	g.Run(c.Pool, a.Pointer(), b.Pointer(), out.Pointer(), unsafe.Pointer(unsafe.SliceData(scratch)))
	switch p.dtype {
	case tensor.F64:
		addWide[float64](s, out, add)
	case tensor.I32:
		addWide[int32](s, out, add)
	case tensor.U32:
		addWide[uint32](s, out, add)
	case tensor.I64:
		addWide[int64](s, out, add)
	case tensor.U64:
		addWide[uint64](s, out, add)
	}
	return nil
}

// addWide scales and adds to a single product. Integers are scaled in float64
// and cut to integers at the end, as numpy does, unless nothing is scaled.
func addWide[T float64 | int32 | uint32 | int64 | uint64](s *products, out *tensor.Tensor, add addend) {
	has := add.t != nil && add.beta != 0
	if !has && add.alpha == 1 {
		return
	}
	y := tensor.View[T](out)
	var c []T
	if has {
		c = tensor.View[T](add.t)
	}
	for i := range s.m {
		for j := range s.n {
			at := i*s.n + j
			var v T
			if has {
				v = c[min(i, add.rows-1)*add.cols+min(j, add.cols-1)]
			}
			if add.alpha == 1 && (!has || add.beta == 1) {
				y[at] += v
			} else {
				y[at] = T(float64(y[at])*float64(add.alpha) + float64(v)*float64(add.beta))
			}
		}
	}
}

// matmulProducts cuts row-major operands with at least two axes into products,
// as few as there can be: axes that both operands, or neither, step over
// together become one, and rows that share their right operand one matrix.
func matmulProducts(a, b tensor.Shape) products {
	la, lb := len(a)-2, len(b)-2
	s := products{m: a[la], k: a[la+1], n: b[lb+1]}
	s.aRow, s.aCol, s.bRow, s.bCol = s.k, 1, s.n, 1
	axes := broadcastAxes(a[:la], b[:lb], s.m*s.k, s.k*s.n)
	if last := len(axes) - 1; last >= 0 && axes[last][2] == 0 && axes[last][1] == s.m*s.k {
		s.m *= axes[last][0]
		axes = axes[:last]
	}
	for part := range 3 {
		for _, x := range axes {
			s.batch = append(s.batch, x[part])
		}
	}
	return s
}

// broadcastAxes returns extent, stride in a and stride in b of the batch axes
// of operands whose matrices are that many elements apart.
func broadcastAxes(a, b tensor.Shape, aStep, bStep int) [][3]int {
	var axes [][3]int // innermost first
	for i := 1; i <= max(len(a), len(b)); i++ {
		x := [3]int{1, 0, 0}
		if d := fromEnd(a, i); d != 1 {
			x[0], x[1] = d, aStep
			aStep *= d
		}
		if d := fromEnd(b, i); d != 1 {
			x[0], x[2] = d, bStep
			bStep *= d
		}
		if x[0] == 1 {
			continue
		}
		if n := len(axes) - 1; n >= 0 && x[1] == axes[n][1]*axes[n][0] && x[2] == axes[n][2]*axes[n][0] {
			axes[n][0] *= x[0]
			continue
		}
		axes = append(axes, x)
	}
	slices.Reverse(axes)
	return axes
}

// checkAdded reports values to add that are not as many as those of the output.
func checkAdded(f bindings.Finish, y *tensor.Tensor) error {
	if f.Add != nil && len(f.Add) != y.Len() {
		return graph.Mark(graph.ErrShape, "Z has %d elements and the output is %v", len(f.Add), y)
	}
	return nil
}

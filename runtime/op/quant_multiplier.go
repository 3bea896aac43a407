package op

import (
	"fmt"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// byteMultiplier multiplies matrices of bytes, with sums in 32 bits that wrap.
type byteMultiplier struct {
	kernel bindings.Kernel
	right  []byte // a constant right operand, packed; nil if there is none
}

func (p *byteMultiplier) prepare(c *Prepare) (err error) {
	p.kernel, err = c.Kernel("i8_gemm")
	return err
}

// packRight packs constant input i, whose last two axes are [k,n], or [n,k] if
// transposed.
func (p *byteMultiplier) packRight(c *Prepare, i int, transposed bool) error {
	w := c.Const(i)
	if w == nil || len(w.Shape()) < 2 || w.Len() == 0 {
		return nil
	}
	k, n := w.Shape()[len(w.Shape())-2], w.Shape()[len(w.Shape())-1]
	o := byteOperand(w.DType(), n, 1)
	if transposed {
		k, n = n, k
		o.Row, o.Col = 1, k
	}
	size := p.kernel.PackedBytesB(n, k)
	const mostPadding = 4
	if n == 1 || size > mostPadding*(n*k+4*n+64) {
		return nil
	}
	count := w.Len() / (k * n)
	kind := fmt.Sprintf("%s %s right %d %dx%d %v", p.kernel.Op(), p.kernel.Variant(), count, k, n, transposed)
	var err error
	p.right, err = c.Packs.Get(w, kind, count*size, func(dst []byte) {
		for q := range count {
			p.kernel.PackBytesB(n, k, o, unsafe.Add(w.Pointer(), q*k*n), dst[q*size:][:size])
		}
	})
	c.Drop(i)
	return err
}

// byteOperand describes a matrix of bytes that lies in memory with those strides.
func byteOperand(d tensor.DType, row, col int) bindings.ByteOperand {
	return bindings.ByteOperand{Signed: d == tensor.I8, Row: row, Col: col}
}

func (p *byteMultiplier) describe() string {
	switch {
	case !p.kernel.Valid():
		return ""
	case p.right != nil:
		return describe(p.kernel) + ", packed weights"
	}
	return describe(p.kernel)
}

// byteJob is what belongs to products of bytes besides their operands.
type byteJob struct {
	vectors          bindings.ByteVectors
	rows, cols       int // how many vectors for rows and for columns there are
	biasRow, biasCol int
	as               bindings.QuantType
	zero             int32 // of codes that are made
}

// zeros sets the zero points of the operands.
func (j *byteJob) zeros(c *Run, rows, cols *quantLanes, a, b *tensor.Tensor) (err error) {
	j.rows, j.cols = rows.vectors, cols.vectors
	if j.vectors.AZero, err = rows.zeros(c, a); err == nil {
		j.vectors.BZero, err = cols.zeros(c, b)
	}
	return err
}

// scales sets by what sums are multiplied: alpha, the scales of the operands, and
// one over the divisor. One scale of all rows goes into those of the columns.
func (j *byteJob) scales(c *Run, rows, cols *quantLanes, a, b *tensor.Tensor, alpha, divisor float32) (err error) {
	if a.Len() == 1 {
		alpha *= float32(scalarFloat(a))
		a = nil
	}
	if j.vectors.RowScale, err = rows.scales(c, a); err != nil {
		return err
	}
	if j.vectors.ColScale, err = cols.scales(c, b); err != nil {
		return err
	}
	for i, s := range j.vectors.ColScale {
		j.vectors.ColScale[i] = alpha * s / divisor
	}
	return nil
}

// gemm describes products for the kernel, and returns its right operand.
func (p *byteMultiplier) gemm(s *products, j *byteJob, a, b *tensor.Tensor) (*bindings.ByteGemm, unsafe.Pointer) {
	g := &bindings.ByteGemm{
		Kernel: p.kernel, M: s.m, N: s.n, K: s.k, Batch: s.batch, Rows: j.rows, Cols: j.cols, BiasRow: j.biasRow, BiasCol: j.biasCol,
		A: byteOperand(a.DType(), s.aRow, s.aCol), B: byteOperand(b.DType(), s.bRow, s.bCol), Type: j.as, Zero: j.zero,
	}
	right := b.Pointer()
	if p.right != nil {
		g.B.Packed = true
		g.Batch = packedBatch(s, p.kernel.PackedBytesB(s.n, s.k))
		right = unsafe.Pointer(unsafe.SliceData(p.right))
	}
	return g, right
}

// run computes products of a and b.
func (p *byteMultiplier) run(c *Run, s *products, j *byteJob, a, b *tensor.Tensor, out unsafe.Pointer) error {
	g, right := p.gemm(s, j, a, b)
	scratch, err := c.Mem.Scratch(g.Scratch(c.Pool))
	if err != nil {
		return err
	}
	g.Run(c.Pool, a.Pointer(), right, &j.vectors, out, scratch)
	return nil
}

// byteMatrices is two operands with the rules of matmul, cut into products.
type byteMatrices struct {
	products
	rows, cols *quantLanes
}

// admit takes numbers for rows and columns in turn.
func (m *byteMatrices) admit(list ...*tensor.Tensor) error {
	for i, t := range list {
		l := m.rows
		if i%2 != 0 {
			l = m.cols
		}
		if err := l.admit(t); err != nil {
			return err
		}
	}
	return nil
}

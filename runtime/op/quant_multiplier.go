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

// packRight packs constant input i, whose last two axes are [k,n].
func (p *byteMultiplier) packRight(c *Prepare, i int) error {
	w := c.Const(i)
	if w == nil || len(w.Shape()) < 2 || w.Len() == 0 {
		return nil
	}
	k, n := w.Shape()[len(w.Shape())-2], w.Shape()[len(w.Shape())-1]
	o := byteOperand(w.DType(), n, 1)
	size := p.kernel.PackedBytesB(n, k)
	const mostPadding = 4
	if n == 1 || size > mostPadding*(n*k+4*n+64) {
		return nil
	}
	count := w.Len() / (k * n)
	kind := fmt.Sprintf("%s %s right %d %dx%d", p.kernel.Op(), p.kernel.Variant(), count, k, n)
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

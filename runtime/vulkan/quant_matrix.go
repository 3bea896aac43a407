package vulkan

import (
	"bytes"
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// codeProduct is products of codes by cooperative matrices.
type codeProduct struct {
	*lower.ByteProduct
	product     *product
	tiled       tiled
	aType       tensor.DType
	left, right matrixSide
}

// turned returns the right operand of products of codes. A constant matrix [k,n] that cooperative
// matrices will read is turned to [n,k] once for all plans of the model: shared memory hands them
// columns of codes in much more time than rows. Its strides in g are then the new ones.
func (b *binder) turned(p *lower.ByteProduct, g *product) (device.Operand, error) {
	c, n := b.Const(p.B), g.k*g.n
	_, has := b.dev.matrices["i8"]
	if !has || c == nil || min(g.m, g.n) <= fewRows || g.bCol != 1 || g.bRow != g.n || g.k%wordBytes != 0 ||
		c.Shape().Len() != n || !b.isVisible(n) {
		return b.in(p.B), nil
	}
	g.bRow, g.bCol = 1, g.k
	w := words{}
	w.int(n, 0, 0)
	w.int(1, 1, 1, 1, 1, 1, g.n, g.k) // extents, and the strides of both
	w.int(0, 0, 0, 0, 0, 0, 1, g.n)
	w.int(0, 0, 0, 0, 0, 0, g.k, 1)
	return b.prepared(c.Bytes(), n, "copy/strided", "w1", n, nil, w)
}

// codesByMatrices adds the dispatch of products of codes, and of sums of codes that zero points are
// multiplied by. Operands are the ones of quant/product.
func (b *binder) codesByMatrices(
	x *codeProduct, t *tiling, variant string, signs []uint32, w words, operands []device.Operand,
) error {
	const codesA, codesB = 0, 3 // operands
	g, sums := x.product, [2]device.Operand{}
	has := [2]bool{!b.isMiddle(x.BZero, b.DType(x.B)), !b.isMiddle(x.AZero, x.aType)}
	if has[0] && g.k > 0 {
		lines := &codeLines{codes: operands[codesA], dtype: x.aType, n: g.m, k: g.k, step: g.aRow, kStep: g.aCol}
		if !x.Floats {
			lines.constant = b.Const(x.A)
		}
		if err := b.addCodes(lines, b.Shape(x.A).Len()/g.k, &sums[0]); err != nil {
			return err
		}
	}
	if has[1] && g.k > 0 {
		lines := &codeLines{codes: operands[codesB], dtype: b.DType(x.B), n: g.n, k: g.k, step: g.bCol, kStep: g.bRow}
		if c := b.Const(x.B); c != nil {
			lines.constant = c
			if isPrepared(&operands[codesB]) { // it was [k,n]
				lines.step, lines.kStep = 1, g.n
			}
		}
		if err := b.addCodes(lines, b.Shape(x.B).Len()/g.k, &sums[1]); err != nil {
			return err
		}
	}
	grid, whole := t.grid(g.m, g.n, x.tiled.z), t.isWhole(x.tiled, x.left, x.right)
	if variant == "integers" && whole && t.parts == 1 && !has[0] && !has[1] && !b.Has(x.Bias) {
		variant += "_straight"
	}
	partial, counters := b.shares(t.parts, product3(grid[:]), 4*t.rows*t.cols)
	grid[2] *= t.parts
	given := []uint32{uint32(t.parts), uint32(kit.Btoi(whole)), 0}
	for i, o := range sums {
		given[2] |= uint32(kit.Btoi(o.Place != device.None)) << i
	}
	return b.dispatch(t.shader, variant, t.size, grid, slices.Concat(t.constants, wordConstants(x.left, x.right), signs, given),
		w, append(operands, sums[0], sums[1], partial, counters)...)
}

// isMiddle reports whether the zero points of codes of a type, input i, are constants and 0 as signed
// codes: 0, or 128 of unsigned codes.
func (b *binder) isMiddle(i int, d tensor.DType) bool {
	middle := byte(0)
	if d == tensor.U8 {
		middle = 128
	}
	if !b.Has(i) {
		return middle == 0
	}
	c := b.Const(i)
	return c != nil && bytes.Count(c.Bytes(), []byte{middle}) == len(c.Bytes())
}

// codeLines are rows or columns of matrices of codes, n of each: codes of a line are kStep apart, and
// lines step. The codes may be a constant.
type codeLines struct {
	codes    device.Operand
	constant *tensor.Tensor
	dtype    tensor.DType
	n, k     int
	step     int
	kStep    int
}

// addCodes sets sums to the sums of the signed codes of all lines. Sums of constants are computed
// once for all plans of the model.
func (b *binder) addCodes(l *codeLines, all int, sums *device.Operand) (err error) {
	const word = 4
	lanes, isWords := 1, false
	if l.kStep == 1 {
		lanes, isWords = 16, l.k%word == 0 && l.step%word == 0
	}
	var w, constants words
	w.int(all, l.n, l.k, l.step, l.kStep, l.n*l.k)
	constants.int(lanes)
	constants.bool(isWords)
	constants = append(constants, signed(l.dtype))
	n := tensor.I32.Bytes(all)
	if c := l.constant; c != nil && b.isVisible(len(c.Bytes())) {
		*sums, err = b.prepared(c.Bytes(), n, "quant/sums", "codes", all*lanes, constants, w)
		return err
	}
	if err := b.loops(6 * (l.k + lanes - 1) / lanes); err != nil {
		return err
	}
	*sums = b.temp(n)
	return b.flat("quant/sums", "codes", all*lanes, constants, w, l.codes, *sums)
}

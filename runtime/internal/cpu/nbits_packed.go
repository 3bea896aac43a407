package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// countWord is the word with the rows of weights of a product that packs them.
const countWord = 1

// nbitsConstants are weights that can be packed. zeros is nil for none.
type nbitsConstants struct{ codes, scales, zeros *tensor.Tensor }

// nbitsConstants returns the constants of a product, or nil if one of them is not a constant that
// stays in memory, or if scales and zero points are floats of two types.
func (b *binder) nbitsConstants(codes, scales, zeros int) *nbitsConstants {
	c := &nbitsConstants{b.Const(codes), b.Const(scales), b.Const(zeros)}
	if !b.packable(c.codes) || !b.packable(c.scales) || b.Has(zeros) && !b.packable(c.zeros) {
		return nil
	}
	if c.zeros != nil && c.zeros.DType() != tensor.U8 && c.zeros.DType() != c.scales.DType() {
		return nil
	}
	return c
}

// bindNBitsPanels multiplies by constant weights that are packed in panels.
func bindNBitsPanels(o *quant.MatMulNBits, kernel string, b *binder) error {
	rows, err := b.rowCount(0)
	if err != nil || rows.Same(graph.Known(0)) {
		return err
	}
	constants := b.nbitsConstants(panelsBlocks, panelsScales, panelsZeros)
	switch {
	case constants == nil:
		return device.Refuse("codes are packed if they, their scales and their zero points are constant and stay in memory")
	case b.Has(4):
		return device.Refuse("g_idx spreads columns over blocks")
	}
	codes := nbitsWordsOf(o, rows, b)
	codes.from = constants.from()
	v := &panelsWords{m: rows, n: o.N, k: o.K, codes: codes}
	a := b.floats(0)
	bias := b.floats(5)
	if err := b.inFloats(func(c device.Operand) error {
		return b.panels(kernel, v, constants.codes, constants.pieces, a, bias, c)
	}); err != nil {
		return err
	}
	b.step.Dropped |= 1<<panelsScales | 1<<panelsZeros
	return nil
}

// from returns the kind of the zero points.
func (c *nbitsConstants) from() int {
	switch {
	case c.zeros == nil:
		return zerosMiddle
	case c.zeros.DType() == tensor.U8:
		return zerosCodes
	}
	return zerosFloats
}

// pieces divides weights by rows into pieces of about pieceBytes of codes, each of whole panels. The
// first piece writes all scales and zero points.
func (c *nbitsConstants) pieces(k bindings.Kernel, list []int64) pieces {
	rows := int(list[countWord])
	rowBytes := c.codes.Len() / rows
	panel := k.Packed(withCount(list, 1), panelsBlocks)
	step := max(pieceBytes/rowBytes/k.Panel(), 1) * k.Panel()
	fill := func(w *tensor.Tensor, from, n int, all []byte) error {
		k.Pack(withCount(list, n), panelsBlocks, w.Bytes(), all[from/k.Panel()*panel:])
		if from > 0 {
			return nil
		}
		return c.packScales(k, list, 1, all)
	}
	return pieces{rows: rows, step: step, unit: k.Panel(), others: []*tensor.Tensor{c.scales, c.zeros}, fill: fill}
}

// packScales writes the scales and zero points of matrices, each with these words, to their places
// in all.
func (c *nbitsConstants) packScales(k bindings.Kernel, list []int64, matrices int, all []byte) error {
	size := len(all) / matrices
	for i, t := range []*tensor.Tensor{panelsScales: c.scales, panelsZeros: c.zeros} {
		if t == nil {
			continue
		}
		pack := func(t *tensor.Tensor) error {
			each := t.Size() / matrices
			for at := range matrices {
				k.Pack(list, i, t.Bytes()[at*each:][:each], all[at*size:])
			}
			return nil
		}
		if err := aligned(t, pack); err != nil {
			return err
		}
	}
	return nil
}

// withCount returns the words of a product with n rows of weights.
func withCount(list []int64, n int) []int64 {
	list = append([]int64(nil), list...)
	list[countWord] = int64(n)
	return list
}

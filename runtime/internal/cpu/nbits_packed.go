package cpu

import (
	"fmt"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// The operands of a product with codes that are packed together.
const (
	nbitsCodes  = 1
	nbitsScales = 2
	nbitsZeros  = 3
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

// chooseNBits returns the best kernel of an op for a product. Each kernel is asked about weights in
// the form that it would read.
func (b *binder) chooseNBits(op string, v *nbitsWords, constants *nbitsConstants) (bindings.Kernel, error) {
	if constants == nil {
		return b.choose(op, v.words())
	}
	packed := *v
	packed.packed = true
	var lists [2][]int64
	for i, w := range []words{v.words(), packed.words()} {
		var err error
		if lists[i], err = b.numbers(w); err != nil {
			return bindings.Kernel{}, err
		}
	}
	return b.chooseFor(op, v.words().fixed(), func(k bindings.Kernel) []int64 {
		if k.Packed(lists[1], nbitsCodes) > 0 {
			return lists[1]
		}
		return lists[0]
	})
}

// packedNBits returns weights as kernel k reads them. Kernels that pack alike share them, whatever
// the number of rows of the product and its part.
func (b *binder) packedNBits(k bindings.Kernel, v *nbitsWords, c *nbitsConstants) (device.Operand, error) {
	own := *v
	own.m = graph.Known(1)
	list, err := b.numbers(own.words())
	if err != nil {
		return device.Operand{}, err
	}
	own.gemm = bindings.Kernel{}
	key := packKey{packing: k.Packing(), operand: nbitsCodes, words: fmt.Sprint(own.words(), address(c.scales), address(c.zeros))}
	data, err := b.dev.packPieces(c.codes, key, k.Packed(list, nbitsCodes), c.pieces(k, list))
	o, _, err := b.packedOperand(nbitsCodes, data, err)
	b.step.Dropped |= 1<<nbitsScales | 1<<nbitsZeros
	return o, err
}

// address identifies the elements of a constant; nil has 0.
func address(t *tensor.Tensor) uintptr {
	if t == nil {
		return 0
	}
	return uintptr(t.Identity())
}

// pieces divides weights by rows into pieces of about pieceBytes of codes, each of whole panels. The
// first piece writes all scales and zero points.
func (c *nbitsConstants) pieces(k bindings.Kernel, list []int64) pieces {
	rows := int(list[countWord])
	rowBytes := c.codes.Len() / rows
	panel := k.Packed(withCount(list, 1), nbitsCodes)
	step := max(pieceBytes/rowBytes/k.Panel(), 1) * k.Panel()
	fill := func(w *tensor.Tensor, from, n int, all []byte) error {
		k.Pack(withCount(list, n), nbitsCodes, w.Pointer(), all[from/k.Panel()*panel:])
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
	for i, t := range []*tensor.Tensor{nbitsScales: c.scales, nbitsZeros: c.zeros} {
		if t == nil {
			continue
		}
		pack := func(t *tensor.Tensor) error {
			each := t.Size() / matrices
			for at := range matrices {
				k.Pack(list, i, unsafe.Add(t.Pointer(), at*each), all[at*size:])
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

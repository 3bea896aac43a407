package cpu

import (
	"fmt"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// The operands of a product with panels that are packed together: blocks or codes, and scales and
// zero points of codes. MatMulNBits has inputs in the same order.
const (
	panelsBlocks = 1
	panelsScales = 2
	panelsZeros  = 3
)

// panelsWords is nacre_block_panels_words of csrc/blocks/panels.h.
type panelsWords struct {
	m     graph.Dim
	n, k  int
	of    *packed.Blocks // nil for codes
	codes *nbitsWords    // nil for blocks
	gemm  bindings.Kernel
}

func (v *panelsWords) words() words {
	var w words
	w.dim(v.m)
	w.int(v.n, v.k, max(0, blockType(v.of)))
	w.part(v.gemm)
	w.int(bookAddress(v.of))
	if c := v.codes; c != nil {
		w.int(c.bits, c.block, c.rowBytes, c.rowScale, typeWord(c.scales), c.from)
	} else {
		w.int(0, 0, 0, 0, 0, 0)
	}
	return w
}

// bindBlocksPanels multiplies by constant blocks that are packed in panels.
func bindBlocksPanels(o *arith.WidenedGemm, kernel string, b *binder) error {
	of, w := b.DType(1).Blocks(), b.Const(1)
	switch {
	case of == nil:
		return device.Refuse("the right operand is not in blocks")
	case !b.packable(w):
		return device.Refuse("blocks are packed if they are constant and stay in memory")
	case o.Alpha != 1:
		return device.Refuse("the product is scaled by %v", o.Alpha)
	}
	if b.isEmpty() {
		return nil
	}
	v := &panelsWords{m: b.Out[0].Dims[0], n: w.Shape()[0], k: w.Shape()[1], of: of}
	s := b.addend(&o.Gemm, b.gemmProduct(&o.Gemm))
	cut := func(k bindings.Kernel, list []int64) pieces { return blockPieces(k, list, w) }
	if err := b.panels(kernel, v, w, cut, b.in(0), s.col, b.out(0)); err != nil {
		return err
	}
	return b.addRest(s)
}

// panels adds a command of a product of a by constant input 1, w, which is packed in the pieces that
// cut returns. Kernels that pack alike share them, whatever the number of rows of the product and its
// part.
func (b *binder) panels(
	kernel string, v *panelsWords, w *tensor.Tensor, cut func(k bindings.Kernel, list []int64) pieces, a, bias, c device.Operand,
) error {
	k, part, err := b.chooseWith(kernel, false, func(part bindings.Kernel) words {
		v.gemm = part
		return v.words()
	}, "f32_gemm")
	if err != nil {
		return err
	}
	v.gemm = part
	own := panelsWords{m: graph.Known(1), n: v.n, k: v.k, of: v.of, codes: v.codes}
	list, err := b.numbers(own.words())
	if err != nil {
		return err
	}
	parts := cut(k, list)
	key := packKey{packing: k.Packing(), operand: panelsBlocks, words: fmt.Sprint("panels ", own.words())}
	for _, t := range parts.others {
		key.words += fmt.Sprint(" ", address(t))
	}
	data, err := b.dev.packPieces(w, key, k.Packed(list, panelsBlocks), parts)
	operand, _, err := b.packedOperand(panelsBlocks, data, err)
	if err != nil {
		return err
	}
	none := device.Operand{}
	return b.add(k, []bindings.Kernel{part}, v.words(), a, operand, none, none, bias, c)
}

// address identifies the elements of a constant; nil has 0.
func address(t *tensor.Tensor) uintptr {
	if t == nil {
		return 0
	}
	return uintptr(t.Identity())
}

// bookAddress returns the address of the code book of a type, or 0 for none.
func bookAddress(of *packed.Blocks) int {
	if of == nil || of.Book() == nil {
		return 0
	}
	return int(bindings.Resident(memoryOf(of.Book())))
}

// blockPieces divides blocks by rows into pieces of about pieceBytes, each of whole panels.
func blockPieces(k bindings.Kernel, list []int64, w *tensor.Tensor) pieces {
	rows := w.Shape()[0]
	row := w.DType().Bytes(w.Shape()[1])
	panel := k.Packed(withCount(list, 1), panelsBlocks)
	step := max(pieceBytes/row/k.Panel(), 1) * k.Panel()
	return pieces{rows: rows, step: step, unit: k.Panel(), fill: func(w *tensor.Tensor, from, n int, all []byte) error {
		k.Pack(withCount(list, n), panelsBlocks, w.Bytes(), all[from/k.Panel()*panel:])
		return nil
	}}
}

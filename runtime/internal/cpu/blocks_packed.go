package cpu

import (
	"fmt"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// panelsBlocks is the operand of a product with panels of blocks that is packed.
const panelsBlocks = 1

// panelsWords is nacre_block_panels_words of csrc/blocks/panels.h.
type panelsWords struct {
	m    graph.Dim
	n, k int
	of   *packed.Blocks
	gemm bindings.Kernel
	book uintptr // address of the code book, for packing
}

func (v *panelsWords) words() words {
	var w words
	w.dim(v.m)
	w.int(v.n, v.k, blockType(v.of))
	w.part(v.gemm)
	w.int(int(v.book))
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
	s, err := b.blocksAddend(o)
	if err != nil {
		return err
	}
	k, part, err := b.chooseWith(kernel, false, func(part bindings.Kernel) words {
		v.gemm = part
		return v.words()
	}, "f32_gemm")
	if err != nil {
		return err
	}
	v.gemm = part
	operand, err := b.packedBlocks(k, v, w)
	if err != nil {
		return err
	}
	if err := b.add(k, []bindings.Kernel{part}, v.words(), b.in(0), operand, s.col, b.out(0)); err != nil {
		return err
	}
	return b.addRest(s)
}

// packedBlocks returns blocks as kernel k reads them. Kernels that pack alike share them, whatever
// the number of rows of the product and its part.
func (b *binder) packedBlocks(k bindings.Kernel, v *panelsWords, w *tensor.Tensor) (device.Operand, error) {
	own := panelsWords{m: graph.Known(1), n: v.n, k: v.k, of: v.of, book: bookAddress(v.of)}
	list, err := b.numbers(own.words())
	if err != nil {
		return device.Operand{}, err
	}
	key := packKey{packing: k.Packing(), operand: panelsBlocks, words: fmt.Sprint("blocks ", own.words())}
	data, err := b.dev.packPieces(w, key, k.Packed(list, panelsBlocks), blockPieces(k, list, w))
	o, _, err := b.packedOperand(panelsBlocks, data, err)
	return o, err
}

// bookAddress returns the address of the code book of a type, or 0 for none.
func bookAddress(of *packed.Blocks) uintptr {
	book := of.Book()
	if book == nil {
		return 0
	}
	return uintptr(unsafe.Pointer(&book[0]))
}

// blockPieces divides blocks by rows into pieces of about pieceBytes, each of whole panels.
func blockPieces(k bindings.Kernel, list []int64, w *tensor.Tensor) pieces {
	rows := w.Shape()[0]
	row := w.DType().Bytes(w.Shape()[1])
	panel := k.Packed(withCount(list, 1), panelsBlocks)
	step := max(pieceBytes/row/k.Panel(), 1) * k.Panel()
	return pieces{rows: rows, step: step, unit: k.Panel(), fill: func(w *tensor.Tensor, from, n int, all []byte) error {
		k.Pack(withCount(list, n), panelsBlocks, w.Pointer(), all[from/k.Panel()*panel:])
		return nil
	}}
}

package cpu

import (
	"slices"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
)

var blocksRows = []row{
	rowFor("rounded", func(o *arith.WidenedGemm, b *binder) error {
		if !b.dev.accuracy.Rounds(false) {
			return device.Refuse("rows may not be rounded: the option Accuracy does not say so")
		}
		return bindBlocksPanels(o, "i8_block_panels", b)
	}),
	rowFor("panels", func(o *arith.WidenedGemm, b *binder) error { return bindBlocksPanels(o, "f32_block_panels", b) }),
	rowFor("blocks", bindBlocksGemm),
	rowFor("blocks", bindBlocksCast),
}

// blockType returns the number of a type of blocks in the words of kernels: a row of
// csrc/blocks/types.inc.
func blockType(b *packed.Blocks) int { return slices.Index(packed.BlockTypes, b) }

// bookOf returns the code book of a type of blocks as an operand, or none.
func bookOf(b *packed.Blocks) device.Operand {
	book := b.Book()
	if book == nil {
		return device.Operand{}
	}
	return device.Operand{Place: device.Const, Data: unsafe.Slice((*byte)(unsafe.Pointer(&book[0])), len(book))}
}

// blocksWords is nacre_f32_blocks_words of csrc/blocks/blocks.h.
type blocksWords struct {
	m     graph.Dim
	n, k  int
	of    *packed.Blocks
	alpha float32
	gemm  bindings.Kernel
}

func (v *blocksWords) words() words {
	var w words
	w.dim(v.m)
	w.int(v.n, v.k, blockType(v.of))
	w.float(float64(v.alpha))
	w.part(v.gemm)
	return w
}

// bindBlocksGemm multiplies by weights in blocks without copying them.
func bindBlocksGemm(o *arith.WidenedGemm, b *binder) error {
	of := b.DType(1).Blocks()
	if of == nil {
		return device.Refuse("the right operand is not in blocks")
	}
	if b.isEmpty() {
		return nil
	}
	shape, ok := b.In[1].Dims.Concrete()
	if !ok {
		return device.Refuse("extents %v are not known", b.In[1].Dims)
	}
	v := &blocksWords{m: b.Out[0].Dims[0], n: shape[0], k: shape[1], of: of, alpha: o.Alpha}
	s := b.addend(&o.Gemm, b.gemmProduct(&o.Gemm))
	k, part, err := b.chooseWith("f32_blocks", false, func(part bindings.Kernel) words {
		v.gemm = part
		return v.words()
	}, "f32_gemm")
	if err != nil {
		return err
	}
	v.gemm = part
	if err := b.add(k, []bindings.Kernel{part}, v.words(), b.in(0), b.in(1), bookOf(of), s.col, b.out(0)); err != nil {
		return err
	}
	return b.addRest(s)
}

// addRest adds an addend of rows or of all elements to output 0.
func (b *binder) addRest(s sum) error {
	dims := b.Out[0].Dims
	switch {
	case s.row.Place != device.None:
		return b.joinOut("add", s.row, graph.Dims{dims[0], graph.Known(1)})
	case s.all.Place != device.None:
		return b.joinOut("add", s.all, graph.Dims{dims[0], dims[1]})
	}
	return nil
}

// bindBlocksCast unpacks blocks.
func bindBlocksCast(_ *arith.Cast, b *binder) error {
	of, to := b.DType(0).Blocks(), b.Out[0].DType
	if of == nil {
		return device.Refuse("the input is not in blocks")
	}
	if to.Short() == "" {
		return device.Refuse("blocks become %v in Go", to)
	}
	var w words
	w.dim(b.In[0].Dims.Len())
	w.int(blockType(of))
	return b.inFloats(func(y device.Operand) error { return b.run("unpack_blocks", w, b.in(0), bookOf(of), y) })
}

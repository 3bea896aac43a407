package cpu

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// blockCodes says how a type of blocks becomes codes and scales as kernels of nbits take them. The
// zero point is in the middle, and scales are float16.
type blockCodes struct {
	bits int

	// cut writes the codes of a block to codes, the first in the lowest bits, and returns its scale.
	cut func(codes, block []byte) (scale uint16)
}

// blocksAsCodes has the types of blocks with codes around the middle and one scale.
var blocksAsCodes = map[*packed.Blocks]blockCodes{
	packed.Q4_0: {4, cutQ40},
	packed.Q8_0: {8, cutQ80},
}

// cutQ40 brings neighbouring codes together. Byte j of a block has codes j and j+16.
func cutQ40(codes, block []byte) uint16 {
	q := block[2:18]
	for j := range 8 {
		a, b := q[2*j], q[2*j+1]
		codes[j], codes[j+8] = a&15|b<<4, a>>4|b&0xf0
	}
	return binary.LittleEndian.Uint16(block)
}

// cutQ80 moves the zero point from 0 to 128.
func cutQ80(codes, block []byte) uint16 {
	for j, q := range block[2:34] {
		codes[j] = q ^ 0x80
	}
	return binary.LittleEndian.Uint16(block)
}

// bindBlocksPanels multiplies by constant blocks that are packed as codes for a kernel of nbits.
func bindBlocksPanels(o *arith.WidenedGemm, kernel string, b *binder) error {
	of := b.DType(1).Blocks()
	codes, ok := blocksAsCodes[of]
	w := b.Const(1)
	switch {
	case !ok:
		return device.Refuse("the right operand is not in blocks that become codes")
	case !b.packable(w):
		return device.Refuse("blocks are packed if they are constant and stay in memory")
	case o.Alpha != 1:
		return device.Refuse("the product is scaled by %v", o.Alpha)
	}
	if b.isEmpty() {
		return nil
	}
	n, k := w.Shape()[0], w.Shape()[1]
	v := &nbitsWords{m: b.Out[0].Dims[0], n: n, k: k, bits: codes.bits, block: of.Elements, rowBytes: k * codes.bits / 8,
		rowScale: k / of.Elements, scales: tensor.F16, packed: true}
	s, err := b.blocksAddend(o)
	if err != nil {
		return err
	}
	list := func(part bindings.Kernel) words {
		v.gemm = part
		return v.words()
	}
	kern, part, err := b.chooseWith(kernel, false, list, "f32_gemm")
	if err != nil {
		return err
	}
	v.gemm = part
	operand, err := b.packedBlocks(kern, v, w, codes)
	if err != nil {
		return err
	}
	none := device.Operand{}
	err = b.add(kern, []bindings.Kernel{part}, v.words(), b.in(0), operand, none, none, none, none, s.col, b.out(0))
	if err != nil {
		return err
	}
	return b.addRest(s)
}

// packedBlocks returns blocks as kernel k reads them. Kernels that pack alike share them.
func (b *binder) packedBlocks(k bindings.Kernel, v *nbitsWords, w *tensor.Tensor, codes blockCodes) (device.Operand, error) {
	own := *v
	own.m, own.packed = graph.Known(1), true
	list, err := b.numbers(own.words())
	if err != nil {
		return device.Operand{}, err
	}
	own.gemm = bindings.Kernel{}
	key := packKey{packing: k.Packing(), operand: nbitsCodes, words: fmt.Sprint("blocks ", own.words())}
	data, err := b.dev.packPieces(w, key, k.Packed(list, nbitsCodes), codes.pieces(k, list, w))
	o, _, err := b.packedOperand(nbitsCodes, data, err)
	return o, err
}

// pieces divides blocks by rows into pieces of about pieceBytes, each of whole panels.
func (c blockCodes) pieces(k bindings.Kernel, list []int64, w *tensor.Tensor) pieces {
	rows, deep := w.Shape()[0], w.Shape()[1]
	of := w.DType().Blocks()
	blocks := deep / of.Elements
	panel := k.Packed(withCount(list, 1), nbitsCodes)
	step := max(pieceBytes/(blocks*of.Bytes)/k.Panel(), 1) * k.Panel()
	return pieces{rows: rows, step: step, fill: func(w *tensor.Tensor, from, n int, all []byte) error {
		each := of.Elements * c.bits / 8
		buf := bindings.Alloc(n * blocks * (each + 2))
		if buf == nil {
			return graph.Errorf(graph.ErrMemory, "no memory for the codes of %d rows of blocks", n)
		}
		defer bindings.Free(buf)
		codes, scales := buf[:n*blocks*each], buf[n*blocks*each:]
		for i := range n * blocks {
			d := c.cut(codes[i*each:][:each], w.Bytes()[i*of.Bytes:][:of.Bytes])
			binary.NativeEndian.PutUint16(scales[2*i:], d)
		}
		part, own := all[from/k.Panel()*panel:], withCount(list, n)
		k.Pack(own, nbitsCodes, unsafe.Pointer(&codes[0]), part)
		k.Pack(own, nbitsScales, unsafe.Pointer(&scales[0]), part)
		return nil
	}}
}

package cpu

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/moe"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// leastPacked is the least extent of packed weights of an expert. Panels of smaller ones, which each
// expert has, would be padding for the most part.
const leastPacked = 16

// packs reports whether an input is constant weights that are packed for a layer.
func (x *expertBinder) packs(l moe.ExpertLayer, input int) bool {
	return min(l.Out, l.In) >= leastPacked && x.packable(x.Const(input))
}

// expertPieces divides weights of size bytes in all into pieces of about pieceBytes, each of whole
// experts. pack packs the weights of one expert.
func expertPieces(experts, size int, pack func(w unsafe.Pointer, dst []byte)) pieces {
	each := size / experts
	fill := func(w *tensor.Tensor, from, n int, all []byte) error {
		packed := len(all) / experts
		for e := range n {
			pack(unsafe.Add(w.Pointer(), e*each), all[(from+e)*packed:])
		}
		return nil
	}
	return pieces{rows: experts, step: max(pieceBytes/each, 1), unit: 1, fill: fill}
}

// packedDense returns the floats of all experts as kernels of f32_gemm read them, or none if they are
// not packed.
func (x *expertBinder) packedDense(weights int, d tensor.DType, l moe.ExpertLayer) (o device.Operand, err error) {
	k, err := x.tiles()
	if err != nil {
		return o, err
	}
	list, err := x.numbers(denseWords(l, d, graph.Known(1), false))
	if err != nil {
		return o, err
	}
	w, each := x.Const(weights), device.AlignUp(k.Packed(list, 1))
	if each == 0 || !x.packs(l, weights) {
		return o, nil
	}
	cut := expertPieces(x.experts, w.Size(), func(w unsafe.Pointer, dst []byte) { k.Pack(list, 1, w, dst) })
	cut.unaligned = k.PacksUnaligned()
	key := packKey{packing: k.Packing(), operand: 1, words: fmt.Sprint("floats of ", x.experts, list)}
	data, err := x.dev.packPieces(w, key, x.experts*each, cut)
	o, _, err = x.packedOperand(weights, data, err)
	return o, err
}

// packedPanels returns the blocks of all experts as kernel k reads them.
func (x *expertBinder) packedPanels(weights int, k bindings.Kernel, v panelsWords) (device.Operand, error) {
	v.m, v.gemm, v.book = graph.Known(1), bindings.Kernel{}, bookAddress(v.of)
	list, err := x.numbers(v.words())
	if err != nil {
		return device.Operand{}, err
	}
	w := x.Const(weights)
	cut := expertPieces(x.experts, w.Size(), func(w unsafe.Pointer, dst []byte) { k.Pack(list, panelsBlocks, w, dst) })
	key := packKey{packing: k.Packing(), operand: panelsBlocks, words: fmt.Sprint("blocks of ", x.experts, v.words())}
	data, err := x.dev.packPieces(w, key, x.experts*k.Packed(list, panelsBlocks), cut)
	o, _, err := x.packedOperand(weights, data, err)
	return o, err
}

// expertNBits returns the words of a product with the codes of one expert, without rows and part.
func expertNBits(l moe.QMoELayer, scales tensor.DType, zeros bool) nbitsWords {
	v := nbitsWords{n: l.Out, k: l.In, bits: l.Bits, block: l.Block, rowBytes: l.RowBytes, rowScale: l.Blocks, scales: scales}
	if zeros {
		v.from = zerosCodes
	}
	return v
}

// nbitsLayer binds layer i, with codes. Constant codes are packed, for rounded rows if these are
// permitted.
func (x *expertBinder) nbitsLayer(o *moe.QMoE, i int, l moe.QMoELayer) (expertLayer, error) {
	codes, scales, _, zeros := o.LayerInputs(i)
	var constants *nbitsConstants
	if x.packs(l.ExpertLayer, codes) {
		constants = x.nbitsConstants(codes, scales, zeros)
	}
	v := expertNBits(l, x.DType(scales), x.Has(zeros))
	ops := []string{"f32_nbits"}
	if x.dev.accuracy.Rounds(o.Rounds) {
		ops = []string{"i8_nbits", "f32_nbits"}
	}
	k, err := x.nbitsKernels(v, constants, ops)
	if err != nil {
		return nil, err
	}
	k.packAlike()
	y := &nbitsLayer{expertKernels: k}
	var packed device.Operand
	if v.packed = constants != nil && k.most.kernel.Panel() > 0; v.packed {
		v.gemm = k.most.part
		if packed, err = x.packedCodes(codes, k.most.kernel, v, &l, constants); err != nil {
			return nil, err
		}
		x.step.Dropped |= 1<<scales | 1<<zeros
		y.expertPack = expertPack{packed.Data, x.experts}
	}
	return y, x.listKernels(k, packed, func(m graph.Dim, part bindings.Kernel) words {
		v.m, v.gemm = m, part
		return v.words()
	})
}

// nbitsKernels chooses kernels of the first op that computes the products of a layer.
func (x *expertBinder) nbitsKernels(v nbitsWords, constants *nbitsConstants, ops []string) (k expertKernels, err error) {
	for _, op := range ops {
		k, err = x.kernels(func(b *binder, m graph.Dim) (k expertKernel, err error) {
			own := v
			own.m = m
			k.kernel, err = b.nbitsKernel(op, &own, constants)
			k.part = own.gemm
			return k, err
		})
		var refusal *device.Refusal
		if !errors.As(err, &refusal) {
			break
		}
	}
	return k, err
}

// packedCodes returns the codes of all experts as kernel k reads them, with scales and zero points.
func (x *expertBinder) packedCodes(
	codes int, k bindings.Kernel, v nbitsWords, l *moe.QMoELayer, c *nbitsConstants,
) (device.Operand, error) {
	part := v.gemm
	v.m, v.gemm = graph.Known(1), bindings.Kernel{}
	key := packKey{packing: k.Packing(), operand: nbitsCodes,
		words: fmt.Sprint("codes of ", x.experts, v.words(), l.PackedZeros, address(c.scales), address(c.zeros))}
	v.gemm = part
	list, err := x.numbers(v.words())
	if err != nil {
		return device.Operand{}, err
	}
	cut := c.expertPieces(k, list, x.experts, l)
	data, err := x.dev.packPieces(c.codes, key, x.experts*k.Packed(list, nbitsCodes), cut)
	o, _, err := x.packedOperand(codes, data, err)
	return o, err
}

// expertPieces divides codes by experts. The first piece writes all scales and zero points.
func (c *nbitsConstants) expertPieces(k bindings.Kernel, list []int64, experts int, l *moe.QMoELayer) pieces {
	cut := expertPieces(experts, c.codes.Size(), func(w unsafe.Pointer, dst []byte) { k.Pack(list, nbitsCodes, w, dst) })
	codes := cut.fill
	cut.others = []*tensor.Tensor{c.scales, c.zeros}
	cut.fill = func(w *tensor.Tensor, from, n int, all []byte) error {
		if err := codes(w, from, n, all); err != nil || from > 0 {
			return err
		}
		own := *c
		if l.PackedZeros {
			own.zeros = tensor.New(tensor.U8, experts, l.Out)
			for e := range experts {
				unpackZeros(l, c.zeros, e, own.zeros.Bytes()[e*l.Out:][:l.Out])
			}
		}
		return own.packScales(k, list, experts, all)
	}
	return cut
}

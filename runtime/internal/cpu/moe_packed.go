package cpu

import (
	"fmt"

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
func expertPieces(experts, size int, pack func(w, dst []byte)) pieces {
	each := size / experts
	fill := func(w *tensor.Tensor, from, n int, all []byte) error {
		packed := len(all) / experts
		for e := range n {
			pack(w.Bytes()[e*each:][:each], all[(from+e)*packed:][:packed])
		}
		return nil
	}
	return pieces{rows: experts, step: max(pieceBytes/each, 1), unit: 1, fill: fill}
}

// packedDense returns the floats of all experts as kernels of f32_gemm read them, or none if they are
// not packed.
func (x *expertBinder) packedDense(weights int, d tensor.DType, l moe.ExpertLayer) (o device.Operand, err error) {
	k := x.tiles()
	list, err := x.numbers(denseWords(l, d, graph.Known(1), false))
	if err != nil {
		return o, err
	}
	w, each := x.Const(weights), device.AlignUp(k.Packed(list, 1))
	if each == 0 || !x.packs(l, weights) {
		return o, nil
	}
	cut := expertPieces(x.experts, w.Size(), func(w, dst []byte) { k.Pack(list, 1, w, dst) })
	cut.unaligned = k.PacksUnaligned()
	key := packKey{packing: k.Packing(), operand: 1, words: fmt.Sprint("floats of ", x.experts, list)}
	data, err := x.dev.packPieces(w, key, x.experts*each, cut)
	o, _, err = x.packedOperand(weights, data, err)
	return o, err
}

// expertCodes are constant codes of all experts, with scales and zero points.
type expertCodes struct {
	*nbitsConstants
	of *moe.QMoELayer
}

// packedPanels returns the blocks, or the codes, of all experts as kernel k reads them.
func (x *expertBinder) packedPanels(weights int, k bindings.Kernel, v panelsWords, c *expertCodes) (o device.Operand, err error) {
	v.m, v.gemm = graph.Known(1), bindings.Kernel{}
	list, err := x.numbers(v.words())
	if err != nil {
		return o, err
	}
	w := x.Const(weights)
	key := packKey{packing: k.Packing(), operand: panelsBlocks, words: fmt.Sprint("panels of ", x.experts, v.words())}
	if c != nil {
		key.words += fmt.Sprint(c.of.PackedZeros, address(c.scales), address(c.zeros))
	}
	data, err := x.dev.packPieces(w, key, x.experts*k.Packed(list, panelsBlocks), panelsPieces(k, list, x.experts, w, c))
	o, _, err = x.packedOperand(weights, data, err)
	return o, err
}

// panelsPieces divides blocks, or codes, by experts. The first piece of codes writes all scales and
// zero points.
func panelsPieces(k bindings.Kernel, list []int64, experts int, w *tensor.Tensor, c *expertCodes) pieces {
	cut := expertPieces(experts, w.Size(), func(w, dst []byte) { k.Pack(list, panelsBlocks, w, dst) })
	if c == nil {
		return cut
	}
	codes := cut.fill
	cut.others = []*tensor.Tensor{c.scales, c.zeros}
	cut.fill = func(w *tensor.Tensor, from, n int, all []byte) error {
		if err := codes(w, from, n, all); err != nil || from > 0 {
			return err
		}
		own := *c.nbitsConstants
		if c.of.PackedZeros {
			own.zeros = tensor.New(tensor.U8, experts, c.of.Out)
			for e := range experts {
				unpackZeros(c.of, c.zeros, e, own.zeros.Bytes()[e*c.of.Out:][:c.of.Out])
			}
		}
		return own.packScales(k, list, experts, all)
	}
	return cut
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
	v := expertNBits(l, x.DType(scales), x.Has(zeros))
	if x.packs(l.ExpertLayer, codes) {
		if c := x.nbitsConstants(codes, scales, zeros); c != nil {
			y, err := x.panelsLayer(codes, panelsWords{n: l.Out, k: l.In, codes: &v}, o.Rounds, &expertCodes{c, &l})
			x.step.Dropped |= 1<<scales | 1<<zeros
			return y, err
		}
	}
	with := func(m graph.Dim, part bindings.Kernel) words {
		v.m, v.gemm = m, part
		return v.words()
	}
	k, err := x.kernelsWith("f32_nbits", with)
	if err != nil {
		return nil, err
	}
	return &nbitsLayer{k}, x.listKernels(k, device.Operand{}, with)
}

package cpu

import (
	"crypto/sha256"
	"fmt"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var nbitsRows = []row{
	rowFor("rounded", func(o *quant.MatMulNBits, b *binder) error {
		if !b.dev.accuracy.Rounds(o.Rounds) {
			return device.Refuse("rows may not be rounded: accuracy_level and the option Accuracy say so")
		}
		return bindNBitsPanels(o, "i8_block_panels", b)
	}),
	rowFor("panels", func(o *quant.MatMulNBits, b *binder) error { return bindNBitsPanels(o, "f32_block_panels", b) }),
	rowFor("floats", bindNBits),
	rowFor("floats", bindBnb4),
	rowFor("codes", bindGatherQuantized),
}

// The zero points of codes: nacre_nbits_zeros of csrc/nbits/nbits.h, and nacre_zeros of
// csrc/blocks/panels.h.
const (
	zerosMiddle = iota // 2^(bits-1)
	zerosCodes         // stored like codes
	zerosFloats        // stored like scales
)

// nbitsWords is nacre_nbits_words of csrc/nbits/nbits.h.
type nbitsWords struct {
	m                               graph.Dim
	n, k                            int
	bits, block, rowBytes, rowScale int
	scales                          tensor.DType
	from                            int
	highFirst, flat, transposed     bool
	table, group                    bool
	gemm                            bindings.Kernel
}

func (v *nbitsWords) words() words {
	var w words
	w.dim(v.m)
	w.int(v.n, v.k, v.bits, v.block, v.rowBytes, v.rowScale, typeWord(v.scales), v.from)
	w.bool(v.highFirst, v.flat, v.transposed, v.table, v.group)
	w.part(v.gemm)
	return w
}

// nbits adds a command of a product. Operands are in the order of its kernel.
func (b *binder) nbits(v *nbitsWords, operands ...device.Operand) error {
	k, part, err := b.chooseWith("f32_nbits", false, func(part bindings.Kernel) words {
		v.gemm = part
		return v.words()
	}, "f32_gemm")
	if err != nil {
		return err
	}
	v.gemm = part
	return b.add(k, []bindings.Kernel{part}, v.words(), operands...)
}

// nbitsWordsOf returns the words of a product of that many rows.
func nbitsWordsOf(o *quant.MatMulNBits, rows graph.Dim, b *binder) *nbitsWords {
	return &nbitsWords{m: rows, n: o.N, k: o.K, bits: o.Bits, block: o.Block, rowBytes: o.RowBytes(), rowScale: o.Blocks(), scales: b.DType(2), group: b.Has(4)}
}

// bindNBits multiplies by weights without copying them. If a constant g_idx spreads the columns of
// constant weights over blocks, it stores them in the order of the blocks.
func bindNBits(o *quant.MatMulNBits, b *binder) error {
	rows, err := b.rowCount(0)
	if err != nil || rows.Same(graph.Known(0)) {
		return err
	}
	v := nbitsWordsOf(o, rows, b)
	a := b.floats(0)
	codes, group := b.in(1), b.in(4)
	if order := b.columnOrder(o); order != nil {
		if codes, err = b.orderedCodes(o, order); err != nil {
			return err
		}
		if a, err = b.orderedRows(a, rows, o.K, order); err != nil {
			return err
		}
		v.k, v.group, group = len(order), false, device.Operand{}
	}
	scales, zeros := b.scalesOf(v)
	bias := b.floats(5)
	return b.inFloats(func(c device.Operand) error {
		return b.nbits(v, a, codes, scales, zeros, device.Operand{}, group, bias, c)
	})
}

// scalesOf returns scales and zero points. If both are floats, they have one type.
func (b *binder) scalesOf(v *nbitsWords) (scales, zeros device.Operand) {
	scales, zeros = b.in(2), b.in(3)
	switch {
	case !b.Has(3):
	case b.DType(3) == tensor.U8:
		v.from = zerosCodes
	default:
		v.from = zerosFloats
		if b.DType(3) == b.DType(2) {
			break
		}
		v.scales = tensor.F32
		scales, zeros = b.floats(2), b.floats(3)
	}
	return scales, zeros
}

// rowCount returns the number of rows of input i: all axes but the last.
func (b *binder) rowCount(i int) (graph.Dim, error) {
	dims := b.In[i].Dims
	if len(dims) == 0 {
		return graph.Dim{}, device.Refuse("a scalar has no rows")
	}
	return dims[:len(dims)-1].Len(), nil
}

// inFloats adds commands that compute output 0 as float32, and rounds it to its type.
func (b *binder) inFloats(add func(out device.Operand) error) error {
	return lower.Rounded(b, tensor.F32, lower.Output(b, 0), add)
}

// columnOrder gathers the columns of constant weights that a constant g_idx spreads over blocks.
// Place p holds column order[p], or none if that is -1. The order is nil if a block has more
// columns than places.
func (b *binder) columnOrder(o *quant.MatMulNBits) []int32 {
	index := b.Const(4)
	if b.Const(1) == nil || index == nil {
		return nil
	}
	group := tensor.View[int32](index.Aligned())[:o.K]
	order, next := make([]int32, o.Blocks()*o.Block), make([]int, o.Blocks())
	for p := range order {
		order[p] = -1
	}
	for p, g := range group {
		if g < 0 || int(g) >= o.Blocks() || next[g] == o.Block {
			return nil
		}
		order[int(g)*o.Block+next[g]] = int32(p)
		next[g]++
	}
	return order
}

// orderedCodes returns constant input 1 with its columns in that order.
func (b *binder) orderedCodes(o *quant.MatMulNBits, order []int32) (device.Operand, error) {
	w := b.Const(1)
	key := packKey{words: fmt.Sprintf("columns of %d bits, %d by %d, %x", o.Bits, o.N, o.K, sha256.Sum256(b.Const(4).Bytes()))}
	data, err := b.dev.pack(w, key, len(w.Bytes()), func(w *tensor.Tensor, dst []byte) error {
		reorderCodes(dst, w.Bytes(), order, o.RowBytes(), o.Bits)
		return nil
	})
	b.step.Dropped |= 1 << 1
	return device.Operand{Place: device.Const, Data: data}, err
}

// reorderCodes writes rows of codes in that order, with 0 at places without a column.
func reorderCodes(dst, src []byte, order []int32, row, bits int) {
	mask := byte(1<<bits - 1)
	clear(dst)
	for at := 0; at < len(src); at += row {
		from, to := src[at:][:row], dst[at:][:row]
		for p, column := range order {
			if column >= 0 {
				bit := int(column) * bits
				to[p*bits/8] |= from[bit/8] >> (bit % 8) & mask << (p * bits % 8)
			}
		}
	}
}

// orderedRows adds a command that reorders the columns of rows of k floats.
func (b *binder) orderedRows(a device.Operand, rows graph.Dim, k int, order []int32) (device.Operand, error) {
	most, ok := b.Max(rows)
	if !ok {
		return a, device.Refuse("how many rows there are is not known")
	}
	var w words
	w.dim(rows)
	w.int(k, len(order))
	y := b.temp(tensor.F32.Bytes(most * len(order)))
	return y, b.run("f32_columns", w, a, constant(order...), y)
}

func bindBnb4(o *quant.MatMulBnb4, b *binder) error {
	rows, err := b.rowCount(0)
	if err != nil || rows.Same(graph.Known(0)) {
		return err
	}
	a := b.floats(0)
	v := &nbitsWords{m: rows, n: o.N, k: o.K, bits: 4, block: o.Block, rowBytes: o.K / 2, rowScale: o.K / o.Block, scales: b.DType(2),
		highFirst: true, flat: o.K%o.Block != 0, transposed: o.Plain, table: true}
	return b.inFloats(func(c device.Operand) error {
		none := device.Operand{}
		return b.nbits(v, a, b.in(1), b.in(2), none, constant(o.Table...), none, none, c)
	})
}

func bindGatherQuantized(o *quant.GatherQuantized, b *binder) error {
	d := b.DType(0)
	if b.Shape(0) == nil || b.Shape(2) == nil || b.Has(3) && b.Shape(3) == nil {
		return device.Refuse("the extents of codes, scales or zero points are not known")
	}
	s, err := o.Blocks(d, b.Shape(0), b.Shape(2), b.Shape(3))
	if err != nil {
		return err
	}
	if b.isEmpty() {
		return nil
	}
	half := b.kernel("half")
	var w words
	w.int(s.Shape[:s.Gather].Len())
	w.dim(b.In[1].Dims.Len())
	w.int(s.Shape[s.Gather], s.Shape[s.Gather+1:].Len(), s.Bits, b.DType(1).Bits()/8, typeWord(b.DType(2)))
	w.float(float64(s.Middle))
	w.int(s.ZeroRow, s.ScaleRow)
	w.part(half)
	w.int(s.Axis, s.Block, len(s.Shape))
	w.int(s.Shape...)
	w.int(s.Steps...)
	return b.runWith("nbits_gather", []bindings.Kernel{half}, w, b.in(0), b.in(1), b.in(2), b.in(3),
		constant(s.Values[:]...), b.out(0))
}

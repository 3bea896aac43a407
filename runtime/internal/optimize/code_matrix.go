package optimize

import (
	"encoding/binary"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// codeMatrix is a constant matrix W [n,k] of codes. Element (j,p) has the scale and the zero point
// number j*rowStep + p/stored*blockStep.
type codeMatrix struct {
	codes, scales, zeros *tensor.Tensor // zeros is nil if all are 0
	n, k                 int
	columns              bool // codes are [k,n]; if false, [n,k]
	stored               int
	rowStep, blockStep   int

	bits  int
	flip  byte // exclusive-or with it makes a byte of codes unsigned
	block int  // the block_size of MatMulNBits
}

// readType sets bits and flip. It reports false if MatMulNBits has no such codes.
func (w *codeMatrix) readType() bool {
	d := w.codes.DType()
	switch d {
	case tensor.I8, tensor.U8, tensor.I4, tensor.U4, tensor.I2, tensor.U2, tensor.T2:
	default:
		return false
	}
	w.bits = d.Bits()
	if d.Kind() == tensor.Signed {
		w.flip = map[int]byte{8: 0x80, 4: 0x88, 2: 0xaa}[w.bits]
	}
	return true
}

// The bounds of blocks: the least that MatMulNBits takes, and the most of a rounded sum.
const leastBlock, mostBlock = 16, 1024

// chooseBlock sets block to a power of two that divides stored blocks. Rows grow by an eighth at
// most. It reports false if there is no such block.
func (w *codeMatrix) chooseBlock() bool {
	w.block = mostBlock
	if w.blockStep > 0 {
		w.block = min(w.stored&-w.stored, mostBlock)
	}
	for w.block > leastBlock && w.blocks()*w.block-w.k > w.k/8 {
		w.block /= 2
	}
	return w.block >= leastBlock && w.k >= leastBlock
}

// blocks returns the number of blocks in a row.
func (w *codeMatrix) blocks() int { return (w.k-1)/w.block + 1 }

// rowBytes returns the bytes of a packed row.
func (w *codeMatrix) rowBytes() int { return w.blocks() * (w.block / 8 * w.bits) }

// scale returns the index of the scale of a block of a row.
func (w *codeMatrix) scale(row, block int) int {
	return row*w.rowStep + block*w.block/w.stored*w.blockStep
}

// ordered reports whether the scales are as MatMulNBits takes them.
func (w *codeMatrix) ordered() bool {
	return w.rowStep == w.blocks() && (w.blocks() == 1 || w.blockStep == 1 && w.block == w.stored)
}

// orderedScales returns the scales of all rows.
func (w *codeMatrix) orderedScales() *tensor.Tensor {
	d := w.scales.DType()
	return tensor.Derive(d, tensor.Shape{w.n, w.blocks()}, func(y []byte) {
		x, size := w.scales.Bytes(), d.Bits()/8
		defer w.scales.Forget()
		for j := range w.n {
			for b := range w.blocks() {
				copy(y[:size], x[w.scale(j, b)*size:])
				y = y[size:]
			}
		}
	})
}

// packedZeros returns the zero points of all rows, or nil if each is the middle of the codes.
func (w *codeMatrix) packedZeros() *tensor.Tensor {
	mask, middle := byte(1<<w.bits-1), byte(1<<(w.bits-1))
	zero := func(i int) byte { return w.flip & mask }
	if w.zeros != nil {
		data := w.zeros.Bytes()
		zero = func(i int) byte { return (codeAt(data, i, w.bits) ^ w.flip) & mask }
	}
	others := false
	for i := range w.scales.Len() {
		others = others || zero(i) != middle
	}
	if !others {
		return nil
	}
	row := (w.blocks()*w.bits + 7) / 8
	t := tensor.New(tensor.U8, w.n, row)
	for j := range w.n {
		to := t.Bytes()[j*row:][:row]
		for b := range w.blocks() {
			to[b*w.bits/8] |= zero(w.scale(j, b)) << (b * w.bits % 8)
		}
	}
	return t
}

// packed returns the codes as MatMulNBits takes them. If they are so, it shares their memory.
func (w *codeMatrix) packed() *tensor.Tensor {
	shape := tensor.Shape{w.n, w.blocks(), w.block / 8 * w.bits}
	if !w.columns && w.flip == 0 && w.k%w.block == 0 && !w.codes.IsDerived() {
		if t, err := tensor.FromBytes(tensor.U8, shape, w.codes.Bytes()); err == nil {
			return t
		}
	}
	return tensor.Derive(tensor.U8, shape, func(y []byte) {
		defer w.codes.Forget()
		switch per := 8 / w.bits; {
		case w.columns && w.n%per == 0:
			w.transpose(y)
		case !w.columns && w.k%per == 0:
			w.copyRows(y)
		default:
			w.copyCodes(y)
		}
	})
}

// codeAt returns code i of packed codes.
func codeAt(data []byte, i, bits int) byte {
	at := i * bits
	return data[at/8] >> (at % 8) & byte(1<<bits-1)
}

// copyCodes writes the codes one by one.
func (w *codeMatrix) copyCodes(y []byte) {
	x, row, mask := w.codes.Bytes(), w.rowBytes(), byte(1<<w.bits-1)
	rowStep, step := w.k, 1
	if w.columns {
		rowStep, step = 1, w.n
	}
	for j := range w.n {
		to := y[j*row:][:row]
		for p := range w.k {
			c := (codeAt(x, j*rowStep+p*step, w.bits) ^ w.flip) & mask
			to[p*w.bits/8] |= c << (p * w.bits % 8)
		}
	}
}

// copyRows writes rows of whole bytes.
func (w *codeMatrix) copyRows(y []byte) {
	x, row, n := w.codes.Bytes(), w.rowBytes(), w.k*w.bits/8
	for j := range w.n {
		xorBytes(y[j*row:][:n], x[j*n:][:n], w.flip)
	}
}

// xorBytes sets dst to the exclusive-or of the bytes of src with a byte.
func xorBytes(dst, src []byte, by byte) {
	wide := uint64(by) * 0x0101010101010101
	for ; len(src) >= 8; dst, src = dst[8:], src[8:] {
		binary.NativeEndian.PutUint64(dst, binary.NativeEndian.Uint64(src)^wide)
	}
	for i, c := range src {
		dst[i] = c ^ by
	}
}

// tileBytes is the width and the height of a tile that transpose turns, in bytes of codes.
const tileBytes = 32

// transpose writes rows from columns, of which a byte has whole codes. A tile of both stays in the
// first cache.
func (w *codeMatrix) transpose(y []byte) {
	x, row, line := w.codes.Bytes(), w.rowBytes(), w.n*w.bits/8
	per, mask := 8/w.bits, byte(1<<w.bits-1)
	var tile [4 * tileBytes][tileBytes]byte // by column, then by byte of its row
	for c0 := 0; c0 < line; c0 += tileBytes {
		wide := min(tileBytes, line-c0)
		for p0 := 0; p0 < w.k; p0 += tileBytes * per {
			deep := min(tileBytes*per, w.k-p0)
			for i := range wide * per {
				tile[i] = [tileBytes]byte{}
			}
			for p := range deep {
				from, shift := x[(p0+p)*line+c0:][:wide], p%per*w.bits
				for c, v := range from {
					v ^= w.flip
					for i := range per {
						tile[c*per+i][p/per] |= v >> (i * w.bits) & mask << shift
					}
				}
			}
			for i := range wide * per {
				copy(y[(c0*per+i)*row+p0/per:], tile[i][:(deep+per-1)/per])
			}
		}
	}
}

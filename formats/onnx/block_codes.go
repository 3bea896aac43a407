package onnx

import (
	"encoding/binary"
	"math"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// blockCodes is a type of blocks as ONNX Runtime's operators hold it: each element is a whole number
// times the scale of its block, without rounding. A code is the whole number plus 2^(bits-1).
type blockCodes struct {
	of          *packed.Blocks
	bits, block int
	ones        []patch // bytes that make each whole number of a block of the file 1
	unit        []patch // bytes that make each scale of a block of the file 1
}

// patch is bytes from up to to, all of the value.
type patch struct {
	from, to int
	value    byte
}

// halfOne returns the patch that makes the float16 at that byte 1.
func halfOne(at int) []patch { return []patch{{at, at + 1, 0}, {at + 1, at + 2, 0x3c}} }

// blockTypes is the table of types of blocks that become codes. The other types have a least value
// besides the scale, or elements of a code book that are no whole numbers.
var blockTypes = []blockCodes{
	{packed.Q4_0, 4, 32, []patch{{2, 18, 0x99}}, halfOne(0)},
	{packed.Q5_0, 8, 32, []patch{{2, 6, 0xff}, {6, 22, 0x11}}, halfOne(0)},
	{packed.Q8_0, 8, 32, []patch{{2, 34, 1}}, halfOne(0)},
	{packed.Q3_K, 4, 16, []patch{{0, 32, 0xff}, {32, 96, 0x55}}, append(halfOne(108), patch{96, 104, 0x11}, patch{104, 108, 0xaa})},
	{packed.Q6_K, 8, 16, []patch{{0, 128, 0x11}, {128, 192, 0xaa}}, append(halfOne(208), patch{192, 208, 1})},
	{packed.IQ4_NL, 8, 32, []patch{{2, 18, 0x88}}, halfOne(0)},
	{packed.IQ4_XS, 8, 32, []patch{{8, 136, 0x88}}, append(halfOne(0), patch{2, 4, 0xaa}, patch{4, 8, 0x11})},
	{packed.TQ1_0, 4, 256, []patch{{0, 52, 0xff}}, halfOne(52)},
	{packed.TQ2_0, 4, 256, []patch{{0, 64, 0xaa}}, halfOne(64)},
	{packed.MXFP4, 8, 32, []patch{{1, 17, 0x11}}, []patch{{0, 1, 128}}},
	{packed.NVFP4, 8, 16, []patch{{4, 36, 0x11}}, []patch{{0, 4, 0x40}}},
	{packed.Q1_0, 4, 128, []patch{{2, 18, 0xff}}, halfOne(0)},
	{packed.Q2_0, 4, 64, []patch{{2, 18, 0xaa}}, halfOne(0)},
}

// codesOf returns the row of a type of blocks, or nil if there is none.
func codesOf(b *packed.Blocks) *blockCodes {
	for i := range blockTypes {
		if blockTypes[i].of == b {
			return &blockTypes[i]
		}
	}
	return nil
}

// each calls f with the elements of each block of the file, with bytes of it replaced.
func (c *blockCodes) each(data []byte, change []patch, f func(i int, y []float32)) {
	var bytes [256]byte
	var y [256]float32
	for i := range len(data) / c.of.Bytes {
		b := bytes[:copy(bytes[:], data[i*c.of.Bytes:][:c.of.Bytes])]
		for _, p := range change {
			for at := p.from; at < p.to; at++ {
				b[at] = p.value
			}
		}
		c.of.Unpack(y[:c.of.Elements], b)
		f(i, y[:c.of.Elements])
	}
}

// codes returns the codes of a matrix [n,k], the first in the low bits of a byte, as bytes of that
// shape.
func (c *blockCodes) codes(w *tensor.Tensor, shape tensor.Shape) *tensor.Tensor {
	return tensor.Derive(tensor.U8, shape, func(out []byte) {
		middle := float32(int(1) << (c.bits - 1))
		c.each(w.Bytes(), c.unit, func(i int, y []float32) {
			to := out[i*len(y)*c.bits/8:]
			for p, v := range y {
				to[p*c.bits/8] |= byte(v+middle) << (p * c.bits % 8)
			}
		})
		w.Forget()
	})
}

// scales returns the scales of a matrix [n,k] as float32 [n,k/block].
func (c *blockCodes) scales(w *tensor.Tensor) *tensor.Tensor {
	s := w.Shape()
	return tensor.Derive(tensor.F32, tensor.Shape{s[0], s[1] / c.block}, func(out []byte) {
		c.each(w.Bytes(), c.ones, func(i int, y []float32) {
			for p := 0; p < len(y); p += c.block {
				binary.NativeEndian.PutUint32(out[(i*len(y)+p)/c.block*4:], math.Float32bits(y[p]))
			}
		})
		w.Forget()
	})
}

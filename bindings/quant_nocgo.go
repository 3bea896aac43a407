//go:build !cgo

package bindings

import "unsafe"

// BytesUnpacked cannot be called.
func (s *ConvShape) BytesUnpacked() bool { panic(errNoCgo) }

// Scratch cannot be called.
func (*ByteGemm) Scratch(*Pool) int { panic(errNoCgo) }

// Run cannot be called.
func (*ByteGemm) Run(pool *Pool, a, b unsafe.Pointer, v *ByteVectors, c unsafe.Pointer, scratch []byte) {
	panic(errNoCgo)
}

// DynamicScratch cannot be called.
func (*ByteGemm) DynamicScratch(*Pool, int) int { panic(errNoCgo) }

// RunDynamic cannot be called.
func (*ByteGemm) RunDynamic(quantize Kernel, pool *Pool, a []float32, b unsafe.Pointer, v *ByteVectors, c unsafe.Pointer, scratch []byte) {
	panic(errNoCgo)
}

// PackedBytesA cannot be called.
func (Kernel) PackedBytesA(m, depth int) int { panic(errNoCgo) }

// PackedBytesB cannot be called.
func (Kernel) PackedBytesB(n, depth int) int { panic(errNoCgo) }

// PackBytesA cannot be called.
func (Kernel) PackBytesA(m, depth int, o ByteOperand, a unsafe.Pointer, dst []byte) { panic(errNoCgo) }

// PackBytesB cannot be called.
func (Kernel) PackBytesB(n, depth int, o ByteOperand, b unsafe.Pointer, dst []byte) { panic(errNoCgo) }

// Scratch cannot be called.
func (*ByteConv) Scratch(*Pool) int { panic(errNoCgo) }

// PackedWeights cannot be called.
func (*ByteConv) PackedWeights() int { panic(errNoCgo) }

// Pack cannot be called.
func (*ByteConv) Pack(w unsafe.Pointer, dst []byte) { panic(errNoCgo) }

// Run cannot be called.
func (*ByteConv) Run(pool *Pool, x, w unsafe.Pointer, v *ByteVectors, y unsafe.Pointer, scratch []byte) {
	panic(errNoCgo)
}

// Scratch cannot be called.
func (n *ByteLSTM) Scratch(pool *Pool) int { panic(errNoCgo) }

// Run cannot be called.
func (n *ByteLSTM) Run(pool *Pool, scratch []byte) { panic(errNoCgo) }

// Quantize cannot be called.
func Quantize(k Kernel, pool *Pool, g *QuantGrid, t *QuantCodes, x, scale []float32, zero []int32, y unsafe.Pointer) {
	panic(errNoCgo)
}

// Dequantize cannot be called.
func Dequantize(k Kernel, pool *Pool, g *QuantGrid, t QuantType, x unsafe.Pointer, scale []float32, zero []int32, y []float32) {
	panic(errNoCgo)
}

// QuantizeDynamic cannot be called.
func QuantizeDynamic(k Kernel, pool *Pool, x []float32, y []byte, scratch []float32) (scale float32, zero uint8) {
	panic(errNoCgo)
}

// QuantPairs cannot be called.
func QuantPairs(k Kernel, pool *Pool, p *QuantPair, axes []int, a, b, c unsafe.Pointer) {
	panic(errNoCgo)
}

// QuantLookup cannot be called.
func QuantLookup(k Kernel, pool *Pool, rows, n, xRow, yRow int, x unsafe.Pointer, table *[256]byte, y unsafe.Pointer) {
	panic(errNoCgo)
}

// Run cannot be called.
func (s *QuantSoftmax) Run(lookup Kernel, pool *Pool, signed bool, outer, n, inner int, x, y unsafe.Pointer) {
	panic(errNoCgo)
}

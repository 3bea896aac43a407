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

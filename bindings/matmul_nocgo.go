//go:build !cgo

package bindings

import "unsafe"

// Scratch cannot be called.
func (*Gemm) Scratch(*Pool) int { panic(errNoCgo) }

// Run cannot be called.
func (*Gemm) Run(pool *Pool, a, b unsafe.Pointer, row, col []float32, c unsafe.Pointer, scratch []float32) {
	panic(errNoCgo)
}

// PackedA cannot be called.
func (Kernel) PackedA(m, depth int) int { panic(errNoCgo) }

// PackedB cannot be called.
func (Kernel) PackedB(n, depth int) int { panic(errNoCgo) }

// PackA cannot be called.
func (Kernel) PackA(m, depth int, o Operand, a unsafe.Pointer, dst []byte) { panic(errNoCgo) }

// PackB cannot be called.
func (Kernel) PackB(n, depth int, o Operand, b unsafe.Pointer, dst []byte) { panic(errNoCgo) }

// Scratch cannot be called.
func (*WideGemm) Scratch(*Pool) int { panic(errNoCgo) }

// Run cannot be called.
func (*WideGemm) Run(pool *Pool, a, b, c, scratch unsafe.Pointer) { panic(errNoCgo) }

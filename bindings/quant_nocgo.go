//go:build !cgo

package bindings

import "unsafe"

// PackedBytesB cannot be called.
func (Kernel) PackedBytesB(n, depth int) int { panic(errNoCgo) }

// PackBytesB cannot be called.
func (Kernel) PackBytesB(n, depth int, o ByteOperand, b unsafe.Pointer, dst []byte) { panic(errNoCgo) }

// Scratch cannot be called.
func (n *ByteLSTM) Scratch(pool *Pool) int { panic(errNoCgo) }

// Run cannot be called.
func (n *ByteLSTM) Run(pool *Pool, scratch []byte) { panic(errNoCgo) }

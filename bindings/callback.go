//go:build cgo && !netlib

package bindings

// Kernels never call Go.

// #cgo nocallback nacre_run
import "C"

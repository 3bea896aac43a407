//go:build cgo && !netlib

package bindings

// No kernel calls Go.

// #cgo nocallback nacre_run
import "C"

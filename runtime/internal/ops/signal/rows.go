// Package signal has Fourier transforms and windows for them.
package signal

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/op"
)

// Rows returns the rows of the family.
func Rows() []op.Row {
	return slices.Concat(
		fourierRows,
		warpRows,
		windowRows,
	)
}

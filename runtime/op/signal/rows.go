// Package signal is Fourier transforms and the windows that go with them.
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

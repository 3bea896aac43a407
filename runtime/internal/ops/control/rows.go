// Package control runs graphs inside a graph, and handles sequences and optional values.
package control

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/op"
)

// Rows returns the rows of the family.
func Rows() []op.Row {
	return slices.Concat(
		controlRows,
		optionalRows,
		searchRows,
		sequenceRows,
		speechRows,
	)
}

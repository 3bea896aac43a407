// Package text has the operators on strings.
package text

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/op"
)

// Rows returns the rows of the family.
func Rows() []op.Row {
	return slices.Concat(
		hashRows,
		repeatRows,
		suffixRows,
		textRows,
		wordConvRows,
	)
}

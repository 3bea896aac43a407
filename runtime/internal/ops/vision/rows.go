// Package vision resizes, samples and decodes images, and finds regions in them.
package vision

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/op"
)

// Rows returns the rows of the family.
func Rows() []op.Row {
	return slices.Concat(
		cropResizeRows,
		gridRows,
		imageRows,
		resizeRows,
		roiRows,
		suppressRows,
	)
}

// Package array makes, moves and reshapes tensors: constants, ranges and random numbers;
// transposing, tiling, padding and slicing; joining, gathering and scattering.
package array

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/op"
)

// Rows returns the rows of the family.
func Rows() []op.Row {
	return slices.Concat(
		blockRows,
		concatRows,
		constantRows,
		cropRows,
		elementRows,
		expandRows,
		eyeLikeRows,
		gatherRows,
		padRows,
		pickRows,
		randomRows,
		rangeRows,
		retiredRows,
		reverseRows,
		scatterRows,
		shapeRows,
		sliceRows,
		tileRows,
		transposeRows,
		triluRows,
		unfoldRows,
	)
}

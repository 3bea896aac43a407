// Package arith computes with elements: elementwise arithmetic and logic, reductions,
// products of matrices, casts and sorting.
package arith

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/op"
)

// Rows returns the rows of the family.
func Rows() []op.Row {
	return slices.Concat(
		activationRows(),
		binaryRows,
		bitRows,
		castRows,
		clipRows,
		compareRows,
		detRows,
		einsumRows,
		fusedProductRows,
		fusedRows,
		snakeRows,
		int16Rows,
		matmulRows,
		powRows,
		reduceRows,
		retiredRows,
		sumLikeRows,
		testRows,
		topKRows,
		unaryRows,
		uniqueRows,
		variadicRows,
		whereRows,
	)
}

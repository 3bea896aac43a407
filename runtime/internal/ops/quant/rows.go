// Package quant has the operators on quantised values: conversions, arithmetic on 8-bit codes, and
// products with weights of a few bits.
package quant

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/op"
)

// Rows returns the rows of the family.
func Rows() []op.Row {
	return slices.Concat(
		attentionRows,
		convRows,
		embedRows,
		fpQ4Rows,
		fusedRows,
		gatherQuantizedRows,
		linearRows,
		lstmRows,
		matmulRows,
		nbitsRows,
		pairRows,
		poolRows,
		softmaxRows,
		tableRows,
	)
}

// Package nn has the layers of neural networks: convolution and pooling, normalization, recurrence,
// losses and training.
package nn

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/op"
)

// Rows returns the rows of the family.
func Rows() []op.Row {
	return slices.Concat(
		attentionLSTMRows,
		convRows,
		deformRows,
		dropoutRows,
		embedNormRows,
		foldRows,
		fusedConvRows,
		gateRows,
		gatedNormRows,
		hyperRows,
		lossRows,
		maskedRows,
		normRows,
		paddedTransposeRows,
		poolRows,
		recurrentRows,
		skipNormRows,
		trainingRows,
	)
}

// Package nn is the layers of neural networks: convolution and pooling, normalization,
// attention, recurrence, losses and training.
package nn

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/op"
)

// Rows returns the rows of the family.
func Rows() []op.Row {
	return slices.Concat(
		attentionRows,
		causalConvRows,
		convRows,
		deformRows,
		dropoutRows,
		embedNormRows,
		flexAttentionRows,
		foldRows,
		fusedConvRows,
		linearAttentionRows,
		lossRows,
		multiHeadRows,
		normRows,
		poolRows,
		recurrentRows,
		rotaryRows,
		skipNormRows,
		tensorScatterRows,
		trainingRows,
	)
}

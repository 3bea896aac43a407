// Package ml has the operators of classical machine learning: trees, support vectors, linear
// models, and encoders of features.
package ml

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/op"
)

// Rows returns the rows of the family.
func Rows() []op.Row {
	return slices.Concat(
		distanceRows,
		encoderRows,
		extractorRows,
		forestRows,
		imputerRows,
		labelRows,
		linearRows,
		mapRows,
		normalizerRows,
		scaleRows,
		svmRows,
	)
}

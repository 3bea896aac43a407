// Package attention weighs values by the match of their keys with queries, over new tokens and
// tokens in a cache.
package attention

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/op"
)

// Rows returns the rows of the family.
func Rows() []op.Row {
	return slices.Concat(
		attentionRows,
		causalConvRows,
		codesRows,
		decoderRows,
		flexAttentionRows,
		linearAttentionRows,
		multiHeadRows,
		narrowRows,
		rotaryRows,
		sectionRotaryRows,
		sparseAttentionRows,
		tensorScatterRows,
	)
}

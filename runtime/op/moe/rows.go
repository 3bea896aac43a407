// Package moe is mixtures of experts, with weights in floats and in a few bits.
package moe

import "github.com/nacre-ml/nacre/runtime/op"

// Rows returns the rows of the family.
func Rows() []op.Row { return expertRows }

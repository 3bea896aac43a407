// Package moe has mixtures of experts, with weights as floats or as codes of a few bits.
package moe

import "github.com/nacre-ml/nacre/runtime/op"

// Rows returns the rows of the family.
func Rows() []op.Row { return expertRows }

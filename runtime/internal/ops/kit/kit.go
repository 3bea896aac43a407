// Package kit holds code that families of operators share, and that devices, passes and plans know
// operators by. Programs with operators of their own need package op only.
package kit

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Microsoft is the domain of the operators that ONNX Runtime adds to the standard ones.
const Microsoft = "com.microsoft"

// Internal is the domain of operators that passes insert and no file holds.
const Internal = "nacre"

// ComputedInF32 are the floats that operators compute in float32.
var ComputedInF32 = op.Types{tensor.F32, tensor.F16, tensor.BF16}

// AtVersion returns a constructor that builds every node as the given version of the standard
// operator.
func AtVersion(version int, build func(*op.Node) (op.Op, error)) func(*op.Node) (op.Op, error) {
	return func(n *op.Node) (op.Op, error) {
		n.Since = version
		return build(n)
	}
}

// Inputs returns an Optional function that is true for the listed inputs.
func Inputs(list ...int) func(int) bool {
	return func(i int) bool { return slices.Contains(list, i) }
}

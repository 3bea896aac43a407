package op

import "github.com/nacre-ml/nacre/runtime/tensor"

// microsoft is the domain of operators that ONNX Runtime adds to the standard's.
const microsoft = "com.microsoft"

// standard is the constructor of an operator that does what that version of the
// standard's does.
func standard(version int, build func(*Node) (Op, error)) func(*Node) (Op, error) {
	return func(n *Node) (Op, error) {
		n.Since = version
		return build(n)
	}
}

// narrowTypes are the floats that are computed in float32.
var narrowTypes = Types{tensor.F32, tensor.F16, tensor.BF16}

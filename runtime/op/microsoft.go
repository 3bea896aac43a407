package op

import "github.com/nacre-ml/nacre/runtime/tensor"

// microsoft is the domain of operators that ONNX Runtime adds to the standard's.
const microsoft = "com.microsoft"

// narrowTypes are the floats that are computed in float32.
var narrowTypes = Types{tensor.F32, tensor.F16, tensor.BF16}

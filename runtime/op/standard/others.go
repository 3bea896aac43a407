//go:build !onnxonly

package standard

import (
	"github.com/nacre-ml/nacre/runtime/internal/ops/openinfer"
	"github.com/nacre-ml/nacre/runtime/op"
)

// others lists the rows of operators that ONNX files do not have.
var others = []func() []op.Row{openinfer.Rows}

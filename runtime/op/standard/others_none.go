//go:build onnxonly

package standard

import "github.com/nacre-ml/nacre/runtime/op"

// others is empty: programs with the tag onnxonly read ONNX alone.
var others []func() []op.Row

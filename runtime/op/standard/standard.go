// Package standard collects the families of operators. The package is for programs that add
// operators to the standard ones.
package standard

import (
	"sync"

	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/internal/ops/control"
	"github.com/nacre-ml/nacre/runtime/internal/ops/ml"
	"github.com/nacre-ml/nacre/runtime/internal/ops/moe"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/runtime/internal/ops/signal"
	"github.com/nacre-ml/nacre/runtime/internal/ops/text"
	"github.com/nacre-ml/nacre/runtime/internal/ops/vision"
	"github.com/nacre-ml/nacre/runtime/op"
)

// families lists the rows of every family of ONNX's operators.
var families = []func() []op.Row{
	arith.Rows,
	array.Rows,
	attention.Rows,
	control.Rows,
	ml.Rows,
	moe.Rows,
	nn.Rows,
	quant.Rows,
	signal.Rows,
	text.Rows,
	vision.Rows,
}

// Registry returns a registry of all operators: ONNX's, its extensions for machine learning and
// training, ONNX Runtime's and OpenInfer's. With the tag onnxonly it lacks OpenInfer's. A program may
// register more.
func Registry() *op.Registry { return all().Copy() }

var all = sync.OnceValue(func() *op.Registry {
	r := &op.Registry{}
	for _, rows := range append(families, others...) {
		for _, row := range rows() {
			if err := r.Register(row); err != nil {
				panic(err)
			}
		}
	}
	return r
})

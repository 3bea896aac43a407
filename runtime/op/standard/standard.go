// Package standard collects the families of operators.
package standard

import (
	"sync"

	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/arith"
	"github.com/nacre-ml/nacre/runtime/op/array"
	"github.com/nacre-ml/nacre/runtime/op/attention"
	"github.com/nacre-ml/nacre/runtime/op/control"
	"github.com/nacre-ml/nacre/runtime/op/ml"
	"github.com/nacre-ml/nacre/runtime/op/moe"
	"github.com/nacre-ml/nacre/runtime/op/nn"
	"github.com/nacre-ml/nacre/runtime/op/openinfer"
	"github.com/nacre-ml/nacre/runtime/op/quant"
	"github.com/nacre-ml/nacre/runtime/op/signal"
	"github.com/nacre-ml/nacre/runtime/op/text"
	"github.com/nacre-ml/nacre/runtime/op/vision"
)

// families lists the rows of every family.
var families = []func() []op.Row{
	arith.Rows,
	array.Rows,
	attention.Rows,
	control.Rows,
	ml.Rows,
	moe.Rows,
	nn.Rows,
	openinfer.Rows,
	quant.Rows,
	signal.Rows,
	text.Rows,
	vision.Rows,
}

// Registry returns a registry of all operators: ONNX's, its extensions for machine learning and
// training, and ONNX Runtime's. A program may register more.
func Registry() *op.Registry { return all().Copy() }

var all = sync.OnceValue(func() *op.Registry {
	r := &op.Registry{}
	for _, rows := range families {
		for _, row := range rows() {
			if err := r.Register(row); err != nil {
				panic(err)
			}
		}
	}
	return r
})

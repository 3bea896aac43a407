package op

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Eval computes one node on the CPU. The external tests of this package, which may
// import the device, set it.
var Eval func(r *Registry, n *graph.Node, isa bindings.ISA, pool *bindings.Pool, in []*tensor.Tensor) ([]*tensor.Tensor, error)

// EvalVariable is Eval of a node of which only those inputs are constant for which a
// function says so.
var EvalVariable func(r *Registry, n *graph.Node, isa bindings.ISA, pool *bindings.Pool, in []*tensor.Tensor, constant func(i int) bool) ([]*tensor.Tensor, error)

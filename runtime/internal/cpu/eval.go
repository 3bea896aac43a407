package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Eval computes one node outside any plan, for constant folding and tests, on the threads of a
// pool. The pool may be nil. An input left out is nil in in.
func Eval(
	r *op.Registry, n *graph.Node, isa bindings.ISA, pool *bindings.Pool, in []*tensor.Tensor,
) ([]*tensor.Tensor, error) {
	return eval(r, n, isa, pool, in, device.Once{Limit: device.Reserve})
}

// EvalUntil is Eval on one thread. It returns op.ErrStopped when flag stop is set; stop may be nil.
func EvalUntil(
	stop device.Flag, r *op.Registry, n *graph.Node, isa bindings.ISA, in []*tensor.Tensor,
) ([]*tensor.Tensor, error) {
	return eval(r, n, isa, nil, in, device.Once{Limit: device.Reserve, Stop: stop})
}

// EvalVariable is Eval of a node bound as in a plan. Input i is a constant of the binding only if
// constant(i) is true.
func EvalVariable(
	r *op.Registry, n *graph.Node, isa bindings.ISA, pool *bindings.Pool, in []*tensor.Tensor, constant func(i int) bool,
) ([]*tensor.Tensor, error) {
	return eval(r, n, isa, pool, in, device.Once{Limit: device.Reserve, Variable: true, Constant: constant})
}

func eval(
	r *op.Registry, n *graph.Node, isa bindings.ISA, pool *bindings.Pool, in []*tensor.Tensor, once device.Once,
) ([]*tensor.Tensor, error) {
	packs := NewPacks()
	defer packs.Close()
	d, err := New(isa, pool, pool.Threads(), packs)
	if err != nil {
		return nil, err
	}
	once.Device = d
	return once.Eval(r, n, in)
}

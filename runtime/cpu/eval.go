package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Eval computes one node outside any plan, for constant folding and tests, on the
// threads of a pool, which may be nil. In has nil where an input is left out.
func Eval(r *op.Registry, n *graph.Node, isa bindings.ISA, pool *bindings.Pool, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	return eval(r, n, isa, pool, in, device.Once{Limit: evalReserve})
}

// EvalUntil is Eval on one thread that ends with op.ErrStopped when a flag is set, which
// may be nil.
func EvalUntil(stop device.Flag, r *op.Registry, n *graph.Node, isa bindings.ISA, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	return eval(r, n, isa, nil, in, device.Once{Limit: evalReserve, Stop: stop})
}

// EvalVariable is Eval of a node as a plan binds it of which only those inputs are
// constant for which a function says so.
func EvalVariable(r *op.Registry, n *graph.Node, isa bindings.ISA, pool *bindings.Pool, in []*tensor.Tensor, constant func(i int) bool) ([]*tensor.Tensor, error) {
	return eval(r, n, isa, pool, in, device.Once{Limit: evalReserve, Variable: true, Constant: constant})
}

func eval(r *op.Registry, n *graph.Node, isa bindings.ISA, pool *bindings.Pool, in []*tensor.Tensor, once device.Once) ([]*tensor.Tensor, error) {
	packs := NewPacks()
	defer packs.Close()
	d, err := New(isa, pool, pool.Threads(), packs)
	if err != nil {
		return nil, err
	}
	once.Device = d
	return once.Eval(r, n, in)
}

// evalReserve bounds what a node outside any plan may take beside its outputs.
const evalReserve = 64 << 20

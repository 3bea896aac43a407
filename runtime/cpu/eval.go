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
	packs := NewPacks()
	defer packs.Close()
	d, err := New(isa, pool, pool.Threads(), packs)
	if err != nil {
		return nil, err
	}
	return device.Once{Device: d, Limit: evalReserve}.Eval(r, n, in)
}

// evalReserve bounds what a node outside any plan may take beside its outputs.
const evalReserve = 64 << 20

package op

import (
	"sync"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// Once returns a registry of the same operators that binds the operator of a node once:
// further calls of New with that node return the same. Nodes must not change while it is
// used. It keeps them, so it is for the time in which one model is compiled.
func (r *Registry) Once() *Registry {
	return &Registry{rows: r.rows, made: &madeOps{nodes: map[*graph.Node]*madeOp{}}}
}

// madeOps are the operators that a registry has made.
type madeOps struct {
	mu    sync.Mutex
	nodes map[*graph.Node]*madeOp
}

// madeOp is what New returns for a node.
type madeOp struct {
	once sync.Once
	op   Op
	row  *Row
	err  error
}

func (m *madeOps) of(r *Registry, n *graph.Node) (Op, *Row, error) {
	m.mu.Lock()
	made := m.nodes[n]
	if made == nil {
		made = &madeOp{}
		m.nodes[n] = made
	}
	m.mu.Unlock()
	made.once.Do(func() { made.op, made.row, made.err = r.bind(n) })
	return made.op, made.row, made.err
}

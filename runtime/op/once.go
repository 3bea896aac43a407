package op

import (
	"sync"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// Once returns a registry of the same operators that binds each node once: later calls of New with
// a node return the same operator. Nodes must not change while the registry is in use. It keeps
// them alive, so it is meant for the compilation of one model.
func (r *Registry) Once() *Registry {
	return &Registry{rows: r.rows, made: &madeOps{nodes: map[*graph.Node]*madeOp{}}}
}

// madeOps holds the operators that a registry has made.
type madeOps struct {
	mu    sync.Mutex
	nodes map[*graph.Node]*madeOp
}

// madeOp is the result of New for a node.
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

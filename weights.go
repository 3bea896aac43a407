package nacre

import (
	"log/slog"

	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// packsOf returns the packs of a network within a budget; 0 is the budget that the file asks
// for, or none. The first caller's logger is told of weights that leave.
func (m *Model) packsOf(network *graph.Model, budget int, log *slog.Logger) *runtime.Packs {
	if s := network.Streaming; s != nil && budget == 0 && runtime.CanMovePacks {
		budget = s.Budget
	}
	if budget == 0 {
		return m.packs
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.moving[budget]
	if p == nil {
		p = runtime.NewMovingPacks(network, budget, log)
		if m.moving == nil {
			m.moving = map[int]*runtime.Packs{}
		}
		m.moving[budget] = p
	}
	return p
}

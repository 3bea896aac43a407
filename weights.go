package nacre

import (
	"unsafe"

	"github.com/nacre-ml/nacre/runtime/cpu"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// packsOf returns the packs of a network within a budget; 0 is the budget that the file asks
// for, or none.
func (m *Model) packsOf(network *graph.Model, budget int) *cpu.Packs {
	stay := map[unsafe.Pointer]bool{}
	if s := network.Streaming; s != nil && cpu.CanMove {
		if budget == 0 {
			budget = s.Budget
		}
		names := map[string]bool{}
		for _, name := range s.Stay {
			names[name] = true
		}
		for _, init := range network.Graph.Initializers {
			if names[init.Name] {
				stay[init.Tensor.Pointer()] = true
			}
		}
	}
	if budget == 0 {
		return m.packs
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.moving[budget]
	if p == nil {
		p = cpu.NewMovingPacks(cpu.NewWeights(budget, stay))
		if m.moving == nil {
			m.moving = map[int]*cpu.Packs{}
		}
		m.moving[budget] = p
	}
	return p
}

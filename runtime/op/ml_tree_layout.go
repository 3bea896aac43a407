package op

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// The nodes that kernels know ask only whether a feature is at most a value. All
// other questions become such ones:
//
//	x < v     x <= the next number below v
//	x >= v    not x < v, with the branches swapped
//	x > v     not x <= v
//	x == v    x <= v, and then not x < v
//	x in set  halves of the set, down to x == v
//
// Nodes lie tree by tree and level by level, siblings side by side. Those that
// several nodes share lie there once.

// layout writes the nodes of a forest.
type layout[T float32 | float64] struct {
	model  *treeModel
	forest *bindings.Forest[T]
	nodes  []uint32 // where each branch lies
	leaves []uint32 // where each leaf lies
}

const unplaced = math.MaxUint32

// layOut makes a forest of the model, without a kernel.
func layOut[T float32 | float64](m *treeModel) (*bindings.Forest[T], error) {
	l := &layout[T]{model: m, forest: &bindings.Forest[T]{Targets: m.targets},
		nodes: slices.Repeat([]uint32{unplaced}, len(m.nodes)), leaves: slices.Repeat([]uint32{unplaced}, len(m.votes))}
	order, total := l.order()
	if total > maxTreeNodes {
		return nil, graph.Mark(graph.ErrUnsupported, "trees of %d nodes; at most %d can be run", total, maxTreeNodes)
	}
	l.forest.Nodes = make([]bindings.TreeNode[T], total)
	single := m.single()
	for _, i := range order {
		if i < 0 {
			l.leaf(int(^i), single)
		} else {
			l.branch(&m.nodes[i], l.nodes[i])
		}
	}
	for _, root := range m.roots {
		l.forest.Roots = append(l.forest.Roots, l.at(root))
	}
	if !single {
		l.votes()
	}
	return l.forest, nil
}

// order gives every node that a root leads to its place, and returns them in
// that order with the number of places.
func (l *layout[T]) order() (order []int32, total int) {
	place := func(i int32) {
		if l.at(i) != unplaced || total > maxTreeNodes {
			return
		}
		order = append(order, i)
		if i < 0 {
			l.leaves[^i] = uint32(total)
			total++
		} else {
			l.nodes[i] = uint32(total)
			total += places(&l.model.nodes[i])
		}
	}
	done := 0
	for _, root := range l.model.roots {
		place(root)
		for ; done < len(order); done++ {
			if i := order[done]; i >= 0 {
				place(l.model.nodes[i].yes)
				place(l.model.nodes[i].no)
			}
		}
	}
	return order, total
}

// at is the place of a node.
func (l *layout[T]) at(i int32) uint32 {
	if i < 0 {
		return l.leaves[^i]
	}
	return l.nodes[i]
}

// places is how many nodes a branch becomes.
func places(n *branchNode) int {
	switch {
	case n.mode == branchMember && len(n.set) > 0:
		return 3*len(n.set) - 1
	case n.mode == branchEQ, n.mode == branchNEQ:
		return 2
	}
	return 1
}

// leaf writes a leaf: its weight, or its number among the lists of votes.
func (l *layout[T]) leaf(i int, single bool) {
	at := l.leaves[i]
	n := bindings.TreeNode[T]{Next: [2]uint32{at, at}}
	if single {
		n.Value = T(l.model.votes[i][0].weight)
	} else {
		switch value := any(&n.Value).(type) {
		case *float32:
			*value = math.Float32frombits(uint32(i))
		case *float64:
			*value = math.Float64frombits(uint64(i))
		}
	}
	l.forest.Nodes[at] = n
}

// votes writes the lists of votes of all leaves.
func (l *layout[T]) votes() {
	f := l.forest
	f.First = make([]uint32, 1, len(l.model.votes)+1)
	for _, list := range l.model.votes {
		for _, v := range list {
			f.Target, f.Weight = append(f.Target, v.target), append(f.Weight, T(v.weight))
		}
		f.First = append(f.First, uint32(len(f.Target)))
	}
}

// branch writes a branch from place at on.
func (l *layout[T]) branch(n *branchNode, at uint32) {
	yes, no, v := l.at(n.yes), l.at(n.no), T(n.value)
	if v != v && n.mode != branchMember {
		// No number compares with NaN, and all differ from it.
		if n.mode == branchNEQ {
			no = yes
		}
		l.ask(n, at, v, yes, no, n.nanYes)
		return
	}
	switch n.mode {
	case branchLEQ:
		l.ask(n, at, v, yes, no, n.nanYes)
	case branchLT:
		l.ask(n, at, below(v), yes, no, n.nanYes)
	case branchGTE:
		l.ask(n, at, below(v), no, yes, !n.nanYes)
	case branchGT:
		l.ask(n, at, v, no, yes, !n.nanYes)
	case branchEQ:
		l.equal(n, at, v, yes, no, n.nanYes)
	case branchNEQ:
		l.equal(n, at, v, no, yes, false) // a NaN differs from every number
	case branchMember:
		l.member(n, at, n.set, yes, no)
	}
}

// ask writes a node that goes on at first for what is at most v, and at second
// for the rest; NaNs go on at first if nanFirst.
func (l *layout[T]) ask(n *branchNode, at uint32, v T, first, second uint32, nanFirst bool) {
	node := bindings.TreeNode[T]{Value: v, Feature: n.feature, Next: [2]uint32{first, second}}
	if nanFirst {
		node.Feature |= bindings.TreeNaNFirst
		l.forest.Missing = true
	}
	l.forest.Nodes[at] = node
}

// equal writes the two nodes that ask whether a feature is v.
func (l *layout[T]) equal(n *branchNode, at uint32, v T, yes, no uint32, nanYes bool) {
	l.ask(n, at, v, at+1, no, nanYes)
	l.ask(n, at+1, below(v), no, yes, false)
}

// member writes the nodes that ask whether a feature is in a set, of ascending
// numbers.
func (l *layout[T]) member(n *branchNode, at uint32, set []float64, yes, no uint32) {
	switch half := len(set) / 2; len(set) {
	case 0:
		l.ask(n, at, T(math.NaN()), yes, no, n.nanYes)
	case 1:
		l.equal(n, at, T(set[0]), yes, no, n.nanYes)
	default:
		low := at + 1
		high := low + uint32(places(&branchNode{mode: branchMember, set: set[:half]}))
		l.ask(n, at, T(set[half-1]), low, high, false)
		l.member(n, low, set[:half], yes, no)
		l.member(n, high, set[half:], yes, no)
	}
}

// below is the next number below v; NaN, which nothing is at most, if there is
// none.
func below[T float32 | float64](v T) T {
	if math.IsInf(float64(v), -1) {
		return T(math.NaN())
	}
	switch v := any(v).(type) {
	case float32:
		return T(math.Nextafter32(v, float32(math.Inf(-1))))
	default:
		return T(math.Nextafter(v.(float64), math.Inf(-1)))
	}
}

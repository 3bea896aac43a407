package cpu

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/ml"
)

// The nodes of kernels only ask whether a feature is at most a value. All other questions become
// such ones:
//
//	x < v     x <= the next number below v
//	x >= v    not x < v, with the branches swapped
//	x > v     not x <= v
//	x == v    x <= v, and then not x < v
//	x in set  halves of the set, down to x == v
//
// Nodes are stored tree by tree and level by level, siblings next to each other. A node with
// several parents is stored once.

// treeNode is nacre_f32_tree_node or nacre_f64_tree_node of csrc/ml/ml.h.
type treeNode[T float32 | float64] struct {
	value   T
	feature uint32
	next    [2]uint32
}

// treeNaNFirst in treeNode.feature means that NaNs continue at next[0].
const treeNaNFirst = 1 << 31

// treeLists holds the constant operands of f32_forest or f64_forest.
type treeLists[T float32 | float64] struct {
	nodes         []treeNode[T]
	roots         []uint32
	first, target []uint32 // nil if leaves hold the weights of the only target
	weight        []T
	missing       bool
}

// layout writes the nodes of a forest.
type layout[T float32 | float64] struct {
	model  *ml.TreeModel
	forest *treeLists[T]
	nodes  []uint32 // place of each branch
	leaves []uint32 // place of each leaf
}

const unplaced = math.MaxUint32

// layOut lays out the trees of a forest.
func layOut[T float32 | float64](f *ml.Forest) (*treeLists[T], error) {
	m := f.Model
	l := &layout[T]{model: m, forest: &treeLists[T]{},
		nodes: slices.Repeat([]uint32{unplaced}, len(m.Nodes)), leaves: slices.Repeat([]uint32{unplaced}, len(m.Votes))}
	order, total := l.order()
	if total > ml.MaxTreeNodes {
		return nil, graph.Errorf(graph.ErrUnsupported, "trees of %d nodes; at most %d can be run", total, ml.MaxTreeNodes)
	}
	l.forest.nodes = make([]treeNode[T], total)
	for _, i := range order {
		if i < 0 {
			l.leaf(int(^i), f.Single)
		} else {
			l.branch(&m.Nodes[i], l.nodes[i])
		}
	}
	for _, root := range m.Roots {
		l.forest.roots = append(l.forest.roots, l.at(root))
	}
	if !f.Single {
		l.votes()
	}
	return l.forest, nil
}

// order places every node that a root leads to. It returns the nodes in that order, and the number
// of places.
func (l *layout[T]) order() (order []int32, total int) {
	place := func(i int32) {
		if l.at(i) != unplaced || total > ml.MaxTreeNodes {
			return
		}
		order = append(order, i)
		if i < 0 {
			l.leaves[^i] = uint32(total)
			total++
		} else {
			l.nodes[i] = uint32(total)
			total += places(&l.model.Nodes[i])
		}
	}
	order = make([]int32, 0, len(l.nodes)+len(l.leaves))
	done := 0
	for _, root := range l.model.Roots {
		place(root)
		for ; done < len(order); done++ {
			if i := order[done]; i >= 0 {
				place(l.model.Nodes[i].Yes)
				place(l.model.Nodes[i].No)
			}
		}
	}
	return order, total
}

// at returns the place of a node.
func (l *layout[T]) at(i int32) uint32 {
	if i < 0 {
		return l.leaves[^i]
	}
	return l.nodes[i]
}

// places returns how many nodes a branch becomes.
func places(n *ml.TreeBranch) int {
	switch {
	case n.Mode == ml.BranchMember && len(n.Set) > 0:
		return 3*len(n.Set) - 1
	case n.Mode == ml.BranchEQ, n.Mode == ml.BranchNEQ:
		return 2
	}
	return 1
}

// leaf writes a leaf: its weight, or its index in the lists of votes.
func (l *layout[T]) leaf(i int, single bool) {
	at := l.leaves[i]
	n := treeNode[T]{next: [2]uint32{at, at}}
	if single {
		n.value = T(l.model.Votes[i][0].Weight)
	} else {
		switch value := any(&n.value).(type) {
		case *float32:
			*value = math.Float32frombits(uint32(i))
		case *float64:
			*value = math.Float64frombits(uint64(i))
		}
	}
	l.forest.nodes[at] = n
}

// votes writes the lists of votes of all leaves.
func (l *layout[T]) votes() {
	f := l.forest
	f.first = make([]uint32, 1, len(l.model.Votes)+1)
	for _, list := range l.model.Votes {
		for _, v := range list {
			f.target, f.weight = append(f.target, v.Target), append(f.weight, T(v.Weight))
		}
		f.first = append(f.first, uint32(len(f.target)))
	}
}

// branch writes a branch, starting at place at.
func (l *layout[T]) branch(n *ml.TreeBranch, at uint32) {
	yes, no, v := l.at(n.Yes), l.at(n.No), T(n.Value)
	if v != v && n.Mode != ml.BranchMember {
		// No number compares with NaN, and all numbers differ from it.
		if n.Mode == ml.BranchNEQ {
			no = yes
		}
		l.ask(n, at, v, yes, no, n.NaNYes)
		return
	}
	switch n.Mode {
	case ml.BranchLEQ:
		l.ask(n, at, v, yes, no, n.NaNYes)
	case ml.BranchLT:
		l.ask(n, at, below(v), yes, no, n.NaNYes)
	case ml.BranchGTE:
		l.ask(n, at, below(v), no, yes, !n.NaNYes)
	case ml.BranchGT:
		l.ask(n, at, v, no, yes, !n.NaNYes)
	case ml.BranchEQ:
		l.equal(n, at, v, yes, no, n.NaNYes)
	case ml.BranchNEQ:
		l.equal(n, at, v, no, yes, false) // a NaN differs from every number
	case ml.BranchMember:
		l.member(n, at, n.Set, yes, no)
	}
}

// ask writes a node that continues at first for features of at most v, and at second otherwise.
// NaNs continue at first if nanFirst.
func (l *layout[T]) ask(n *ml.TreeBranch, at uint32, v T, first, second uint32, nanFirst bool) {
	node := treeNode[T]{value: v, feature: n.Feature, next: [2]uint32{first, second}}
	if nanFirst {
		node.feature |= treeNaNFirst
		l.forest.missing = true
	}
	l.forest.nodes[at] = node
}

// equal writes the two nodes that ask whether a feature is v.
func (l *layout[T]) equal(n *ml.TreeBranch, at uint32, v T, yes, no uint32, nanYes bool) {
	l.ask(n, at, v, at+1, no, nanYes)
	l.ask(n, at+1, below(v), no, yes, false)
}

// member writes the nodes that ask whether a feature is in a set of ascending numbers.
func (l *layout[T]) member(n *ml.TreeBranch, at uint32, set []float64, yes, no uint32) {
	switch half := len(set) / 2; len(set) {
	case 0:
		l.ask(n, at, T(math.NaN()), yes, no, n.NaNYes)
	case 1:
		l.equal(n, at, T(set[0]), yes, no, n.NaNYes)
	default:
		low := at + 1
		high := low + uint32(places(&ml.TreeBranch{Mode: ml.BranchMember, Set: set[:half]}))
		l.ask(n, at, T(set[half-1]), low, high, false)
		l.member(n, low, set[:half], yes, no)
		l.member(n, high, set[half:], yes, no)
	}
}

// below returns the next number below v. If there is none, it returns NaN, which compares with no
// number.
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

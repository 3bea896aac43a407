package op

import (
	"cmp"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// branchMode is how a node of a decision tree compares a feature with its value.
type branchMode uint8

const (
	branchLEQ branchMode = iota // the numbers are those of TreeEnsemble
	branchLT
	branchGTE
	branchGT
	branchEQ
	branchNEQ
	branchMember
)

// branchNames are the modes that TreeEnsembleRegressor and -Classifier have.
var branchNames = [...]string{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"}

// branchNode is a node of a decision tree that is not a leaf.
type branchNode struct {
	feature uint32
	mode    branchMode
	nanYes  bool // where a NaN goes
	value   float64
	set     []float64 // of branchMember, ascending
	yes, no int32     // the number of a node, or ^ that of a leaf
}

// vote is a weight for a target.
type vote struct {
	target uint32
	weight float64
}

// treeModel is decision trees as attributes give them, checked.
type treeModel struct {
	nodes    []branchNode
	roots    []int32  // of each tree, numbered as branchNode.yes
	votes    [][]vote // of each leaf
	targets  int
	features int  // that samples must at least have
	double   bool // what attributes give is float64
}

// maxTreeNodes bounds the nodes of a forest, so that their numbers and the
// offsets of their fields fit 32 bits.
const maxTreeNodes = 1 << 28

// check reports a node that leads to itself, and finds out how many features are
// needed.
func (m *treeModel) check() error {
	const (
		unseen = iota
		open
		done
	)
	state := make([]uint8, len(m.nodes))
	var stack []int32
	for first := range m.nodes {
		if state[first] == unseen {
			stack = append(stack, int32(first))
		}
		for len(stack) > 0 {
			i := stack[len(stack)-1]
			n := &m.nodes[i]
			if state[i] != unseen {
				state[i] = done
				stack = stack[:len(stack)-1]
				continue
			}
			state[i] = open
			m.features = max(m.features, int(n.feature)+1)
			for _, to := range []int32{n.yes, n.no} {
				switch {
				case to < 0 || state[to] == done:
				case state[to] == open:
					return graph.Mark(graph.ErrFormat, "node %d of the trees leads to itself", to)
				default:
					stack = append(stack, to)
				}
			}
		}
	}
	return nil
}

// join makes one of the votes of a leaf that are for the same target.
func (m *treeModel) join(add func(a, b float64) float64) {
	for i, list := range m.votes {
		if len(list) < 2 {
			continue
		}
		slices.SortStableFunc(list, func(a, b vote) int { return cmp.Compare(a.target, b.target) })
		kept := list[:1]
		for _, v := range list[1:] {
			if last := &kept[len(kept)-1]; last.target == v.target {
				last.weight = add(last.weight, v.weight)
			} else {
				kept = append(kept, v)
			}
		}
		m.votes[i] = kept
	}
}

// single reports whether every leaf has one vote, for the only target.
func (m *treeModel) single() bool {
	return m.targets == 1 && !slices.ContainsFunc(m.votes, func(list []vote) bool { return len(list) != 1 })
}

// feature checks the number of a feature.
func featureOf(id int) (uint32, error) {
	if id < 0 || id > math.MaxInt32 {
		return 0, graph.Mark(graph.ErrFormat, "a node asks for feature %d", id)
	}
	return uint32(id), nil
}

// targetOf checks the number of a target or a class.
func targetOf(id, count int) (uint32, error) {
	if id < 0 || id >= count {
		return 0, graph.Mark(graph.ErrFormat, "a leaf votes for target or class %d of %d", id, count)
	}
	return uint32(id), nil
}

package ml

import (
	"cmp"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// BranchMode says how a node of a decision tree compares a feature with its value.
type BranchMode uint8

// The modes, with the numbers of TreeEnsemble.
const (
	BranchLEQ BranchMode = iota
	BranchLT
	BranchGTE
	BranchGT
	BranchEQ
	BranchNEQ
	BranchMember
)

// branchNames lists the modes of TreeEnsembleRegressor and TreeEnsembleClassifier.
var branchNames = [...]string{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"}

// TreeBranch is an inner node of a decision tree.
type TreeBranch struct {
	Feature uint32
	Mode    BranchMode
	NaNYes  bool // a NaN goes to Yes
	Value   float64
	Set     []float64 // of BranchMember, ascending
	Yes, No int32     // the number of a node, or ^ the number of a leaf
}

// TreeVote is a weight for a target.
type TreeVote struct {
	Target uint32
	Weight float64
}

// TreeModel is a set of decision trees, read from attributes and checked.
type TreeModel struct {
	Nodes    []TreeBranch
	Roots    []int32      // one per tree, numbered as TreeBranch.Yes
	Votes    [][]TreeVote // per leaf, at most one for each target
	Targets  int
	Features int  // the least that samples must have
	Double   bool // the attributes are float64
	Negative bool // a weight of a vote is negative, or NaN
}

// MaxTreeNodes bounds the nodes of a forest, so that node numbers and field offsets fit 32 bits.
const MaxTreeNodes = 1 << 28

// check returns an error if a node leads back to itself. It sets m.Features.
func (m *TreeModel) check() error {
	const (
		unseen = iota
		open
		done
	)
	state := make([]uint8, len(m.Nodes))
	var stack []int32
	for first := range m.Nodes {
		if state[first] == unseen {
			stack = append(stack, int32(first))
		}
		for len(stack) > 0 {
			i := stack[len(stack)-1]
			n := &m.Nodes[i]
			if state[i] != unseen {
				state[i] = done
				stack = stack[:len(stack)-1]
				continue
			}
			state[i] = open
			m.Features = max(m.Features, int(n.Feature)+1)
			for _, to := range []int32{n.Yes, n.No} {
				switch {
				case to < 0 || state[to] == done:
				case state[to] == open:
					return graph.Errorf(graph.ErrFormat, "node %d of the trees leads to itself", to)
				default:
					stack = append(stack, to)
				}
			}
		}
	}
	return nil
}

// join combines the votes of each leaf that are for the same target.
func (m *TreeModel) join(add func(a, b float64) float64) {
	for i, list := range m.Votes {
		if len(list) < 2 {
			continue
		}
		slices.SortStableFunc(list, func(a, b TreeVote) int { return cmp.Compare(a.Target, b.Target) })
		kept := list[:1]
		for _, v := range list[1:] {
			if last := &kept[len(kept)-1]; last.Target == v.Target {
				last.Weight = add(last.Weight, v.Weight)
			} else {
				kept = append(kept, v)
			}
		}
		m.Votes[i] = kept
	}
}

// single reports whether every leaf has one vote and there is one target.
func (m *TreeModel) single() bool {
	return m.Targets == 1 && !slices.ContainsFunc(m.Votes, func(list []TreeVote) bool { return len(list) != 1 })
}

// featureOf returns the index of a feature. A negative or too large id is ErrFormat.
func featureOf(id int64) (uint32, error) {
	if id < 0 || id > math.MaxInt32 {
		return 0, graph.Errorf(graph.ErrFormat, "a node asks for feature %d", id)
	}
	return uint32(id), nil
}

// targetOf returns the index of a target or class. An id outside [0,count) is ErrFormat.
func targetOf(id int64, count int) (uint32, error) {
	if id < 0 || id >= int64(count) {
		return 0, graph.Errorf(graph.ErrFormat, "a leaf votes for target or class %d of %d", id, count)
	}
	return uint32(id), nil
}

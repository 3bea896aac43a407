package ml

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// readReals returns a list of floats, or nil if it is empty. Since version 3 the tensor
// NAME_as_tensor, which may be float64, can replace the list.
func readReals(n *op.Node, name string) (list []float64, double bool, err error) {
	if given := n.Floats(name); len(given) > 0 {
		list = kit.Convert(given, func(v float32) float64 { return float64(v) })
	}
	if n.Since < 3 {
		return list, false, nil
	}
	instead, d, err := readNumbers(n, name+"_as_tensor")
	switch {
	case err != nil || len(instead) == 0:
		return list, false, err
	case len(list) > 0:
		return nil, false, graph.Errorf(graph.ErrFormat, "%s and %s_as_tensor are both there", name, name)
	}
	return instead, d == tensor.F64, nil
}

// sameLength returns an error if the attributes' lists differ in length.
func sameLength(names []string, lengths ...int) error {
	for i, length := range lengths {
		if length != lengths[0] {
			return graph.Errorf(graph.ErrFormat, "%s has %d elements and %s has %d", names[0], lengths[0], names[i], length)
		}
	}
	return nil
}

// entries holds the nodes of trees, including leaves, as the older operators list them. Each has
// the number of its tree and its own number within the tree.
type entries struct {
	trees, ids []int64
	index      *numbering
	place      []int32 // numbered as TreeBranch.Yes
	child      []bool  // some node leads to the entry
}

// find returns the index of the entry with the given numbers.
func (e *entries) find(tree, id int64) (int32, error) {
	i, ok := e.index.find(tree, id)
	if !ok {
		return 0, graph.Errorf(graph.ErrFormat, "tree %d has no node %d, which an attribute names", tree, id)
	}
	return i, nil
}

// readEntries reads the attributes nodes_* of the older operators into m.
func readEntries(n *op.Node, m *TreeModel) (*entries, error) {
	n.Ignore("nodes_hitrates", "nodes_hitrates_as_tensor") // how often samples passed
	e := &entries{trees: n.Int64s("nodes_treeids"), ids: n.Int64s("nodes_nodeids")}
	features, missing := n.Int64s("nodes_featureids"), n.Int64s("nodes_missing_value_tracks_true")
	yes, no := n.Int64s("nodes_truenodeids"), n.Int64s("nodes_falsenodeids")
	values, double, err := readReals(n, "nodes_values")
	if err != nil {
		return nil, err
	}
	m.Double = double
	modes := n.Words("nodes_modes")
	names := []string{"nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_truenodeids", "nodes_falsenodeids",
		"nodes_values", "nodes_modes", "nodes_missing_value_tracks_true"}
	count := len(e.trees)
	tracked := len(missing)
	if tracked == 0 { // by no node
		tracked = count
	}
	err = sameLength(names, count, len(e.ids), len(features), len(yes), len(no), len(values), len(modes), tracked)
	if err != nil {
		return nil, err
	}
	if count > MaxTreeNodes {
		return nil, graph.Errorf(graph.ErrUnsupported, "trees of %d nodes; at most %d can be run", count, MaxTreeNodes)
	}
	if e.index, err = newNumbering(e.trees, e.ids); err != nil {
		return nil, err
	}
	e.place, e.child = make([]int32, count), make([]bool, count)
	leaves := 0
	for _, mode := range modes {
		if string(mode) == "LEAF" {
			leaves++
		}
	}
	m.Nodes, m.Votes = make([]TreeBranch, 0, count-leaves), make([][]TreeVote, leaves)
	leaves = 0
	for i, mode := range modes {
		if string(mode) == "LEAF" {
			e.place[i] = int32(^leaves)
			leaves++
			continue
		}
		kind := slices.Index(branchNames[:], string(mode))
		if kind < 0 {
			return nil, graph.Errorf(graph.ErrFormat, "mode of a node is %q, not LEAF or one of %q", mode, branchNames)
		}
		feature, err := featureOf(features[i])
		if err != nil {
			return nil, err
		}
		e.place[i] = int32(len(m.Nodes))
		nanYes := len(missing) > 0 && missing[i] == 1
		m.Nodes = append(m.Nodes, TreeBranch{Feature: feature, Mode: BranchMode(kind), NaNYes: nanYes, Value: values[i]})
	}
	return e, e.link(m, yes, no)
}

// link sets the children of nodes and finds the root of every tree: the first listed node that no
// other leads to. In most files it is the first node of all.
func (e *entries) link(m *TreeModel, yes, no []int64) error {
	for i, at := range e.place {
		if at < 0 {
			continue
		}
		for _, to := range []struct {
			id   int64
			into *int32
		}{{yes[i], &m.Nodes[at].Yes}, {no[i], &m.Nodes[at].No}} {
			k, err := e.find(e.trees[i], to.id)
			if err != nil {
				return err
			}
			*to.into, e.child[k] = e.place[k], true
		}
	}
	rooted := map[int64]bool{}
	var order []int64
	for i, tree := range e.trees {
		if _, there := rooted[tree]; !there {
			rooted[tree], order = false, append(order, tree)
		}
		if !e.child[i] && !rooted[tree] {
			rooted[tree] = true
			m.Roots = append(m.Roots, e.place[i])
		}
	}
	for _, tree := range order {
		if !rooted[tree] {
			return graph.Errorf(graph.ErrFormat, "tree %d has no root: every node is led to by another", tree)
		}
	}
	return m.check()
}

// readVotes reads the attributes that begin with prefix: the votes of leaves. It ignores votes of
// other nodes, which old converters wrote. It joins the votes of a leaf for the same target. If
// there is one target, only the first vote of a leaf counts, as in ONNX Runtime, since skl2onnx
// writes a leaf's weight once per class.
func readVotes(n *op.Node, m *TreeModel, e *entries, prefix string, join func(a, b float64) float64) error {
	trees, ids, targets := n.Int64s(prefix+"_treeids"), n.Int64s(prefix+"_nodeids"), n.Int64s(prefix+"_ids")
	weights, double, err := readReals(n, prefix+"_weights")
	if err != nil {
		return err
	}
	m.Double = m.Double || double
	names := []string{prefix + "_treeids", prefix + "_nodeids", prefix + "_ids", prefix + "_weights"}
	if err := sameLength(names, len(trees), len(ids), len(targets), len(weights)); err != nil {
		return err
	}
	leaves, counts, all := make([]int32, len(weights)), make([]int32, len(m.Votes)), 0
	for i := range weights {
		k, err := e.find(trees[i], ids[i])
		if err != nil {
			return err
		}
		leaves[i] = ^e.place[k]
		if leaves[i] >= 0 {
			counts[leaves[i]]++
			all++
		}
	}
	room := make([]TreeVote, all) // all votes
	for i, n := range counts {
		m.Votes[i], room = room[:0:n], room[n:]
	}
	for i, w := range weights {
		target, err := targetOf(targets[i], m.Targets)
		if err != nil {
			return err
		}
		if at := leaves[i]; at >= 0 {
			m.Votes[at] = append(m.Votes[at], TreeVote{target, w})
			m.Negative = m.Negative || !(w >= 0)
		}
	}
	if m.Targets == 1 {
		join = func(first, _ float64) float64 { return first }
	}
	m.join(join)
	return nil
}

// readNumbers returns the elements of a tensor attribute of floats.
func readNumbers(n *op.Node, name string) ([]float64, tensor.DType, error) {
	t := n.Tensor(name)
	if t == nil {
		return nil, tensor.Invalid, nil
	}
	switch t.DType() {
	case tensor.F32, tensor.F64, tensor.F16:
		return kit.Doubles(t.Aligned()), t.DType(), nil
	}
	return nil, tensor.Invalid, graph.Errorf(graph.ErrFormat, "%s is %v, not of float32, float64 or float16", name, t)
}

// readTrees reads the attributes of TreeEnsemble, which lists nodes and leaves separately.
func readTrees(n *op.Node) (*TreeModel, error) {
	n.Ignore("nodes_hitrates")
	m := &TreeModel{Targets: n.Int("n_targets", 0)}
	splits, splitType, err := readNumbers(n, "nodes_splits")
	if err != nil {
		return nil, err
	}
	weights, weightType, err := readNumbers(n, "leaf_weights")
	if err != nil {
		return nil, err
	}
	members, memberType, err := readNumbers(n, "membership_values")
	if err != nil {
		return nil, err
	}
	m.Double = splitType == tensor.F64 || weightType == tensor.F64 || memberType == tensor.F64
	if err := m.readLeaves(n, weights); err != nil {
		return nil, err
	}
	if err := m.readBranches(n, splits, members); err != nil {
		return nil, err
	}
	return m, m.check()
}

func (m *TreeModel) readLeaves(n *op.Node, weights []float64) error {
	targets := n.Int64s("leaf_targetids")
	if err := sameLength([]string{"leaf_targetids", "leaf_weights"}, len(targets), len(weights)); err != nil {
		return err
	}
	if m.Targets < 1 || m.Targets > math.MaxInt32 {
		return graph.Errorf(graph.ErrFormat, "n_targets is %d", m.Targets)
	}
	list := make([]TreeVote, len(targets))
	for i, id := range targets {
		target, err := targetOf(id, m.Targets)
		if err != nil {
			return err
		}
		list[i] = TreeVote{target, weights[i]}
		m.Votes = append(m.Votes, list[i:i+1])
	}
	return nil
}

func (m *TreeModel) readBranches(n *op.Node, splits, members []float64) error {
	features, missing := n.Int64s("nodes_featureids"), n.Ints("nodes_missing_value_tracks_true")
	yes, no := n.Ints("nodes_truenodeids"), n.Ints("nodes_falsenodeids")
	yesLeaf, noLeaf := n.Ints("nodes_trueleafs"), n.Ints("nodes_falseleafs")
	var modes []byte
	if t := n.Tensor("nodes_modes"); t != nil {
		if t.DType() != tensor.U8 {
			return graph.Errorf(graph.ErrFormat, "nodes_modes is %v, not of uint8", t)
		}
		modes = t.Bytes()
	}
	if len(missing) == 0 {
		missing = make([]int, len(modes))
	}
	names := []string{"nodes_modes", "nodes_featureids", "nodes_splits", "nodes_truenodeids", "nodes_falsenodeids",
		"nodes_trueleafs", "nodes_falseleafs", "nodes_missing_value_tracks_true"}
	if err := sameLength(names, len(modes), len(features), len(splits), len(yes), len(no), len(yesLeaf), len(noLeaf),
		len(missing)); err != nil {
		return err
	}
	if max(len(modes), len(m.Votes)) > MaxTreeNodes {
		return graph.Errorf(graph.ErrUnsupported, "trees of %d nodes and %d leaves; at most %d can be run", len(modes),
			len(m.Votes), MaxTreeNodes)
	}
	place := func(id, leaf int) (int32, error) {
		count := len(modes)
		if leaf != 0 {
			count = len(m.Votes)
		}
		if id < 0 || id >= count {
			return 0, graph.Errorf(graph.ErrFormat, "a node leads to %d, which is none of %d nodes or leaves", id, count)
		}
		if leaf != 0 {
			id = ^id
		}
		return int32(id), nil
	}
	for i, mode := range modes {
		feature, err := featureOf(features[i])
		if err != nil {
			return err
		}
		b := TreeBranch{Feature: feature, Mode: BranchMode(mode), NaNYes: missing[i] == 1, Value: splits[i]}
		if b.Mode > BranchMember {
			return graph.Errorf(graph.ErrFormat, "mode of a node is %d", mode)
		}
		if b.Mode == BranchMember {
			if len(members) == 0 {
				return graph.Errorf(graph.ErrFormat, "membership_values has fewer sets than there are nodes of mode BRANCH_MEMBER")
			}
			b.Set, members = memberSet(members)
		}
		if b.Yes, err = place(yes[i], yesLeaf[i]); err != nil {
			return err
		}
		if b.No, err = place(no[i], noLeaf[i]); err != nil {
			return err
		}
		m.Nodes = append(m.Nodes, b)
	}
	for _, root := range n.Ints("tree_roots") {
		at, err := place(root, 0)
		if err != nil {
			return err
		}
		if b := &m.Nodes[at]; b.Yes < 0 && b.Yes == b.No {
			at = b.Yes // the tree is one leaf
		}
		m.Roots = append(m.Roots, at)
	}
	return nil
}

// memberSet takes the first set off a list in which a NaN ends each set, and sorts it.
func memberSet(list []float64) (set, rest []float64) {
	end := slices.IndexFunc(list, math.IsNaN)
	if end < 0 {
		end = len(list)
	}
	set, rest = slices.Clone(list[:end]), list[min(end+1, len(list)):]
	slices.Sort(set)
	return slices.Compact(set), rest
}

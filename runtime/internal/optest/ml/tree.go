package ml

import (
	"fmt"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// tree is a decision tree: a leaf if it has no branches.
type tree struct {
	feature int
	mode    int // numbered as in TreeEnsemble
	value   float64
	set     []float64 // of mode 6
	nanYes  bool
	yes, no *tree
	votes   []ballot
}

type ballot struct {
	target int
	weight float64
}

// leaf returns the leaf that a sample reaches.
func (t *tree) leaf(x []float64) *tree {
	for t.yes != nil {
		v := x[t.feature]
		yes := []bool{v <= t.value, v < t.value, v >= t.value, v > t.value, v == t.value, v != t.value,
			slices.Contains(t.set, v)}[t.mode]
		if yes || t.nanYes && math.IsNaN(v) {
			t = t.yes
		} else {
			t = t.no
		}
	}
	return t
}

// plant grows a tree. f returns the votes of a leaf.
func plant(s *cases.Suite, depth, features int, modes []int, f func() []ballot) *tree {
	if depth == 0 || depth < 4 && s.IntN(4) == 0 {
		return &tree{votes: f()}
	}
	t := &tree{feature: s.IntN(features), mode: modes[s.IntN(len(modes))], value: float64(s.IntN(9)-4) / 2,
		nanYes: s.IntN(2) == 0}
	if t.mode == 6 {
		for range s.IntN(5) {
			t.set = append(t.set, float64(s.IntN(9)-4)/2)
		}
	}
	t.yes, t.no = plant(s, depth-1, features, modes, f), plant(s, depth-1, features, modes, f)
	return t
}

func plants(s *cases.Suite, count, depth, features int, modes []int, f func() []ballot) []*tree {
	list := make([]*tree, count)
	for i := range list {
		list[i] = plant(s, depth, features, modes, f)
	}
	return list
}

var treeModes = []string{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"}

// asEntries returns the attributes of the older operators, with numbers as float32 or as tensors of
// float64.
func asEntries(prefix string, double bool, trees []*tree) cases.AttrList {
	var treeIDs, ids, features, yes, no, missing, voteTrees, voteIDs, targets []int
	var modes []string
	var values, weights []float64
	for k, root := range trees {
		number := map[*tree]int{}
		var list []*tree
		var visit func(t *tree)
		visit = func(t *tree) {
			number[t] = len(list)
			list = append(list, t)
			if t.yes != nil {
				visit(t.no)
				visit(t.yes)
			}
		}
		visit(root)
		for i, t := range list {
			treeIDs, ids = append(treeIDs, k), append(ids, i)
			features, values = append(features, t.feature), append(values, t.value)
			yes, no, missing = append(yes, number[t.yes]), append(no, number[t.no]), append(missing, int(cases.Truth(t.nanYes)))
			if t.yes == nil {
				modes = append(modes, "LEAF")
			} else {
				modes = append(modes, treeModes[t.mode])
			}
			for _, v := range t.votes {
				voteTrees, voteIDs, targets, weights = append(voteTrees, k), append(voteIDs, i), append(targets, v.target),
					append(weights, v.weight)
			}
		}
	}
	list := cases.Attrs("nodes_treeids", treeIDs, "nodes_nodeids", ids, "nodes_featureids", features, "nodes_modes", modes,
		"nodes_truenodeids", yes, "nodes_falsenodeids", no, "nodes_missing_value_tracks_true", missing,
		prefix+"_treeids", voteTrees, prefix+"_nodeids", voteIDs, prefix+"_ids", targets)
	if double {
		return append(list, cases.Attrs("nodes_values_as_tensor", cases.Vector(tensor.F64, values...),
			prefix+"_weights_as_tensor", cases.Vector(tensor.F64, weights...))...)
	}
	return append(list, cases.Attrs("nodes_values", values, prefix+"_weights", weights)...)
}

// asLists returns the attributes of TreeEnsemble. Every leaf has one vote.
func asLists(d tensor.DType, targets int, trees []*tree) cases.AttrList {
	var roots, features, yes, yesLeaf, no, noLeaf, missing, ids []int
	var splits, weights, members []float64
	var modes *tensor.Tensor
	var kinds []byte
	var add func(t *tree) (int, int)
	add = func(t *tree) (place, leaf int) {
		if t.yes == nil {
			ids, weights = append(ids, t.votes[0].target), append(weights, t.votes[0].weight)
			return len(ids) - 1, 1
		}
		i := len(kinds)
		kinds, features, splits = append(kinds, byte(t.mode)), append(features, t.feature), append(splits, t.value)
		missing = append(missing, int(cases.Truth(t.nanYes)))
		yes, yesLeaf, no, noLeaf = append(yes, 0), append(yesLeaf, 0), append(no, 0), append(noLeaf, 0)
		if t.mode == 6 {
			members = append(append(members, t.set...), math.NaN())
		}
		yes[i], yesLeaf[i] = add(t.yes)
		no[i], noLeaf[i] = add(t.no)
		return i, 0
	}
	for _, root := range trees {
		i, leaf := add(root)
		if leaf == 1 { // a node with equal branches
			yes, yesLeaf, no, noLeaf = append(yes, i), append(yesLeaf, 1), append(no, i), append(noLeaf, 1)
			i = len(kinds)
			kinds, features, splits, missing = append(kinds, 0), append(features, 0), append(splits, 0), append(missing, 0)
		}
		roots = append(roots, i)
	}
	modes, _ = tensor.FromBytes(tensor.U8, tensor.Shape{len(kinds)}, kinds)
	list := cases.Attrs("tree_roots", roots, "n_targets", targets, "nodes_modes", modes, "nodes_featureids", features, "nodes_splits", cases.Vector(d, splits...),
		"nodes_truenodeids", yes, "nodes_trueleafs", yesLeaf, "nodes_falsenodeids", no, "nodes_falseleafs", noLeaf,
		"nodes_missing_value_tracks_true", missing, "leaf_targetids", ids, "leaf_weights", cases.Vector(d, weights...))
	if members != nil {
		list = append(list, cases.Attrs("membership_values", cases.Vector(d, members...))...)
	}
	return list
}

// grid returns samples with numbers that often equal the values of tree nodes.
func grid(s *cases.Suite, d tensor.DType, rows, features int) *tensor.Tensor {
	x := tensor.New(d, rows, features)
	for i := range x.Len() {
		v := float64(s.IntN(11)-5) / 2
		if !d.IsInteger() && s.IntN(12) == 0 {
			v = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[s.IntN(3)]
		}
		cases.SetNumber(x, i, v)
	}
	return x
}

// more adds up to two votes for targets that list already has.
func more(s *cases.Suite, list []ballot) []ballot {
	for range s.IntN(3) {
		list = append(list, ballot{list[s.IntN(len(list))].target, weight(s, 0, 1)})
	}
	return list
}

// scoresOf combines the votes of the trees for one sample. seen marks the targets with a vote. If a
// forest has one target, only the first vote of a leaf counts.
func scoresOf(trees []*tree, x []float64, targets int, how string) (scores []float64, seen []bool) {
	scores, seen = make([]float64, targets), make([]bool, targets)
	for _, t := range trees {
		votes := t.leaf(x).votes
		if targets == 1 {
			votes = votes[:1]
		}
		for _, v := range votes {
			switch k := v.target; {
			case !seen[k]:
				scores[k] = v.weight
			case how == "MIN":
				scores[k] = math.Min(scores[k], v.weight)
			case how == "MAX":
				scores[k] = math.Max(scores[k], v.weight)
			default:
				scores[k] += v.weight
			}
			seen[v.target] = true
		}
	}
	if how == "AVERAGE" {
		for k := range scores {
			scores[k] /= float64(len(trees))
		}
	}
	return scores, seen
}

// forestRows lists extents that exercise the lanes of kernels, their tails, and threads.
var forestRows = []struct{ rows, features, trees, depth int }{
	{0, 1, 1, 1}, {1, 1, 1, 0}, {1, 3, 40, 5}, {16, 2, 3, 3}, {37, 5, 17, 6}, {600, 4, 9, 4},
}

func treeModels(s *cases.Suite) {
	for _, d := range numberTypes {
		for _, c := range forestRows {
			if d != tensor.F32 && c.rows == 600 {
				continue
			}
			x := grid(s, d, c.rows, c.features)
			note := fmt.Sprint(c)
			for _, targets := range []int{1, 3} {
				treeRegressions(s, note, x, c.trees, c.depth, targets)
			}
			for _, classes := range []int{1, 2, 3, 5} {
				treeClassifications(s, note, x, c.trees, c.depth, classes)
			}
		}
	}
	for _, d := range []tensor.DType{tensor.F32, tensor.F64, tensor.F16} {
		for _, c := range forestRows {
			for _, targets := range []int{1, 3} {
				treeEnsembles(s, d, c.rows, c.features, c.trees, c.depth, targets)
			}
		}
	}
	brokenTrees(s)
}

// modeSets lists the node modes that one forest may use.
var modeSets = [][]int{{0}, {1}, {2}, {3}, {4}, {5}, {0, 1, 2, 3, 4, 5}}

func modeSet(s *cases.Suite) []int { return modeSets[s.IntN(len(modeSets))] }

// weight returns a number from lo to hi, rounded to float32.
func weight(s *cases.Suite, lo, hi float64) float64 {
	return float64(float32(lo + s.Float64()*(hi-lo)))
}

func treeRegressions(s *cases.Suite, note string, x *tensor.Tensor, count, depth, targets int) {
	rows, features := x.Shape()[0], x.Shape()[1]
	for i, how := range []string{"SUM", "AVERAGE", "MIN", "MAX"} {
		double := x.DType() == tensor.F64 && i%2 == 0
		trees := plants(s, count, depth, features, modeSet(s), func() (list []ballot) {
			for k := range targets {
				if k == 0 || s.IntN(3) > 0 {
					list = append(list, ballot{k, weight(s, -1, 1)})
				}
			}
			return more(s, list)
		})
		post := transforms[s.IntN(4)]
		y := tensor.New(tensor.F32, rows, targets)
		base := listed(s.Between(tensor.F32, -1, 1, targets))
		if i == 0 {
			base = nil
		}
		for r := range rows {
			list, _ := scoresOf(trees, sample(x, r), targets, how)
			for k, v := range base {
				list[k] += v
			}
			for k, v := range postTransformed(post, list) {
				cases.SetNumber(y, r*targets+k, v)
			}
		}
		list := append(asEntries("target", double, trees),
			cases.Attrs("n_targets", targets, "aggregate_function", how, "post_transform", post)...)
		version := 1
		if double {
			version = 3
			if base != nil {
				list = append(list, cases.Attrs("base_values_as_tensor", cases.Vector(tensor.F64, base...))...)
			}
		} else if base != nil {
			list = append(list, cases.Attrs("base_values", base)...)
		}
		s.Add(cases.Case{Domain: domain, Op: "TreeEnsembleRegressor", Version: version,
			Note: fmt.Sprint(note, targets, how, post), Attrs: list, In: cases.In(x), Want: cases.Want(y), Ulps: 256})
	}
}

func treeClassifications(s *cases.Suite, note string, x *tensor.Tensor, count, depth, classes int) {
	rows, features := x.Shape()[0], x.Shape()[1]
	for i, way := range []string{"first", "first, positive", "second", "both", "both, base values"} {
		lo := -1.0
		if i%2 == 1 && i < 3 {
			lo = 0
		}
		only := classes == 2 && i < 3
		voted, positive := map[int]bool{}, true
		trees := plants(s, count, depth, features, modeSet(s), func() (list []ballot) {
			for k := range classes {
				if only && k != int(cases.Truth(i == 2)) || !only && k != 0 && s.IntN(3) == 0 {
					continue
				}
				list = append(list, ballot{k, weight(s, lo, 1)})
				voted[k], positive = true, positive && list[len(list)-1].weight >= 0
			}
			if len(list) > 0 {
				list = more(s, list)
			}
			return list
		})
		if classes == 2 && len(voted) == 1 && !only {
			continue // by chance
		}
		post := transforms[s.IntN(4)]
		var base []float64
		if i == 4 || i == 0 && only {
			base = listed(s.Between(tensor.F32, -1, 1, []int{classes, 1}[int(cases.Truth(only))]))
		}
		l, named := make([]string, classes), any(nil)
		numbered := make([]int, classes)
		for k := range l {
			l[k], numbered[k] = fmt.Sprint("class ", k), 20-3*k
		}
		name := "classlabels_int64s"
		if named = numbered; i%2 == 1 && classes > 1 {
			name, named = "classlabels_strings", l
		}
		answer := func(r int) ([]float64, int) {
			list, seen := scoresOf(trees, sample(x, r), classes, "SUM")
			if only {
				k := int(cases.Truth(i == 2))
				v := list[k]
				if base != nil {
					v += base[0]
				}
				class := int(cases.Truth(v > []float64{0, 0.5}[int(cases.Truth(positive))]))
				if k == 0 {
					return both(post, v, !positive), class
				}
				return postTransformed(post, []float64{0, v}), class
			}
			top := -1
			for k := range list {
				if base != nil {
					list[k] += base[k]
				}
				if (base != nil || seen[k]) && (top < 0 || list[k] > list[top]) {
					top = k
				}
			}
			if classes == 1 {
				top = int(cases.Truth(list[0] > 0))
			}
			return postTransformed(post, list), max(top, 0)
		}
		given := named
		if classes == 1 {
			given = []int{0, 1}
		}
		list := append(asEntries("class", false, trees), cases.Attrs(name, named, "post_transform", post)...)
		if base != nil {
			list = append(list, cases.Attrs("base_values", base)...)
		}
		s.Add(cases.Case{Domain: domain, Op: "TreeEnsembleClassifier", Version: 1, Note: fmt.Sprint(note, classes, way, post), Attrs: list, In: cases.In(x), Ulps: 256,
			Want: classified(given, rows, classes, answer)})
	}
}

func treeEnsembles(s *cases.Suite, d tensor.DType, rows, features, count, depth, targets int) {
	x := grid(s, d, rows, features)
	modes := modeSet(s)
	if s.IntN(2) == 0 {
		modes = []int{0, 6}
	}
	trees := plants(s, count, depth, features, modes, func() []ballot {
		return []ballot{{s.IntN(targets), cases.Number(s.Between(d, -1, 1, 1), 0)}}
	})
	for how, name := range []string{"AVERAGE", "SUM", "MIN", "MAX"} {
		post := s.IntN(4) // numbered as in TreeEnsemble
		y := tensor.New(d, rows, targets)
		for r := range rows {
			list, _ := scoresOf(trees, cases.Numbers(x)[r*features:][:features], targets, name)
			for k, v := range postTransformed([]string{"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"}[post], list) {
				cases.SetNumber(y, r*targets+k, v)
			}
		}
		s.Add(cases.Case{Domain: domain, Op: "TreeEnsemble", Version: 5, Note: fmt.Sprint(rows, features, count, depth, targets, name, post), In: cases.In(x), Want: cases.Want(y), Ulps: 256,
			Attrs: append(asLists(d, targets, trees), cases.Attrs("aggregate_function", how, "post_transform", post)...)})
	}
}

// without returns the attributes except one, with more at the end.
func without(list cases.AttrList, name string, more ...any) cases.AttrList {
	list = slices.DeleteFunc(slices.Clone(list), func(a *graph.Attr) bool { return a.Name == name })
	return append(list, cases.Attrs(more...)...)
}

// brokenTrees adds models that no tool writes.
func brokenTrees(s *cases.Suite) {
	x := s.Any(tensor.F32, 2, 2)
	stump := &tree{feature: 1, yes: &tree{votes: []ballot{{0, 1}}}, no: &tree{votes: []ballot{{0, 2}}}}
	good := append(asEntries("target", false, []*tree{stump}), cases.Attrs("n_targets", 1)...)
	for name, value := range map[string]any{
		"nodes_truenodeids":  []int{0, 0, 0},
		"nodes_falsenodeids": []int{7, 0, 0},
		"nodes_nodeids":      []int{0, 1, 1},
		"nodes_treeids":      []int{0, 0, 1},
		"nodes_featureids":   []int{-1, 0, 0},
		"nodes_values":       []float64{0, 1},
		"nodes_modes":        []string{"BRANCH_MAYBE", "LEAF", "LEAF"},
		"target_ids":         []int{0, 1},
		"target_nodeids":     []int{1, 5},
		"target_weights":     []float64{1},
		"n_targets":          0,
		"aggregate_function": "MEAN",
		"post_transform":     "EXP",
		"base_values":        []float64{1, 2},
	} {
		addFailure(s, graph.ErrFormat, "TreeEnsembleRegressor", 1, name, without(good, name, name, value), cases.In(x))
	}
	addFailure(s, graph.ErrShape, "TreeEnsembleRegressor", 1, "features",
		without(good, "nodes_featureids", "nodes_featureids", []int{2, 0, 0}), cases.In(x))
	addFailure(s, graph.ErrFormat, "TreeEnsembleRegressor", 1, "huge feature",
		without(good, "nodes_featureids", "nodes_featureids", []int{cases.Huge, 0, 0}), cases.In(x))
	addFailure(s, graph.ErrFormat, "TreeEnsembleRegressor", 3, "both", append(good[:len(good):len(good)],
		cases.Attrs("nodes_values_as_tensor", cases.Vector(tensor.F64, 0, 0, 0))...), cases.In(x))
	loop := cases.Attrs("nodes_treeids", []int{0, 0, 0, 0}, "nodes_nodeids", []int{0, 1, 2, 3}, "nodes_featureids", []int{0, 0, 0, 0}, "nodes_values", []float64{0, 0, 0, 0},
		"nodes_modes", []string{"BRANCH_LEQ", "BRANCH_LEQ", "BRANCH_LEQ", "LEAF"}, "nodes_truenodeids", []int{1, 2, 1, 0}, "nodes_falsenodeids", []int{3, 3, 3, 0},
		"target_treeids", []int{0}, "target_nodeids", []int{3}, "target_ids", []int{0}, "target_weights", []float64{1}, "n_targets", 1)
	addFailure(s, graph.ErrFormat, "TreeEnsembleRegressor", 1, "loop", loop, cases.In(x))
	shared := without(loop, "nodes_truenodeids", "nodes_truenodeids", []int{1, 2, 3, 0})
	addCase(s, "TreeEnsembleRegressor", 1, "shared leaf", shared, cases.In(x),
		cases.Want(cases.FromNumbers(tensor.F32, []float64{1, 1}, 2, 1)))
	silent := without(without(without(without(good, "target_treeids", "target_treeids", []int{0}), "target_nodeids",
		"target_nodeids", []int{1}), "target_ids", "target_ids", []int{0}), "target_weights", "target_weights", []float64{5})
	addCase(s, "TreeEnsembleRegressor", 1, "a leaf without votes", silent,
		cases.In(cases.Seen(cases.Vector(tensor.F32, 0, 1, 0, -1), 2, 2)),
		cases.Want(cases.FromNumbers(tensor.F32, []float64{5, 0}, 2, 1)))
	leaf := cases.Attrs("nodes_treeids", []int{0}, "nodes_nodeids", []int{0}, "nodes_featureids", []int{0}, "nodes_values", []float64{0},
		"nodes_modes", []string{"LEAF"}, "nodes_truenodeids", []int{0}, "nodes_falsenodeids", []int{0},
		"target_treeids", []int{0}, "target_nodeids", []int{0}, "target_ids", []int{0}, "target_weights", []float64{3}, "n_targets", 1)
	for _, rows := range []int{1, 40} {
		scores := slices.Repeat([]float64{3}, rows)
		for _, d := range []tensor.DType{tensor.F32, tensor.F64} {
			addCase(s, "TreeEnsembleRegressor", 1, "no features", leaf, cases.In(tensor.New(d, rows, 0)),
				cases.Want(cases.FromNumbers(tensor.F32, scores, rows, 1)))
		}
	}
	// One negative weight moves the limit between the classes from 0.5 to 0, though the votes of the
	// leaf add up to a positive number.
	mixed := append(asEntries("class", false, []*tree{{votes: []ballot{{1, -0.25}, {1, 0.5}}}}),
		cases.Attrs("classlabels_int64s", []int{20, 17})...)
	addCase(s, "TreeEnsembleClassifier", 1, "a negative weight", mixed, cases.In(tensor.New(tensor.F32, 1, 1)),
		cases.Want(cases.Ints(17), cases.FromNumbers(tensor.F32, []float64{0, 0.25}, 1, 2)))
	addFailure(s, graph.ErrUnsupported, "TreeEnsembleClassifier", 1, "one text", append(asEntries("class", false,
		[]*tree{stump}), cases.Attrs("classlabels_strings", []string{"a"})...), cases.In(x))
	addFailure(s, graph.ErrFormat, "TreeEnsembleClassifier", 1, "base values", append(asEntries("class", false,
		[]*tree{stump}), cases.Attrs("classlabels_int64s", []int{1, 2, 3}, "base_values", []float64{1})...), cases.In(x))

	list := asLists(tensor.F32, 1, []*tree{stump})
	for name, value := range map[string]any{
		"nodes_truenodeids":  []int{2},
		"nodes_falsenodeids": []int{-1},
		"nodes_falseleafs":   []int{0},
		"nodes_splits":       cases.Vector(tensor.F32, 0, 1),
		"nodes_modes":        cases.Vector(tensor.I32, 0),
		"leaf_targetids":     []int{0, 1},
		"leaf_weights":       cases.Vector(tensor.F32, 0),
		"tree_roots":         []int{1},
		"n_targets":          0,
		"aggregate_function": 4,
		"post_transform":     -1,
	} {
		addFailure(s, graph.ErrFormat, "TreeEnsemble", 5, name, without(list, name, name, value), cases.In(x))
	}
	addFailure(s, graph.ErrFormat, "TreeEnsemble", 5, "members",
		without(list, "nodes_modes", "nodes_modes", cases.FromNumbers(tensor.U8, []float64{6}, 1)), cases.In(x))
	addFailure(s, graph.ErrFormat, "TreeEnsemble", 5, "mode",
		without(list, "nodes_modes", "nodes_modes", cases.FromNumbers(tensor.U8, []float64{7}, 1)), cases.In(x))
}

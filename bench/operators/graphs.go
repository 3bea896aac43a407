package operators

import (
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// graphs are the rows of operators that take graphs, or more attributes than a line holds.
var graphs = []struct {
	name  string
	build func(m *Model)
}{
	{"If", conditional},
	{"Loop", func(m *Model) { loop(m, 20, 128, 1024) }},
	{"Loop/small", func(m *Model) { loop(m, 200, 1, 16) }},
	{"Scan", func(m *Model) { scan(m, 64, 4096) }},
	{"Scan/small", func(m *Model) { scan(m, 500, 16) }},
	{"SequenceMap", sequenceMap},
	{"ai.onnx.ml.TreeEnsemble", trees},
	{"ai.onnx.ml.TreeEnsembleClassifier", func(m *Model) { treeLists(m, "TreeEnsembleClassifier", 200) }},
	{"ai.onnx.ml.TreeEnsembleRegressor", func(m *Model) { treeLists(m, "TreeEnsembleRegressor", 200) }},
	{"ai.onnx.ml.TreeEnsembleRegressor/row", func(m *Model) { treeLists(m, "TreeEnsembleRegressor", 1) }},
}

// must returns the operand of a word in the notation.
func (m *Model) must(word string) string {
	name, err := m.operand(word)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", word, err))
	}
	return name
}

// plain returns a node of the standard domain.
func plain(name, op string, attrs []*graph.Attr, inputs []string, outputs ...string) *graph.Node {
	return &graph.Node{Name: name, Op: op, Version: opset, Inputs: inputs, Outputs: outputs, Attrs: attrs}
}

// value returns a value that a graph declares.
func value(name string, d tensor.DType, shape ...int) *graph.Value {
	return &graph.Value{Name: name, Type: graph.TensorOf(d, graph.DimsOf(shape))}
}

// conditional chooses between two functions of elements.
func conditional(m *Model) {
	condition, x := m.must("bool[]{1}"), m.must("float32[512,1024]")
	branch := func(op string) *graph.Attr {
		y := "in " + op
		name := "then_branch"
		if op == "Neg" {
			name = "else_branch"
		}
		return graph.GraphAttr(name, &graph.Graph{
			Name: op, Nodes: []*graph.Node{plain(op, op, nil, []string{x}, y)},
			Outputs: []*graph.Value{value(y, tensor.F32, 512, 1024)},
		})
	}
	m.add(plain("if", "If", []*graph.Attr{branch("Relu"), branch("Neg")}, []string{condition}), 1)
}

// loop adds a matrix to a state several times, and keeps a row of every time.
func loop(m *Model, times, rows, columns int) {
	count := m.must(fmt.Sprintf("int64[]{%d}", times))
	x := m.must(fmt.Sprintf("float32[%d,%d]", rows, columns))
	step := m.must(fmt.Sprintf("float32[%d,%d]", rows, columns))
	zero := m.must("=int64[]{0}")
	body := &graph.Graph{
		Name: "body",
		Inputs: []*graph.Value{
			value("i", tensor.I64), value("go in", tensor.Bool), value("state in", tensor.F32, rows, columns),
		},
		Nodes: []*graph.Node{
			plain("go", "Identity", nil, []string{"go in"}, "go out"),
			plain("add", "Add", nil, []string{"state in", step}, "sum"),
			plain("tanh", "Tanh", nil, []string{"sum"}, "state out"),
			plain("row", "Gather", nil, []string{"state out", zero}, "row"),
		},
		Outputs: []*graph.Value{
			value("go out", tensor.Bool), value("state out", tensor.F32, rows, columns), value("row", tensor.F32, columns),
		},
	}
	m.add(plain("loop", "Loop", []*graph.Attr{graph.GraphAttr("body", body)}, []string{count, "", x}), 2)
}

// scan sums rows.
func scan(m *Model, rows, columns int) {
	state, x := m.must(fmt.Sprintf("float32[%d]", columns)), m.must(fmt.Sprintf("float32[%d,%d]", rows, columns))
	body := &graph.Graph{
		Name:   "body",
		Inputs: []*graph.Value{value("state in", tensor.F32, columns), value("row in", tensor.F32, columns)},
		Nodes: []*graph.Node{
			plain("add", "Add", nil, []string{"state in", "row in"}, "state out"),
			plain("tanh", "Tanh", nil, []string{"state out"}, "row out"),
		},
		Outputs: []*graph.Value{value("state out", tensor.F32, columns), value("row out", tensor.F32, columns)},
	}
	attrs := []*graph.Attr{graph.GraphAttr("body", body), graph.IntAttr("num_scan_inputs", 1)}
	m.add(plain("scan", "Scan", attrs, []string{state, x}), 2)
}

// sequenceMap applies a function of elements to the tensors of a sequence.
func sequenceMap(m *Model) {
	if err := m.node("SequenceConstruct", slices.Repeat([]string{"float32[512,256]"}, 3)); err != nil {
		panic(err)
	}
	body := &graph.Graph{
		Name: "body", Inputs: []*graph.Value{value("item", tensor.F32, 512, 256)},
		Nodes:   []*graph.Node{plain("relu", "Relu", nil, []string{"item"}, "item out")},
		Outputs: []*graph.Value{value("item out", tensor.F32, 512, 256)},
	}
	m.add(plain("map", "SequenceMap", []*graph.Attr{graph.GraphAttr("body", body)}, slices.Clone(m.given)), 1)
	m.add(plain("joined", "ConcatFromSequence", []*graph.Attr{graph.IntAttr("axis", 0)}, slices.Clone(m.given)), 1)
}

// The forests have full trees.
const (
	treeCount = 50
	treeDepth = 6
	features  = 16
)

// treeLists adds an ensemble of trees as lists of nodes.
func treeLists(m *Model, op string, rows int) {
	const inner, all = 1<<treeDepth - 1, 2<<treeDepth - 1
	var trees, nodes, feature, left, right, leafTrees, leafNodes, leafTargets []int64
	var values, weights []float32
	var modes []string
	for t := range int64(treeCount) {
		for i := range int64(all) {
			trees, nodes = append(trees, t), append(nodes, i)
			if i < inner {
				modes, feature = append(modes, "BRANCH_LEQ"), append(feature, m.rand.Int64N(features))
				values = append(values, m.rand.Float32()-0.5)
				left, right = append(left, 2*i+1), append(right, 2*i+2)
				continue
			}
			modes, feature, values = append(modes, "LEAF"), append(feature, 0), append(values, 0)
			left, right = append(left, 0), append(right, 0)
			leafTrees, leafNodes = append(leafTrees, t), append(leafNodes, i)
			leafTargets, weights = append(leafTargets, i%3), append(weights, m.rand.Float32())
		}
	}
	kind, outputs := "target", 1
	attrs := []*graph.Attr{graph.IntAttr("n_targets", 3)}
	if op == "TreeEnsembleClassifier" {
		kind, outputs = "class", 2
		attrs = []*graph.Attr{graph.IntsAttr("classlabels_int64s", 0, 1, 2)}
	}
	attrs = append(attrs,
		graph.StringAttr("post_transform", "NONE"),
		graph.IntsAttr("nodes_treeids", trees...), graph.IntsAttr("nodes_nodeids", nodes...),
		graph.IntsAttr("nodes_featureids", feature...),
		graph.FloatsAttr("nodes_values", values...), graph.StringsAttr("nodes_modes", modes...),
		graph.IntsAttr("nodes_truenodeids", left...), graph.IntsAttr("nodes_falsenodeids", right...),
		graph.IntsAttr(kind+"_treeids", leafTrees...), graph.IntsAttr(kind+"_nodeids", leafNodes...),
		graph.IntsAttr(kind+"_ids", leafTargets...),
		graph.FloatsAttr(kind+"_weights", weights...),
	)
	x := m.must(fmt.Sprintf("float32[%d,%d]", rows, features))
	m.learned(&graph.Node{Name: "trees", Op: op, Version: 3, Inputs: []string{x}, Attrs: attrs}, outputs)
}

// learned adds a node of the domain of machine learning, in the node's version.
func (m *Model) learned(n *graph.Node, outputs int) {
	n.Domain = "ai.onnx.ml"
	m.imports(n)
	m.add(n, outputs)
}

// trees adds an ensemble of trees with separate lists of nodes and leaves.
func trees(m *Model) {
	const inner, leaves = 1<<treeDepth - 1, 1 << treeDepth
	var roots, feature, left, right, leftLeaf, rightLeaf, targets []int64
	var splits, weights []float32
	var modes []uint8
	for t := range int64(treeCount) {
		roots = append(roots, t*inner)
		for i := range int64(inner) {
			feature, splits = append(feature, m.rand.Int64N(features)), append(splits, m.rand.Float32()-0.5)
			modes = append(modes, 0)
			child, base, leaf := 2*i+1, t*inner, int64(0)
			if child >= inner {
				child, base, leaf = child-inner, t*leaves, 1
			}
			left, right = append(left, base+child), append(right, base+child+1)
			leftLeaf, rightLeaf = append(leftLeaf, leaf), append(rightLeaf, leaf)
		}
		for i := range int64(leaves) {
			targets, weights = append(targets, i%3), append(weights, m.rand.Float32())
		}
	}
	floats := func(name string, v []float32) *graph.Attr {
		return graph.TensorAttr(name, known(tensor.From(v, len(v))))
	}
	x := m.must(fmt.Sprintf("float32[200,%d]", features))
	m.learned(&graph.Node{Name: "trees", Op: "TreeEnsemble", Version: 5, Inputs: []string{x}, Attrs: []*graph.Attr{
		graph.IntAttr("n_targets", 3), graph.IntAttr("aggregate_function", 1), graph.IntAttr("post_transform", 0),
		graph.IntsAttr("tree_roots", roots...), graph.IntsAttr("nodes_featureids", feature...),
		floats("nodes_splits", splits),
		graph.TensorAttr("nodes_modes", known(tensor.From(modes, len(modes)))),
		graph.IntsAttr("nodes_truenodeids", left...), graph.IntsAttr("nodes_falsenodeids", right...),
		graph.IntsAttr("nodes_trueleafs", leftLeaf...), graph.IntsAttr("nodes_falseleafs", rightLeaf...),
		graph.IntsAttr("leaf_targetids", targets...), floats("leaf_weights", weights),
	}}, 1)
}

// known returns a tensor that was made without an error.
func known(t *tensor.Tensor, err error) *tensor.Tensor {
	if err != nil {
		panic(err)
	}
	return t
}

package topologies

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Trees returns an ensemble of full binary trees of a depth. For each row of features it sums to
// one number.
func Trees(trees, depth, features, rows int) *graph.Model {
	b := newBuilder("trees")
	e := &ensemble{builder: b, features: features}
	for tree := range trees {
		e.tree(tree, depth)
	}
	y := b.name("TreeEnsembleRegressor")
	b.g.Nodes = append(b.g.Nodes, &graph.Node{
		Name: y, Domain: "ai.onnx.ml", Op: "TreeEnsembleRegressor", Version: treeOpset,
		Inputs: []string{b.input("x", tensor.F32, rows, features)}, Outputs: []string{y}, Attrs: e.attrs(),
	})
	b.output(y, rows, 1)
	m := b.model()
	m.Opsets = append(m.Opsets, graph.Opset{Domain: "ai.onnx.ml", Version: treeOpset})
	return m
}

const treeOpset = 3

// ensemble is the lists that the operator takes.
type ensemble struct {
	*builder
	features                           int
	trees, nodes, feature, left, right []int64
	values, weights                    []float32
	modes                              []string
	leafTrees, leafNodes, leafTargets  []int64
}

// tree adds a full tree. Node i has the children 2i+1 and 2i+2.
func (e *ensemble) tree(tree, depth int) {
	inner := 1<<depth - 1
	for i := range 2*inner + 1 {
		e.trees, e.nodes = append(e.trees, int64(tree)), append(e.nodes, int64(i))
		if i < inner {
			e.modes = append(e.modes, "BRANCH_LEQ")
			e.feature = append(e.feature, int64(e.rand.IntN(e.features)))
			e.values = append(e.values, float32(math.Round(e.rand.Float64()*1000)/1000))
			e.left, e.right = append(e.left, int64(2*i+1)), append(e.right, int64(2*i+2))
			continue
		}
		e.modes = append(e.modes, "LEAF")
		e.feature, e.values = append(e.feature, 0), append(e.values, 0)
		e.left, e.right = append(e.left, 0), append(e.right, 0)
		e.leafTrees, e.leafNodes = append(e.leafTrees, int64(tree)), append(e.leafNodes, int64(i))
		e.leafTargets, e.weights = append(e.leafTargets, 0), append(e.weights, float32(e.rand.NormFloat64()))
	}
}

func (e *ensemble) attrs() []*graph.Attr {
	return []*graph.Attr{
		integer("n_targets", 1), graph.StringAttr("post_transform", "NONE"), graph.StringAttr("aggregate_function", "SUM"),
		ints("nodes_treeids", e.trees...), ints("nodes_nodeids", e.nodes...), ints("nodes_featureids", e.feature...),
		graph.FloatsAttr("nodes_values", e.values...), graph.StringsAttr("nodes_modes", e.modes...),
		ints("nodes_truenodeids", e.left...), ints("nodes_falsenodeids", e.right...),
		ints("target_treeids", e.leafTrees...), ints("target_nodeids", e.leafNodes...), ints("target_ids", e.leafTargets...),
		graph.FloatsAttr("target_weights", e.weights...),
	}
}

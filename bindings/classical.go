package bindings

// MLPad is what the rows of the transposed support vectors of RBFF32 are padded
// to a multiple of.
const MLPad = 16

// TreeNode is a node of a decision tree: nacre_f32_tree_node or
// nacre_f64_tree_node of csrc/ml/ml.h, which says what the fields mean.
type TreeNode[T float32 | float64] struct {
	Value   T
	Feature uint32
	Next    [2]uint32
}

// TreeNaNFirst in TreeNode.Feature says that NaNs go on at Next[0].
const TreeNaNFirst = 1 << 31

// Ways in which what trees give a sample comes together.
const (
	TreeSum = iota
	TreeMin
	TreeMax
)

// Forest is decision trees, as csrc/ml/ml.h has them; the fields mean what they
// mean there.
type Forest[T float32 | float64] struct {
	Kernel    Kernel // of op f32_descend or f64_descend
	Nodes     []TreeNode[T]
	Roots     []uint32
	Missing   bool
	Aggregate int
	Targets   int
	First     []uint32 // nil when the values of leaves are weights for the only target
	Target    []uint32
	Weight    []T
}

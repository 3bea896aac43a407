package ml

import (
	"unsafe"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TreeAggregate says how the votes of the trees are combined per sample. The numbers match
// nacre_tree_aggregate in csrc/ml/ml.h.
type TreeAggregate int

// The ways to combine the votes of two trees.
const (
	TreeSum TreeAggregate = iota
	TreeMin
	TreeMax
)

// Forest is a set of decision trees. It computes in float32, or in float64 if the samples or the
// model are float64.
type Forest struct {
	Model     *TreeModel
	Aggregate TreeAggregate
	Single    bool // every leaf has one vote, and there is one target
}

func newForest(m *TreeModel, how TreeAggregate) *Forest { return &Forest{m, how, m.single()} }

// Double reports whether samples of type d are computed in float64.
func (o *Forest) Double(d tensor.DType) bool { return o.Model.Double || d == tensor.F64 }

// Trees returns the forest.
func (o *Forest) Trees() *Forest { return o }

// Maps returns no maps.
func (o *Forest) Maps() (linear, vectors []*LinearMap) { return nil, nil }

// checkSamples returns the number of samples. It returns an error if they have fewer features than
// the trees need.
func (o *Forest) checkSamples(v *op.Value) (rows graph.Dim, err error) {
	rows, features, err := rowDims(v)
	if err != nil {
		return rows, err
	}
	if n, ok := features.Value(); ok && n < o.Model.Features {
		return rows, graph.Errorf(graph.ErrShape, "input is %v; the trees ask for %d features", v.Type, o.Model.Features)
	}
	return rows, nil
}

// each combines the votes of the trees, [rows,targets], and passes them to singles or doubles. seen
// is nil if the forest is Single.
func (o *Forest) each(
	c *op.Run, k Kernels, singles func(s []float32, seen []byte), doubles func(s []float64, seen []byte),
) error {
	rows, features, err := matrixOf(c.In[0])
	if err != nil {
		return err
	}
	if features < o.Model.Features {
		return graph.Errorf(graph.ErrShape, "input is %v; the trees ask for %d features", c.In[0], o.Model.Features)
	}
	n := rows * o.Model.Targets
	var seen []byte
	if !o.Single {
		if seen, err = c.Mem.Scratch(n); err != nil {
			return err
		}
	}
	if !o.Double(c.In[0].DType()) {
		x, err := floatsOf(c, c.In[0])
		if err != nil {
			return err
		}
		s, err := c.ScratchFloats(n)
		if err != nil {
			return err
		}
		if err := k.Forest32(o, x, rows, features, s, seen); err != nil {
			return err
		}
		singles(s, seen)
		return nil
	}
	x, err := doublesOf(c, c.In[0])
	if err != nil {
		return err
	}
	s, err := scratchDoubles(c, n)
	if err != nil {
		return err
	}
	if err := k.Forest64(o, x, rows, features, s, seen); err != nil {
		return err
	}
	doubles(s, seen)
	return nil
}

// scratchDoubles returns n numbers, not cleared, that are valid until Run returns.
func scratchDoubles(c *op.Run, n int) ([]float64, error) {
	b, err := c.Mem.Scratch(tensor.F64.Bytes(n))
	if err != nil || n == 0 {
		return nil, err
	}
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
}

// doublesOf returns the elements of t, of numberTypes or float16, as float64. It returns t's own
// memory if t is float64, otherwise scratch memory.
func doublesOf(c *op.Run, t *tensor.Tensor) ([]float64, error) {
	if t.DType() == tensor.F64 {
		return tensor.View[float64](t), nil
	}
	list, err := scratchDoubles(c, t.Len())
	if err != nil {
		return nil, err
	}
	elements.Get(list, t, 0)
	return list, nil
}

// TreeRegressor is TreeEnsemble and TreeEnsembleRegressor. It combines the trees' votes per target,
// then adds a base value.
type TreeRegressor struct {
	*Forest
	average bool
	base    []float64 // nil for none
	post    postTransform
	typed   bool // the scores have the samples' type; if false, float32
}

// Plain reports whether the scores are the combined votes, with no average, base value or
// transform.
func (o *TreeRegressor) Plain() bool { return !o.average && o.base == nil && o.post == transformNone }

// aggregates maps the values of aggregate_function to ways to combine votes.
var aggregates = map[string]struct {
	how     TreeAggregate
	average bool
	join    func(a, b float64) float64
}{
	"AVERAGE": {TreeSum, true, func(a, b float64) float64 { return a + b }},
	"SUM":     {TreeSum, false, func(a, b float64) float64 { return a + b }},
	"MIN":     {TreeMin, false, func(a, b float64) float64 { return min(a, b) }},
	"MAX":     {TreeMax, false, func(a, b float64) float64 { return max(a, b) }},
}

func newTreeRegressor(n *op.Node) (op.Op, error) {
	name := n.Str("aggregate_function", "SUM")
	how, ok := aggregates[name]
	if !ok {
		return nil, graph.Errorf(graph.ErrFormat, "aggregate_function is %q, not AVERAGE, SUM, MIN or MAX", name)
	}
	post, err := readPostTransform(n)
	if err != nil {
		return nil, err
	}
	m := &TreeModel{Targets: n.Int("n_targets", 0)}
	if m.Targets < 1 || m.Targets > MaxTreeNodes {
		return nil, graph.Errorf(graph.ErrFormat, "n_targets is %d; it must be 1 to %d", m.Targets, MaxTreeNodes)
	}
	e, err := readEntries(n, m)
	if err != nil {
		return nil, err
	}
	if err := readVotes(n, m, e, "target", how.join); err != nil {
		return nil, err
	}
	base, double, err := readReals(n, "base_values")
	if err != nil {
		return nil, err
	}
	if m.Double = m.Double || double; len(base) != 0 && len(base) != m.Targets {
		return nil, graph.Errorf(graph.ErrFormat, "there are %d base_values for %d targets", len(base), m.Targets)
	}
	return &TreeRegressor{Forest: newForest(m, how.how), average: how.average, base: base, post: post}, nil
}

func newTreeEnsemble(n *op.Node) (op.Op, error) {
	names := []string{"AVERAGE", "SUM", "MIN", "MAX"}
	number, post := n.Int("aggregate_function", 1), n.Int("post_transform", 0)
	if number < 0 || number >= len(names) || post < 0 || post >= len(transformNames) {
		return nil, graph.Errorf(graph.ErrFormat,
			"aggregate_function is %d and post_transform %d; they must be among 0 to %d and 0 to %d",
			number, post, len(names)-1, len(transformNames)-1)
	}
	m, err := readTrees(n)
	if err != nil {
		return nil, err
	}
	how := aggregates[names[number]]
	return &TreeRegressor{Forest: newForest(m, how.how), average: how.average, post: postTransform(post), typed: true}, nil
}

func (o *TreeRegressor) dtype(x tensor.DType) tensor.DType {
	if o.typed {
		return x
	}
	return tensor.F32
}

// Infer sets one score per sample and target.
func (o *TreeRegressor) Infer(c *op.Infer) error {
	rows, err := o.checkSamples(c.In[0])
	if err != nil {
		return err
	}
	c.Set(0, o.dtype(c.In[0].DType), graph.Dims{rows, graph.Known(o.Model.Targets)})
	return nil
}

// Compute computes the scores.
func (o *TreeRegressor) Compute(c *op.Run, k Kernels) error {
	rows, _, err := matrixOf(c.In[0])
	if err != nil {
		return err
	}
	y, err := c.Output(0, o.dtype(c.In[0].DType()), tensor.Shape{rows, o.Model.Targets})
	if err != nil {
		return err
	}
	return o.each(c, k, func(s []float32, _ []byte) {
		finishScores(o, s)
		if y.DType() == tensor.F32 {
			copy(tensor.View[float32](y), s)
		} else {
			c.PutFloats(y, s)
		}
	}, func(s []float64, _ []byte) {
		finishScores(o, s)
		kit.PutDoubles(y, s)
	})
}

// finishScores turns combined votes into scores: average, base value, then transform.
func finishScores[T float32 | float64](o *TreeRegressor, s []T) {
	n := o.Model.Targets
	row := make([]float64, n)
	for ; len(s) > 0; s = s[n:] {
		for k := range n {
			if o.average {
				s[k] /= T(len(o.Model.Roots))
			}
			if o.base != nil {
				s[k] += T(o.base[k])
			}
			row[k] = float64(s[k])
		}
		if o.post != transformNone {
			o.post.apply(row)
			for k, v := range row {
				s[k] = T(v)
			}
		}
	}
}

var forestRows = []op.Row{
	{Domain: domain, Name: "TreeEnsemble", Since: []int{5}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Types{tensor.F32, tensor.F64, tensor.F16}, Items: kit.ItemsOfRows, New: newTreeEnsemble},
	classifierRow("TreeEnsembleClassifier", []int{1, 3}, newTreeClassifier),
	{Domain: domain, Name: "TreeEnsembleRegressor", Since: []int{1, 3}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: numberTypes, Items: kit.ItemsOfRows, New: newTreeRegressor},
}

package ml

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// LinearMap computes alpha·x·w' + bias on rows of float32. An attribute holds the weights w.
type LinearMap struct {
	Weights *tensor.Tensor // [n,k]
	Bias    []float32      // n elements; nil for none
}

// newLinearMap arranges weights as n rows.
func newLinearMap(weights []float32, n int, bias []float32) (*LinearMap, error) {
	if n < 1 || len(weights) == 0 || len(weights)%n != 0 {
		return nil, graph.Errorf(graph.ErrFormat, "%d coefficients are not %d rows", len(weights), n)
	}
	if len(bias) == 0 {
		bias = nil
	} else if len(bias) != n {
		return nil, graph.Errorf(graph.ErrFormat, "%d coefficients come in %d rows and there are %d intercepts",
			len(weights), n, len(bias))
	}
	w, err := tensor.From(weights, n, len(weights)/n)
	return &LinearMap{Weights: w, Bias: bias}, err
}

// Rows returns n.
func (a *LinearMap) Rows() int { return a.Weights.Shape()[0] }

// Features returns k.
func (a *LinearMap) Features() int { return a.Weights.Shape()[1] }

// Maps returns the map itself.
func (a *LinearMap) Maps() (linear, vectors []*LinearMap) { return []*LinearMap{a}, nil }

// LinearRegressor computes a score per target.
type LinearRegressor struct {
	*LinearMap
	post postTransform
}

func newLinearRegressor(n *op.Node) (op.Op, error) {
	post, err := readPostTransform(n)
	if err != nil {
		return nil, err
	}
	a, err := newLinearMap(n.Floats("coefficients"), n.Int("targets", 1), n.Floats("intercepts"))
	return &LinearRegressor{a, post}, err
}

// Infer sets one score per sample and target.
func (o *LinearRegressor) Infer(c *op.Infer) error { return inferScores(c, o.Features(), o.Rows()) }

// inferScores sets output 0 to n scores per sample.
func inferScores(c *op.Infer, features, n int) error {
	rows, f, err := rowDims(c.In[0])
	if err != nil {
		return err
	}
	if v, ok := f.Value(); ok && v != features {
		return graph.Errorf(graph.ErrShape, "input is %v; the model is for %d features", c.In[0].Type, features)
	}
	c.Set(0, tensor.F32, graph.Dims{rows, graph.Known(n)})
	return nil
}

// Compute computes the scores.
func (o *LinearRegressor) Compute(c *op.Run, k Kernels) error {
	x, rows, err := sampleRows(c, o.Features())
	if err != nil {
		return err
	}
	y, err := scoresFor(c, 0, rows, o.Rows())
	if err != nil {
		return err
	}
	if err := k.Linear(o.LinearMap, 1, x, rows, y); err != nil {
		return err
	}
	return o.post.rows(k, y, o.Rows())
}

// LinearClassifier computes a score per class, or one for the second of two classes.
type LinearClassifier struct {
	*LinearMap
	labels labels
	post   postTransform
}

func newLinearClassifier(n *op.Node) (op.Op, error) {
	n.Ignore("multi_class") // changes nothing
	post, err := readPostTransform(n)
	if err != nil {
		return nil, err
	}
	l, err := readLabels(n, "classlabels_ints", "classlabels_strings")
	if err != nil {
		return nil, err
	}
	bias := n.Floats("intercepts")
	rows := len(bias)
	if rows == 0 {
		rows = l.count()
	}
	if rows != l.count() && (rows != 1 || l.count() != 2) {
		return nil, graph.Errorf(graph.ErrFormat, "there are %d intercepts for %d classes", rows, l.count())
	}
	a, err := newLinearMap(n.Floats("coefficients"), rows, bias)
	return &LinearClassifier{a, l, post}, err
}

// Infer sets a label and scores for every sample.
func (o *LinearClassifier) Infer(c *op.Infer) error {
	return inferClasses(c, &o.labels, o.Features(), o.labels.count())
}

// Compute computes the labels and scores.
func (o *LinearClassifier) Compute(c *op.Run, k Kernels) error {
	x, rows, err := sampleRows(c, o.Features())
	if err != nil {
		return err
	}
	if o.Rows() == o.labels.count() {
		n := o.Rows()
		y, err := scoresFor(c, 1, rows, n)
		if err != nil {
			return err
		}
		if err := k.Linear(o.LinearMap, 1, x, rows, y); err != nil {
			return err
		}
		if err := putLabels(c, &o.labels, rows, func(r int) int { return largest(y[r*n:][:n]) }); err != nil {
			return err
		}
		return o.post.rows(k, y, n)
	}
	one, err := c.ScratchFloats(rows)
	if err != nil {
		return err
	}
	if err := k.Linear(o.LinearMap, 1, x, rows, one); err != nil {
		return err
	}
	if err := putLabels(c, &o.labels, rows, func(r int) int { return secondIf(one[r] > 0) }); err != nil || !c.Wants(1) {
		return err
	}
	y, err := scoresFor(c, 1, rows, 2)
	if err != nil {
		return err
	}
	return o.post.pairs(k, one, y)
}

// secondIf returns 1, the index of the second of two classes, if yes is true.
func secondIf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// classifierRow returns the row of an operator with labels and scores as outputs.
func classifierRow(name string, since []int, open func(n *op.Node) (op.Op, error)) op.Row {
	return op.Row{Domain: domain, Name: name, Since: since, In: [2]int{1, 1}, Out: [2]int{1, 2}, Types: numberTypes,
		Items: kit.ItemsOfRows, New: open}
}

var linearRows = []op.Row{
	classifierRow("LinearClassifier", []int{1}, newLinearClassifier),
	newRow("LinearRegressor", numberTypes, newLinearRegressor),
}

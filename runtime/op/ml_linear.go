package op

import (
	"unsafe"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// linearMap is alpha·x·w' + bias on rows of float32, with weights that an attribute
// holds.
type linearMap struct {
	w       *tensor.Tensor // [n,k]
	bias    []float32      // n; nil for none
	product multiplier
}

// newLinearMap makes rows of the weights, n of them.
func newLinearMap(weights []float32, n int, bias []float32) (*linearMap, error) {
	if n < 1 || len(weights) == 0 || len(weights)%n != 0 {
		return nil, graph.Mark(graph.ErrFormat, "%d coefficients are not %d rows", len(weights), n)
	}
	if len(bias) != 0 && len(bias) != n {
		return nil, graph.Mark(graph.ErrFormat, "%d coefficients come in %d rows and there are %d intercepts", len(weights), n, len(bias))
	}
	w, err := tensor.From(weights, n, len(weights)/n)
	return &linearMap{w: w, bias: bias}, err
}

func (a *linearMap) rows() int     { return a.w.Shape()[0] }
func (a *linearMap) features() int { return a.w.Shape()[1] }

func (a *linearMap) prepare(c *Prepare) error {
	p := &Prepare{In: []*tensor.Tensor{nil, a.w}, DTypes: []tensor.DType{tensor.F32, tensor.F32}, ISA: c.ISA, Packs: c.Packs}
	if err := a.product.prepare(p); err != nil {
		return err
	}
	return a.product.packRight(p, 1, true)
}

// run computes out[rows,n] of x[rows,k].
func (a *linearMap) run(c *Run, x []float32, rows int, alpha float32, out []float32) error {
	if len(out) == 0 {
		return nil
	}
	n, k := a.rows(), a.features()
	s := products{m: rows, n: n, k: k, aRow: k, aCol: 1, bRow: 1, bCol: k}
	return a.product.runFloats(c, &s, unsafe.Pointer(unsafe.SliceData(x)), a.w.Pointer(), alpha, a.bias, out)
}

// linearRegressor makes a score for every target.
type linearRegressor struct {
	*linearMap
	post postTransform
}

func newLinearRegressor(n *Node) (Op, error) {
	post, err := n.postTransform()
	if err != nil {
		return nil, err
	}
	a, err := newLinearMap(n.Floats("coefficients"), n.Int("targets", 1), n.Floats("intercepts"))
	return &linearRegressor{a, post}, err
}

func (o *linearRegressor) Infer(c *Infer) error { return inferScores(c, o.features(), o.rows()) }

// inferScores says that output 0 is n scores for every sample.
func inferScores(c *Infer, features, n int) error {
	rows, f, err := rowDims(c.In[0])
	if err != nil {
		return err
	}
	if v, ok := f.Value(); ok && v != features {
		return graph.Mark(graph.ErrShape, "input is %v; the model is for %d features", c.In[0].Type, features)
	}
	c.Set(0, tensor.F32, graph.Dims{rows, graph.Known(n)})
	return nil
}

// Prepare packs the weights.
func (o *linearRegressor) Prepare(c *Prepare) error { return o.prepare(c) }

// Describe names the kernel.
func (o *linearRegressor) Describe() string { return o.product.describe() }

func (o *linearRegressor) Run(c *Run) error {
	x, rows, err := c.sampleRows(o.features())
	if err != nil {
		return err
	}
	y, err := c.scoresFor(0, rows, o.rows())
	if err != nil {
		return err
	}
	if err := o.run(c, x, rows, 1, y); err != nil {
		return err
	}
	o.post.rows(y, o.rows())
	return nil
}

// linearClassifier makes a score for every class, or one for the second of two.
type linearClassifier struct {
	*linearMap
	labels labels
	post   postTransform
}

func newLinearClassifier(n *Node) (Op, error) {
	n.Ignore("multi_class") // changes nothing
	post, err := n.postTransform()
	if err != nil {
		return nil, err
	}
	l, err := n.labels("classlabels_ints", "classlabels_strings")
	if err != nil {
		return nil, err
	}
	bias := n.Floats("intercepts")
	rows := len(bias)
	if rows == 0 {
		rows = l.count()
	}
	if rows != l.count() && (rows != 1 || l.count() != 2) {
		return nil, graph.Mark(graph.ErrFormat, "there are %d intercepts for %d classes", rows, l.count())
	}
	a, err := newLinearMap(n.Floats("coefficients"), rows, bias)
	return &linearClassifier{a, l, post}, err
}

func (o *linearClassifier) Infer(c *Infer) error {
	return inferClasses(c, &o.labels, o.features(), o.labels.count())
}

// Prepare packs the weights.
func (o *linearClassifier) Prepare(c *Prepare) error { return o.prepare(c) }

// Describe names the kernel.
func (o *linearClassifier) Describe() string { return o.product.describe() }

func (o *linearClassifier) Run(c *Run) error {
	x, rows, err := c.sampleRows(o.features())
	if err != nil {
		return err
	}
	if o.rows() == o.labels.count() {
		n := o.rows()
		y, err := c.scoresFor(1, rows, n)
		if err != nil {
			return err
		}
		if err := o.run(c, x, rows, 1, y); err != nil {
			return err
		}
		if err := c.putLabels(&o.labels, rows, func(r int) int { return largest(y[r*n:][:n]) }); err != nil {
			return err
		}
		o.post.rows(y, n)
		return nil
	}
	one, err := c.scratchFloats(rows)
	if err != nil {
		return err
	}
	if err := o.run(c, x, rows, 1, one); err != nil {
		return err
	}
	if err := c.putLabels(&o.labels, rows, func(r int) int { return secondIf(one[r] > 0) }); err != nil || !c.Wants(1) {
		return err
	}
	y, err := c.scoresFor(1, rows, 2)
	if err != nil {
		return err
	}
	for r, s := range one {
		a, b := o.post.pair(float64(s), false)
		y[2*r], y[2*r+1] = float32(a), float32(b)
	}
	return nil
}

// secondIf is the place of the second of two classes, or of the first.
func secondIf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// classifierRow is the row of an operator that makes labels and scores.
func classifierRow(name string, since []int, open func(n *Node) (Op, error)) Row {
	return Row{Domain: mlDomain, Name: name, Since: since, In: [2]int{1, 1}, Out: [2]int{1, 2}, Types: mlNumbers, New: open}
}

var mlLinearRows = []Row{
	classifierRow("LinearClassifier", []int{1}, newLinearClassifier),
	mlRow("LinearRegressor", mlNumbers, newLinearRegressor),
}

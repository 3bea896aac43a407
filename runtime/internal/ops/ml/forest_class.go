package ml

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TreeClassifier is TreeEnsembleClassifier. If there are two classes and the trees vote for only
// one, both share one score. The standard does not define this case. As in ONNX Runtime the score
// counts for the second class, and a sample is of that class if its score is above 0, or above 1/2
// if no weight is negative.
type TreeClassifier struct {
	*Forest
	labels   labels
	base     []float64 // per class, or one for the only score; nil for none
	post     postTransform
	only     int  // the class with all votes, of two; -1 otherwise
	positive bool // no weight is negative
}

func newTreeClassifier(n *op.Node) (op.Op, error) {
	post, err := readPostTransform(n)
	if err != nil {
		return nil, err
	}
	l, err := readLabels(n, "classlabels_int64s", "classlabels_strings")
	if err != nil {
		return nil, err
	}
	if len(l.texts) == 1 {
		return nil, graph.Errorf(graph.ErrUnsupported, "the only class is %q and the other has no name; list two", l.texts[0])
	}
	m := &TreeModel{Targets: l.count()}
	e, err := readEntries(n, m)
	if err != nil {
		return nil, err
	}
	if err := readVotes(n, m, e, "class", func(a, b float64) float64 { return a + b }); err != nil {
		return nil, err
	}
	base, double, err := readReals(n, "base_values")
	if err != nil {
		return nil, err
	}
	m.Double = m.Double || double
	o := &TreeClassifier{labels: l, base: base, post: post, positive: !m.Negative}
	o.only = o.onlyClass(m)
	if len(base) != 0 && len(base) != l.count() && (o.only < 0 || len(base) != 1) {
		return nil, graph.Errorf(graph.ErrFormat, "there are %d base_values for %d classes", len(base), l.count())
	}
	o.Forest = newForest(m, TreeSum)
	return o, nil
}

// onlyClass returns the class with all votes if there are two classes and only one has votes. It
// then makes the class the only target. Otherwise it returns -1.
func (o *TreeClassifier) onlyClass(m *TreeModel) int {
	var voted [2]bool
	for _, list := range m.Votes {
		for _, v := range list {
			voted[min(v.Target, 1)] = true
		}
	}
	if m.Targets != 2 || voted[0] == voted[1] {
		return -1
	}
	m.Targets = 1
	for _, list := range m.Votes {
		for i := range list {
			list[i].Target = 0
		}
	}
	return slices.Index(voted[:], true)
}

// Infer sets a label and scores for every sample.
func (o *TreeClassifier) Infer(c *op.Infer) error {
	rows, err := o.checkSamples(c.In[0])
	if err != nil {
		return err
	}
	c.Set(0, o.labels.dtype(), graph.Dims{rows})
	c.Set(1, tensor.F32, graph.Dims{rows, graph.Known(o.labels.count())})
	return nil
}

// Compute computes the labels and scores.
func (o *TreeClassifier) Compute(c *op.Run, k Kernels) error {
	rows, _, err := matrixOf(c.In[0])
	if err != nil {
		return err
	}
	z, err := scoresFor(c, 1, rows, o.labels.count())
	if err != nil {
		return err
	}
	classes := make([]int, rows)
	err = o.each(c, k, func(s []float32, seen []byte) { classify(o, s, seen, classes, z) },
		func(s []float64, seen []byte) { classify(o, s, seen, classes, z) })
	if err != nil {
		return err
	}
	l := &o.labels
	if l.count() == 1 {
		l = &labels{numbers: []int64{0, 1}}
	}
	return putLabels(c, l, rows, func(r int) int { return classes[r] })
}

// classify stores the class of every sample in classes and its scores in z.
func classify[T float32 | float64](o *TreeClassifier, s []T, seen []byte, classes []int, z []float32) {
	count := o.labels.count()
	row := make([]float64, count)
	for r := range classes {
		switch {
		case o.only >= 0:
			classes[r] = classifyOne(o, s[r], row)
		case count == 1:
			if o.base != nil {
				s[r] += T(o.base[0])
			}
			classes[r], row[0] = secondIf(s[r] > 0), float64(s[r])
			o.post.apply(row)
		default:
			classes[r] = classifyMany(o, s[r*count:][:count], seen[r*count:][:count], row)
		}
		for k, v := range row {
			z[r*count+k] = float32(v)
		}
	}
}

// classifyOne sets the scores of two classes from one score and returns the class.
func classifyOne[T float32 | float64](o *TreeClassifier, s T, row []float64) int {
	switch len(o.base) {
	case 1:
		s += T(o.base[0])
	case 2:
		s += T(o.base[o.only])
	}
	limit := T(0)
	if o.positive {
		limit = 0.5
	}
	if o.only == 0 && len(o.base) < 2 {
		row[0], row[1] = o.post.pair(float64(s), !o.positive)
		return secondIf(s > limit)
	}
	row[0], row[1] = 0, 0
	if len(o.base) == 2 {
		row[0], row[1] = o.base[0], o.base[1]
	}
	row[o.only] = float64(s)
	o.post.apply(row)
	return secondIf(s > limit)
}

// classifyMany sets the scores of classes. It returns the class with the highest score among the
// classes that have a vote or a base value, and the first of equals.
func classifyMany[T float32 | float64](o *TreeClassifier, s []T, seen []byte, row []float64) int {
	best := -1
	for k := range s {
		if o.base != nil {
			s[k] += T(o.base[k])
		}
		if row[k] = float64(s[k]); (o.base != nil || seen[k] != 0) && (best < 0 || s[k] > s[best]) {
			best = k
		}
	}
	o.post.apply(row)
	return max(best, 0)
}

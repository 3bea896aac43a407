package ml

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// svmKernel compares samples with support vectors.
type svmKernel struct {
	kind                 string
	gamma, coef0, degree float32
	vectors              *LinearMap // with coef0 as bias, for POLY and SIGMOID
	count, width         int        // of vectors, and of elements in each
}

// readSVMKernel reads a kernel with count support vectors. If linear is set, vectors holds
// coefficients that give the scores directly.
func readSVMKernel(n *op.Node, vectors []float32, count int, linear bool) (*svmKernel, error) {
	k := &svmKernel{kind: n.Str("kernel_type", "LINEAR"), count: count}
	switch params := n.Floats("kernel_params"); len(params) {
	case 0:
	case 3:
		k.gamma, k.coef0, k.degree = params[0], params[1], params[2]
	default:
		return nil, graph.Errorf(graph.ErrFormat, "kernel_params has %d elements, not gamma, coef0 and degree", len(params))
	}
	if linear {
		k.kind = "LINEAR"
	}
	switch k.kind {
	case "LINEAR", "POLY", "RBF", "SIGMOID":
	default:
		return nil, graph.Errorf(graph.ErrFormat, "kernel_type is %q, not LINEAR, POLY, RBF or SIGMOID", k.kind)
	}
	var err error
	if k.vectors, err = newLinearMap(vectors, count, nil); err != nil {
		return nil, err
	}
	k.width = k.vectors.Features()
	if k.kind == "POLY" || k.kind == "SIGMOID" {
		k.vectors.Bias = perFeature([]float32{k.coef0}, count)
	}
	return k, nil
}

// maps returns the vectors among the maps for products or, for RBF, for distances.
func (k *svmKernel) maps() (linear, vectors []*LinearMap) {
	if k.kind == "RBF" {
		return nil, []*LinearMap{k.vectors}
	}
	return []*LinearMap{k.vectors}, nil
}

// run compares every row of x with every vector and stores the results in out[rows,count].
func (k *svmKernel) run(kernels Kernels, x []float32, rows int, out []float32) error {
	switch k.kind {
	case "RBF":
		return kernels.RBF(k.vectors, k.gamma, x, rows, out)
	case "LINEAR":
		return kernels.Linear(k.vectors, 1, x, rows, out)
	}
	if err := kernels.Linear(k.vectors, k.gamma, x, rows, out); err != nil {
		return err
	}
	switch {
	case k.kind == "SIGMOID":
		return kernels.Tanh(out)
	case k.degree == 2:
		for i, v := range out {
			out[i] = v * v
		}
	case k.degree == 3:
		for i, v := range out {
			out[i] = v * v * v
		}
	default:
		for i, v := range out {
			out[i] = float32(math.Pow(float64(v), float64(k.degree)))
		}
	}
	return nil
}

// each compares the rows of x with every vector, some rows at a time. It calls f with the results
// [n,count] of the n rows from first on.
func (k *svmKernel) each(
	c *op.Run, kernels Kernels, x []float32, rows int, f func(first, n int, compared []float32) error,
) error {
	const most = 1 << 20 // numbers at a time
	step := min(rows, max(1, most/k.count))
	compared, err := c.ScratchFloats(step * k.count)
	if err != nil {
		return err
	}
	for first := 0; first < rows; first += step {
		if c.Stopped() {
			return op.ErrStopped
		}
		n := min(step, rows-first)
		part := compared[:n*k.count]
		if err := k.run(kernels, x[first*k.width:], n, part); err != nil {
			return err
		}
		if err := f(first, n, part); err != nil {
			return err
		}
	}
	return nil
}

// SVMRegressor sums the weighted comparisons with support vectors. A one-class machine returns 1 if
// a sample is of the class, otherwise -1.
type SVMRegressor struct {
	kernel   *svmKernel
	sum      *LinearMap // of comparisons; nil if the kernel gives the score
	rho      float32
	oneClass bool
	post     postTransform
}

func newSVMRegressor(n *op.Node) (op.Op, error) {
	o := &SVMRegressor{oneClass: n.Bool("one_class", false)}
	count, rho, coefficients, vectors := n.Int("n_supports", 0), n.Floats("rho"), n.Floats("coefficients"),
		n.Floats("support_vectors")
	if len(rho) == 0 {
		return nil, graph.Errorf(graph.ErrFormat, "rho is left out")
	}
	o.rho = rho[0]
	var err error
	if o.post, err = readPostTransform(n); err != nil {
		return nil, err
	}
	if count <= 0 {
		if o.kernel, err = readSVMKernel(n, coefficients, 1, true); err == nil {
			o.kernel.vectors.Bias = []float32{o.rho}
		}
		return o, err
	}
	if o.kernel, err = readSVMKernel(n, vectors, count, false); err != nil {
		return nil, err
	}
	if len(coefficients) != count {
		return nil, graph.Errorf(graph.ErrFormat, "there are %d coefficients for %d support vectors", len(coefficients),
			count)
	}
	o.sum, err = newLinearMap(coefficients, 1, []float32{o.rho})
	return o, err
}

// Infer sets a score for every sample.
func (o *SVMRegressor) Infer(c *op.Infer) error { return inferScores(c, o.kernel.width, 1) }

// Maps returns the vectors and the weights of comparisons.
func (o *SVMRegressor) Maps() (linear, vectors []*LinearMap) {
	if linear, vectors = o.kernel.maps(); o.sum != nil {
		linear = append(linear, o.sum)
	}
	return linear, vectors
}

// Compute computes the scores.
func (o *SVMRegressor) Compute(c *op.Run, k Kernels) error {
	x, rows, err := sampleRows(c, o.kernel.width)
	if err != nil {
		return err
	}
	y, err := scoresFor(c, 0, rows, 1)
	if err != nil || rows == 0 {
		return err
	}
	if o.sum == nil {
		err = o.kernel.run(k, x, rows, y)
	} else {
		err = o.kernel.each(c, k, x, rows, func(first, n int, compared []float32) error {
			return k.Linear(o.sum, 1, compared, n, y[first:first+n])
		})
	}
	if err != nil {
		return err
	}
	if o.oneClass {
		for i, v := range y {
			y[i] = -1
			if v > 0 {
				y[i] = 1
			}
		}
	}
	return o.post.rows(k, y, 1)
}

// SVMClassifier has one machine per pair of classes. Without support vectors it scores each class
// by a linear function.
type SVMClassifier struct {
	kernel       *svmKernel
	labels       labels
	perClass     []int     // number of support vectors by class; nil for none
	coefficients []float32 // [classes-1,vectors]
	rho          []float32 // per pair of classes
	probA, probB []float32 // per pair of classes; nil for scores
	positive     bool      // no coefficient is negative
	post         postTransform
}

func newSVMClassifier(n *op.Node) (op.Op, error) {
	l, err := readLabels(n, "classlabels_ints", "classlabels_strings")
	if err != nil {
		return nil, err
	}
	o := &SVMClassifier{labels: l, coefficients: n.Floats("coefficients"), rho: n.Floats("rho"),
		probA: n.Floats("prob_a"), probB: n.Floats("prob_b"), positive: true}
	if o.post, err = readPostTransform(n); err != nil {
		return nil, err
	}
	for _, v := range o.coefficients {
		o.positive = o.positive && v >= 0
	}
	vectors, perClass := n.Floats("support_vectors"), n.Ints("vectors_per_class")
	count, pairs := 0, l.count()*(l.count()-1)/2
	for _, v := range perClass {
		if v < 0 || v > len(vectors) {
			return nil, graph.Errorf(graph.ErrFormat, "vectors_per_class has %d of %d numbers", v, len(vectors))
		}
		count += v
	}
	if count == 0 {
		if len(o.rho) == 0 {
			return nil, graph.Errorf(graph.ErrFormat, "rho is left out")
		}
		if o.kernel, err = readSVMKernel(n, o.coefficients, l.count(), true); err == nil {
			o.kernel.vectors.Bias = perFeature(o.rho[:1], l.count())
		}
		return o, err
	}
	switch {
	case len(perClass) != l.count() || l.count() < 2:
		return nil, graph.Errorf(graph.ErrFormat,
			"vectors_per_class has %d elements for %d classes, of which there must be two or more", len(perClass), l.count())
	case len(o.coefficients) != (l.count()-1)*count:
		return nil, graph.Errorf(graph.ErrFormat, "there are %d coefficients for %d classes and %d support vectors",
			len(o.coefficients), l.count(), count)
	case len(o.rho) != pairs:
		return nil, graph.Errorf(graph.ErrFormat, "rho has %d elements for %d pairs of classes", len(o.rho), pairs)
	case len(o.probA) != len(o.probB) || len(o.probA) != 0 && len(o.probA) != pairs:
		return nil, graph.Errorf(graph.ErrFormat, "prob_a and prob_b have %d and %d elements for %d pairs of classes",
			len(o.probA), len(o.probB), pairs)
	}
	o.perClass = perClass
	o.kernel, err = readSVMKernel(n, vectors, count, false)
	return o, err
}

// scores returns the number of scores per sample: one per class, or one per pair of classes if
// there are more than two and no probabilities.
func (o *SVMClassifier) scores() int {
	if n := o.labels.count(); o.perClass != nil && len(o.probA) == 0 && n > 2 {
		return n * (n - 1) / 2
	}
	return o.labels.count()
}

// Infer sets a label and scores for every sample.
func (o *SVMClassifier) Infer(c *op.Infer) error {
	return inferClasses(c, &o.labels, o.kernel.width, o.scores())
}

// Maps returns the vectors.
func (o *SVMClassifier) Maps() (linear, vectors []*LinearMap) { return o.kernel.maps() }

// Compute computes the labels and scores.
func (o *SVMClassifier) Compute(c *op.Run, k Kernels) error {
	x, rows, err := sampleRows(c, o.kernel.width)
	if err != nil {
		return err
	}
	n := o.scores()
	y, err := scoresFor(c, 1, rows, n)
	if err != nil {
		return err
	}
	if rows == 0 {
		return putLabels(c, &o.labels, 0, nil)
	}
	if o.perClass == nil {
		if err := o.kernel.run(k, x, rows, y); err != nil {
			return err
		}
		if err := putLabels(c, &o.labels, rows, func(r int) int { return o.linearClass(y[r*n:][:n]) }); err != nil {
			return err
		}
		return o.post.rows(k, y, n)
	}
	classes, pairs := make([]int, rows), newSVMPairs(o)
	err = o.kernel.each(c, k, x, rows, func(first, count int, compared []float32) error {
		for r := first; r < first+count; r++ {
			classes[r] = pairs.decide(compared[(r-first)*o.kernel.count:][:o.kernel.count])
			pairs.put(y[r*n:][:n])
		}
		return nil
	})
	if err != nil {
		return err
	}
	return putLabels(c, &o.labels, rows, func(r int) int { return classes[r] })
}

// linearClass returns the class of a sample from one score per class. As in ONNX Runtime the second
// of two classes wins if the largest score is high enough.
func (o *SVMClassifier) linearClass(s []float32) int {
	k := largest(s)
	if len(s) == 2 && (o.positive && s[k] >= 0.5 || !o.positive && s[k] > 0) {
		return 1
	}
	return k
}

var svmRows = []op.Row{
	classifierRow("SVMClassifier", []int{1}, newSVMClassifier),
	newRow("SVMRegressor", numberTypes, newSVMRegressor),
}

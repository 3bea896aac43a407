package op

import (
	"math"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// svmKernel compares samples with support vectors.
type svmKernel struct {
	kind                 string
	gamma, coef0, degree float32
	vectors              *linearMap // with coef0 as bias, for all kinds but RBF
	transposed           []float32  // for RBF: [features,vectors], rows padded
	count, width         int        // of vectors and of their elements
	rbf                  bindings.Kernel
	tanh                 bindings.Kernel
}

// readSVMKernel reads a kernel with n support vectors, or with coefficients in
// their place that make the scores themselves.
func readSVMKernel(n *Node, vectors []float32, count int, linear bool) (*svmKernel, error) {
	k := &svmKernel{kind: n.Str("kernel_type", "LINEAR"), count: count}
	switch params := n.Floats("kernel_params"); len(params) {
	case 0:
	case 3:
		k.gamma, k.coef0, k.degree = params[0], params[1], params[2]
	default:
		return nil, graph.Mark(graph.ErrFormat, "kernel_params has %d elements, not gamma, coef0 and degree", len(params))
	}
	if linear {
		k.kind = "LINEAR"
	}
	switch k.kind {
	case "LINEAR", "POLY", "RBF", "SIGMOID":
	default:
		return nil, graph.Mark(graph.ErrFormat, "kernel_type is %q, not LINEAR, POLY, RBF or SIGMOID", k.kind)
	}
	var err error
	if k.vectors, err = newLinearMap(vectors, count, nil); err != nil {
		return nil, err
	}
	k.width = k.vectors.features()
	switch k.kind {
	case "RBF":
		stride := (count + bindings.MLPad - 1) / bindings.MLPad * bindings.MLPad
		k.transposed = make([]float32, k.width*stride)
		for i, v := range vectors {
			k.transposed[i%k.width*stride+i/k.width] = v
		}
		k.vectors = nil
	case "POLY", "SIGMOID":
		k.vectors.bias = perFeature([]float32{k.coef0}, count)
	}
	return k, nil
}

func (k *svmKernel) prepare(c *Prepare) (err error) {
	if k.kind == "RBF" {
		k.rbf, err = c.Kernel("f32_rbf")
		return err
	}
	if k.kind == "SIGMOID" {
		if k.tanh, err = c.Kernel("f32_tanh"); err != nil {
			return err
		}
	}
	return k.vectors.prepare(c)
}

func (k *svmKernel) describe() string {
	if k.rbf.Valid() {
		return describe(k.rbf)
	}
	return k.vectors.product.describe()
}

// run compares every row of x with every vector, to out[rows,count].
func (k *svmKernel) run(c *Run, x []float32, rows int, out []float32) error {
	switch k.kind {
	case "RBF":
		bindings.RBFF32(k.rbf, c.Pool, x, rows, k.width, k.transposed, k.count, k.gamma, out)
		return nil
	case "LINEAR":
		return k.vectors.run(c, x, rows, 1, out)
	}
	if err := k.vectors.run(c, x, rows, k.gamma, out); err != nil {
		return err
	}
	switch {
	case k.kind == "SIGMOID":
		lane := floatLane(out)
		bindings.EltwiseMap(c.Pool, k.tanh, lane, lane, len(out), nil)
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

// each compares the rows of x with every vector, some rows at a time, and calls f
// with what came of them: [n,count] of the rows from first on.
func (k *svmKernel) each(c *Run, x []float32, rows int, f func(first, n int, compared []float32) error) error {
	const most = 1 << 20 // numbers at a time
	step := min(rows, max(1, most/k.count))
	compared, err := c.scratchFloats(step * k.count)
	if err != nil {
		return err
	}
	for first := 0; first < rows; first += step {
		n := min(step, rows-first)
		part := compared[:n*k.count]
		if err := k.run(c, x[first*k.width:], n, part); err != nil {
			return err
		}
		if err := f(first, n, part); err != nil {
			return err
		}
	}
	return nil
}

// svmRegressor adds up the comparisons with support vectors, each with a weight.
// As a one-class machine it says by 1 or -1 whether a sample is of the class.
type svmRegressor struct {
	kernel   *svmKernel
	sum      *linearMap // of comparisons; nil when the kernel makes the score
	rho      float32
	oneClass bool
	post     postTransform
}

func newSVMRegressor(n *Node) (Op, error) {
	o := &svmRegressor{oneClass: n.Bool("one_class", false)}
	count, rho, coefficients, vectors := n.Int("n_supports", 0), n.Floats("rho"), n.Floats("coefficients"), n.Floats("support_vectors")
	if len(rho) == 0 {
		return nil, graph.Mark(graph.ErrFormat, "rho is left out")
	}
	o.rho = rho[0]
	var err error
	if o.post, err = n.postTransform(); err != nil {
		return nil, err
	}
	if count <= 0 {
		if o.kernel, err = readSVMKernel(n, coefficients, 1, true); err == nil {
			o.kernel.vectors.bias = []float32{o.rho}
		}
		return o, err
	}
	if o.kernel, err = readSVMKernel(n, vectors, count, false); err != nil {
		return nil, err
	}
	if len(coefficients) != count {
		return nil, graph.Mark(graph.ErrFormat, "there are %d coefficients for %d support vectors", len(coefficients), count)
	}
	o.sum, err = newLinearMap(coefficients, 1, []float32{o.rho})
	return o, err
}

func (o *svmRegressor) Infer(c *Infer) error { return inferScores(c, o.kernel.width, 1) }

// Prepare packs the vectors.
func (o *svmRegressor) Prepare(c *Prepare) error {
	if o.sum != nil {
		if err := o.sum.prepare(c); err != nil {
			return err
		}
	}
	return o.kernel.prepare(c)
}

// Describe names the kernel.
func (o *svmRegressor) Describe() string { return o.kernel.describe() }

func (o *svmRegressor) Run(c *Run) error {
	x, rows, err := c.sampleRows(o.kernel.width)
	if err != nil {
		return err
	}
	y, err := c.scoresFor(0, rows, 1)
	if err != nil || rows == 0 {
		return err
	}
	if o.sum == nil {
		err = o.kernel.run(c, x, rows, y)
	} else {
		err = o.kernel.each(c, x, rows, func(first, n int, compared []float32) error {
			return o.sum.run(c, compared, n, 1, y[first:first+n])
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
	o.post.rows(y, 1)
	return nil
}

// svmClassifier lets one machine decide between each two classes, or scores each
// class by a linear function when it has no support vectors.
type svmClassifier struct {
	kernel       *svmKernel
	labels       labels
	perClass     []int     // support vectors, class by class; nil for none
	coefficients []float32 // [classes-1,vectors]
	rho          []float32 // per pair of classes
	probA, probB []float32 // per pair of classes; nil for scores
	positive     bool      // no coefficient is negative
	post         postTransform
}

func newSVMClassifier(n *Node) (Op, error) {
	l, err := n.labels("classlabels_ints", "classlabels_strings")
	if err != nil {
		return nil, err
	}
	o := &svmClassifier{labels: l, coefficients: n.Floats("coefficients"), rho: n.Floats("rho"), probA: n.Floats("prob_a"), probB: n.Floats("prob_b"), positive: true}
	if o.post, err = n.postTransform(); err != nil {
		return nil, err
	}
	for _, v := range o.coefficients {
		o.positive = o.positive && v >= 0
	}
	vectors, perClass := n.Floats("support_vectors"), n.Ints("vectors_per_class")
	count, pairs := 0, l.count()*(l.count()-1)/2
	for _, v := range perClass {
		if v < 0 || v > len(vectors) {
			return nil, graph.Mark(graph.ErrFormat, "vectors_per_class has %d of %d numbers", v, len(vectors))
		}
		count += v
	}
	if count == 0 {
		if len(o.rho) == 0 {
			return nil, graph.Mark(graph.ErrFormat, "rho is left out")
		}
		if o.kernel, err = readSVMKernel(n, o.coefficients, l.count(), true); err == nil {
			o.kernel.vectors.bias = perFeature(o.rho[:1], l.count())
		}
		return o, err
	}
	switch {
	case len(perClass) != l.count() || l.count() < 2:
		return nil, graph.Mark(graph.ErrFormat, "vectors_per_class has %d elements for %d classes, of which there must be two or more", len(perClass), l.count())
	case len(o.coefficients) != (l.count()-1)*count:
		return nil, graph.Mark(graph.ErrFormat, "there are %d coefficients for %d classes and %d support vectors", len(o.coefficients), l.count(), count)
	case len(o.rho) != pairs:
		return nil, graph.Mark(graph.ErrFormat, "rho has %d elements for %d pairs of classes", len(o.rho), pairs)
	case len(o.probA) != len(o.probB) || len(o.probA) != 0 && len(o.probA) != pairs:
		return nil, graph.Mark(graph.ErrFormat, "prob_a and prob_b have %d and %d elements for %d pairs of classes", len(o.probA), len(o.probB), pairs)
	}
	o.perClass = perClass
	o.kernel, err = readSVMKernel(n, vectors, count, false)
	return o, err
}

// scores is how many there are for each sample: one per class, or without
// probabilities one per pair of classes where they are more than two.
func (o *svmClassifier) scores() int {
	if n := o.labels.count(); o.perClass != nil && len(o.probA) == 0 && n > 2 {
		return n * (n - 1) / 2
	}
	return o.labels.count()
}

func (o *svmClassifier) Infer(c *Infer) error {
	return inferClasses(c, &o.labels, o.kernel.width, o.scores())
}

// Prepare packs the vectors.
func (o *svmClassifier) Prepare(c *Prepare) error { return o.kernel.prepare(c) }

// Describe names the kernel.
func (o *svmClassifier) Describe() string { return o.kernel.describe() }

func (o *svmClassifier) Run(c *Run) error {
	x, rows, err := c.sampleRows(o.kernel.width)
	if err != nil {
		return err
	}
	n := o.scores()
	y, err := c.scoresFor(1, rows, n)
	if err != nil {
		return err
	}
	if rows == 0 {
		return c.putLabels(&o.labels, 0, nil)
	}
	if o.perClass == nil {
		if err := o.kernel.run(c, x, rows, y); err != nil {
			return err
		}
		if err := c.putLabels(&o.labels, rows, func(r int) int { return o.linearClass(y[r*n:][:n]) }); err != nil {
			return err
		}
		o.post.rows(y, n)
		return nil
	}
	classes, pairs := make([]int, rows), newSVMPairs(o)
	err = o.kernel.each(c, x, rows, func(first, count int, compared []float32) error {
		for r := first; r < first+count; r++ {
			classes[r] = pairs.decide(compared[(r-first)*o.kernel.count:][:o.kernel.count])
			pairs.put(y[r*n:][:n])
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.putLabels(&o.labels, rows, func(r int) int { return classes[r] })
}

// linearClass is the class of a sample by a score for each. Of two classes ONNX
// Runtime takes the second whenever a score is high enough.
func (o *svmClassifier) linearClass(s []float32) int {
	k := largest(s)
	if len(s) == 2 && (o.positive && s[k] >= 0.5 || !o.positive && s[k] > 0) {
		return 1
	}
	return k
}

var mlSVMRows = []Row{
	classifierRow("SVMClassifier", []int{1}, newSVMClassifier),
	mlRow("SVMRegressor", mlNumbers, newSVMRegressor),
}

// floatLane is floats as elementwise kernels take them.
func floatLane(list []float32) bindings.Lane {
	return bindings.Lane{Data: unsafe.Pointer(unsafe.SliceData(list)), Bytes: 4}
}

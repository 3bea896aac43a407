package cpu

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/ml"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Labels and scores of classical machine learning are made in Go, around commands that compute on
// matrix rows.
var mlRows = []row{
	learnedRow[*ml.LinearRegressor]("products"),
	learnedRow[*ml.LinearClassifier]("products"),
	learnedRow[*ml.SVMRegressor]("vectors"),
	learnedRow[*ml.SVMClassifier]("vectors"),
	rowFor("trees alone", bindTrees),
	learnedRow[*ml.TreeRegressor]("trees"),
	learnedRow[*ml.TreeClassifier]("trees"),
	rowFor("distances", bindDistances),
}

// learnedRow returns the row of an operator with outputs that may be strings.
func learnedRow[T ml.Learned](name string) row {
	r := rowFor(name, func(o T, b *binder) error { return bindLearned(o, b) })
	r.Texts = true
	return r
}

// learned holds the constants of an operator.
type learned struct {
	packed map[*ml.LinearMap][]byte // nil for weights that are not packed
	forest *forest
}

// learning is a run of an operator; it implements ml.Kernels.
type learning struct {
	*learned
	*calls
}

func bindLearned(o ml.Learned, b *binder) error {
	l := &learned{packed: map[*ml.LinearMap][]byte{}}
	linear, vectors := o.Maps()
	var err error
	for _, m := range linear {
		if l.packed[m], err = b.packedTensor(m.Weights, b.tiles(), linearGemm(m, 1, 1, false).forPacking(), 1); err != nil {
			return err
		}
	}
	for _, m := range vectors {
		if l.packed[m], err = b.packedTensor(m.Weights, b.kernel("f32_rbf"), rbfWords(m, 0, 1), 1); err != nil {
			return err
		}
	}
	if t, ok := o.(interface{ Trees() *ml.Forest }); ok {
		if l.forest, err = b.forest(t.Trees(), t.Trees().Double(b.DType(0))); err != nil {
			return err
		}
	}
	dev := b.dev
	b.step.Call = func(c *op.Run) error { return o.Compute(c, &learning{l, dev.calls(c)}) }
	return nil
}

// linearGemm returns the product of matrix rows by the weights.
func linearGemm(m *ml.LinearMap, rows int, alpha float32, packed bool) *gemm {
	n, k := graph.Known(m.Rows()), graph.Known(m.Features())
	p := &lower.Product{M: graph.Known(rows), N: n, K: k, ARow: k, ACol: graph.Known(1), BRow: graph.Known(1), BCol: k}
	return &gemm{Product: p, dtype: tensor.F32, bPacked: packed, alpha: float64(alpha)}
}

// Linear computes a linear map.
func (l *learning) Linear(m *ml.LinearMap, alpha float32, x []float32, rows int, y []float32) error {
	if len(y) == 0 {
		return nil
	}
	packed := l.packed[m]
	w := linearGemm(m, rows, alpha, packed != nil).words()
	right, ops := device.Operand{Place: device.Const, Data: packed}, []string{"f32_gemm"}
	if packed == nil {
		right, ops = l.of(m.Weights), []string{"f32_gemv", "f32_gemm"}
	}
	k, err := l.first(w, ops...)
	if err != nil {
		return err
	}
	none := device.Operand{}
	if err := l.add(k, nil, w, l.list(x), right, none, l.list(m.Bias), none, l.list(y)); err != nil {
		return err
	}
	return l.runAll()
}

// Functions of distances: nacre_rbf_function of csrc/ml/ml.h.
const (
	rbfExp = iota
	rbfSquare
	rbfRoot
)

// rbfWords is nacre_f32_rbf_words of csrc/ml/ml.h, of constant vectors.
func rbfWords(m *ml.LinearMap, gamma float32, rows int) (w words) {
	w.int(rows, m.Features(), m.Rows())
	w.float(float64(gamma))
	w.int(rbfExp)
	w.bool(true)
	return w
}

// bindDistances computes the distances between the rows of two matrices.
func bindDistances(o *ml.Distances, b *binder) error {
	x, y := b.In[0], b.In[1]
	switch {
	case x.DType != tensor.F32:
		return device.Refuse("distances of %v elements are computed in Go", x.DType)
	case !x.Dims[1].Same(y.Dims[1]):
		return device.Refuse("rows of %v and %v are not known to be equally long", x.Dims, y.Dims)
	}
	var w words
	w.dim(x.Dims[0], x.Dims[1], y.Dims[0])
	w.float(0)
	function := rbfRoot
	if o.Squared {
		function = rbfSquare
	}
	w.int(function)
	w.bool(false)
	return b.run("f32_rbf", w, b.in(0), b.in(1), b.out(0))
}

// RBF computes the exponential kernel of matrix rows and vectors.
func (l *learning) RBF(m *ml.LinearMap, gamma float32, x []float32, rows int, y []float32) error {
	v := device.Operand{Place: device.Const, Data: l.packed[m]}
	if err := l.run("f32_rbf", rbfWords(m, gamma, rows), l.list(x), v, l.list(y)); err != nil {
		return err
	}
	return l.runAll()
}

// Tanh computes hyperbolic tangents.
func (l *learning) Tanh(y []float32) error { return l.replace("tanh", y) }

// Sigmoid computes the logistic function.
func (l *learning) Sigmoid(y []float32) error { return l.replace("sigmoid", y) }

// Exp computes exponentials.
func (l *learning) Exp(y []float32) error { return l.replace("exp", y) }

// replace replaces each number by a function of it.
func (l *learning) replace(name string, y []float32) error {
	k := l.function(tensor.F32, name)
	w := unaryWords(graph.Known(len(y)), storage{bytes: 4}, storage{bytes: 4}, params(tensor.F32, 0, 0), tensor.F32)
	at, none := l.list(y), device.Operand{}
	if err := l.add(k, nil, w, at, at, none, none); err != nil {
		return err
	}
	return l.runAll()
}

// Forest32 computes trees of float32.
func (l *learning) Forest32(f *ml.Forest, x []float32, rows, features int, y []float32, seen []byte) error {
	return l.trees("f32_forest", l.forest, f, rows, features, l.list(x), l.list(y), seen)
}

// Forest64 computes trees of float64.
func (l *learning) Forest64(f *ml.Forest, x []float64, rows, features int, y []float64, seen []byte) error {
	at := func(list []float64) device.Operand { return l.at(memoryOf(list)) }
	return l.trees("f64_forest", l.forest, f, rows, features, at(x), at(y), seen)
}

package ml

import (
	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// domain holds the operators of classical machine learning
// (https://onnx.ai/onnx/operators/index.html, ai.onnx.ml).
const domain = "ai.onnx.ml"

// Learned is an operator of classical machine learning. A device computes products, distances and
// decision trees for it. Compute turns them into labels and scores.
type Learned interface {
	op.Op
	// Maps returns the maps that Compute passes to Kernels.Linear and the maps that it passes to
	// Kernels.RBF.
	Maps() (linear, vectors []*LinearMap)
	// Compute computes the outputs.
	Compute(c *op.Run, k Kernels) error
}

// Kernels computes on rows of numbers.
type Kernels interface {
	// Linear sets y[rows,n] to alpha·x·w' + bias of x[rows,k].
	Linear(m *LinearMap, alpha float32, x []float32, rows int, y []float32) error
	// RBF sets y[rows,n] to exp(-gamma·d). d is the squared distance between a row of x[rows,k] and
	// a row of the weights.
	RBF(m *LinearMap, gamma float32, x []float32, rows int, y []float32) error
	// Tanh replaces numbers by their hyperbolic tangents.
	Tanh(y []float32) error
	// Sigmoid replaces every v by 1 / (1 + exp(-v)).
	Sigmoid(y []float32) error
	// Exp replaces numbers by their exponentials.
	Exp(y []float32) error
	// Forest32 sets y[rows,targets] to the combined votes for the rows of x[rows,features]. It sets
	// seen[rows,targets] to 1 if some tree votes for the target, otherwise to 0. seen is nil for a
	// forest that is Single.
	Forest32(f *Forest, x []float32, rows, features int, y []float32, seen []byte) error
	// Forest64 is Forest32 in float64.
	Forest64(f *Forest, x []float64, rows, features int, y []float64, seen []byte) error
}

// numberTypes lists the element types that most operators of ml take.
var numberTypes = op.Types{tensor.F32, tensor.F64, tensor.I64, tensor.I32}

// newRow returns the row of an operator with one input and one output.
func newRow(name string, types op.Types, open func(n *op.Node) (op.Op, error)) op.Row {
	return op.Row{Domain: domain, Name: name, Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: types,
		Items: kit.ItemsOfRows, New: open}
}

// rowDims returns the number of samples and features of a matrix, as far as known. A vector is one
// sample.
func rowDims(v *op.Value) (rows, features graph.Dim, err error) {
	switch rank, ok := v.Rank(); {
	case !ok:
		return graph.Unknown(), graph.Unknown(), nil
	case rank == 1:
		return graph.Known(1), v.Dims[0], nil
	case rank == 2:
		return v.Dims[0], v.Dims[1], nil
	}
	return rows, features, graph.Errorf(graph.ErrShape, "input is %v; a matrix [samples,features] or a vector is needed",
		v.Type)
}

// matrixOf is rowDims of a tensor.
func matrixOf(t *tensor.Tensor) (rows, features int, err error) {
	switch s := t.Shape(); len(s) {
	case 1:
		return 1, s[0], nil
	case 2:
		return s[0], s[1], nil
	}
	return 0, 0, graph.Errorf(graph.ErrShape, "input is %v; a matrix [samples,features] or a vector is needed", t)
}

// floatsOf returns the elements of t, of numberTypes or float16, as float32. It returns t's own
// memory if t is float32, otherwise scratch memory.
func floatsOf(c *op.Run, t *tensor.Tensor) ([]float32, error) {
	if kit.ComputedInF32.Has(t.DType()) || t.Len() == 0 {
		return c.Floats(t)
	}
	list, err := c.ScratchFloats(t.Len())
	if err != nil {
		return nil, err
	}
	elements.Get(list, t, 0)
	return list, nil
}

// labels are the names of classes, either integers or strings.
type labels struct {
	numbers []int64
	texts   []string
}

// readLabels returns the classes listed in one of two attributes.
func readLabels(n *op.Node, numbers, texts string) (labels, error) {
	l := labels{texts: n.Strs(texts)}
	for _, v := range n.Ints(numbers) {
		l.numbers = append(l.numbers, int64(v))
	}
	if (len(l.numbers) == 0) == (len(l.texts) == 0) {
		return l, graph.Errorf(graph.ErrFormat, "one of %s and %s must be there and hold something, the other not", numbers,
			texts)
	}
	return l, nil
}

func (l *labels) count() int { return len(l.numbers) + len(l.texts) }

func (l *labels) dtype() tensor.DType {
	if l.texts != nil {
		return tensor.String
	}
	return tensor.I64
}

// vector returns the labels as a tensor.
func (l *labels) vector() *tensor.Tensor {
	if l.texts != nil {
		return textVector(l.texts)
	}
	t, _ := tensor.From(l.numbers, len(l.numbers))
	return t
}

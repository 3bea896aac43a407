package loom

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// softmax computes one of the variants. Each item of the batch is a distribution of its own; Loom,
// and so quirks, makes one of all of them.
func (w *lowerer) softmax(l *Layer, x flow) (flow, error) {
	for key, v := range map[string]float64{"temperature": l.Temperature, "entmax_alpha": l.EntmaxAlpha} {
		if err := finite(key, v); err != nil {
			return x, err
		}
	}
	z := x.name
	if l.Temperature != 0 && l.Temperature != 1 {
		z = w.op("Div", z, w.b.Float(float32(l.Temperature)))
	}
	switch l.SoftmaxType {
	case SoftmaxGrid, SoftmaxHierarchical:
		if l.SoftmaxRows != 0 && l.SoftmaxCols != 0 {
			return w.gridSoftmax(l, z, x)
		}
	}
	shape := w.op("Shape", x.name)
	var rows string
	if w.quirks {
		rows = w.reshape(z, 1, -1)
	} else {
		rows = w.op("Reshape", z, w.concat(0, w.batch(x), w.b.Ints(-1)))
	}
	return flow{w.op("Reshape", w.distribution(l, rows), shape), x.dims}, nil
}

// gridSoftmax computes a softmax of each row of a grid at the start of the input. Elements after
// the grid become zero.
func (w *lowerer) gridSoftmax(l *Layer, z string, x flow) (flow, error) {
	if err := positive("softmax_rows", l.SoftmaxRows, "softmax_cols", l.SoftmaxCols); err != nil {
		return x, err
	}
	n, err := product(l.SoftmaxRows, l.SoftmaxCols)
	if err != nil {
		return x, err
	}
	first := w.slice(w.reshape(z, -1), 0, int64(n), 0)
	y := w.reshape(w.rowSoftmax(w.reshape(first, int64(l.SoftmaxRows), int64(l.SoftmaxCols))), -1)
	rest := w.zeros(w.op("Sub", w.reshape(w.op("Size", x.name), 1), w.b.Ints(int64(n))))
	return flow{w.op("Reshape", w.concat(0, y, rest), w.op("Shape", x.name)), x.dims}, nil
}

func (w *lowerer) rowSoftmax(x string) string {
	return w.b.Op("Softmax", []string{x}, graph.IntAttr("axis", -1))
}

// distribution turns the rows of a matrix into distributions.
func (w *lowerer) distribution(l *Layer, z string) string {
	switch l.SoftmaxType {
	case SoftmaxSparse:
		return w.sparsemax(z)
	case SoftmaxEntmax:
		return w.entmax(l.EntmaxAlpha, z)
	case SoftmaxGumbel:
		u := w.b.Op("RandomUniformLike", []string{z}, graph.FloatAttr("low", 1e-7), graph.FloatAttr("high", 1))
		return w.rowSoftmax(w.op("Sub", z, w.op("Log", w.op("Neg", w.op("Log", u)))))
	case SoftmaxMasked:
		if len(l.Mask) > 0 {
			mask := tensor.New(tensor.Bool, 1, len(l.Mask))
			copy(tensor.View[bool](mask), l.Mask)
			return w.rowSoftmax(w.op("Where", w.b.Constant(mask), z, w.b.Float(-1e9)))
		}
	}
	return w.rowSoftmax(z)
}

// entmax is Loom's variant: a blend of softmax and sparsemax, scaled to sum 1.
func (w *lowerer) entmax(alpha float64, z string) string {
	if alpha == 0 {
		alpha = 1.5
	}
	switch {
	case alpha <= 1:
		return w.rowSoftmax(z)
	case alpha >= 2:
		return w.sparsemax(z)
	}
	y := w.op("Add", w.op("Mul", w.rowSoftmax(z), w.b.Float(float32(2-alpha))), w.op("Mul", w.sparsemax(z), w.b.Float(float32(alpha-1))))
	return w.op("Div", y, w.op("ReduceSum", y, w.b.Ints(1)))
}

// sparsemax projects each row onto the distributions: max(row - threshold, 0).
func (w *lowerer) sparsemax(z string) string {
	size := w.b.Op("Shape", []string{z}, graph.IntAttr("start", 1), graph.IntAttr("end", 2))
	sorted := w.b.Node("", "TopK", []string{z, size}, 2, graph.IntAttr("axis", 1))[0]
	sums := w.op("CumSum", sorted, w.b.Int(1))
	limit := w.op("Add", w.op("Squeeze", size), w.b.Int(1))
	rank := w.cast(w.op("Range", w.b.Int(1), limit, w.b.Int(1)), tensor.F32)
	inside := w.cast(w.op("Greater", w.op("Add", w.op("Mul", rank, sorted), w.b.Float(1)), sums), tensor.F32)
	count := w.op("ReduceSum", inside, w.b.Ints(1))
	kept := w.op("ReduceSum", w.op("Mul", sorted, inside), w.b.Ints(1))
	threshold := w.op("Div", w.op("Sub", kept, w.b.Float(1)), count)
	return w.op("Relu", w.op("Sub", z, threshold))
}

package loom

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// dense multiplies rows by a matrix.
func (w *lowerer) dense(l *Layer, path string, x flow) (flow, error) {
	matrix, err := w.store(l, path)
	if err != nil {
		return x, err
	}
	in, err := w.rows(x, l.InputHeight)
	if err != nil {
		return x, err
	}
	y := w.b.Op("Gemm", []string{in.name, matrix}, graph.IntAttr("transB", 1))
	return flow{w.activate(l.Activation, y), []int{-1, l.OutputHeight}}, nil
}

// embedding gathers the table rows at the input's numbers, truncated to integers. Numbers outside
// the vocabulary give zeros.
func (w *lowerer) embedding(l *Layer, path string, x flow) (flow, error) {
	table, err := w.store(l, path)
	if err != nil {
		return x, err
	}
	most := float32(l.VocabSize)
	ids := w.cast(w.op("Clip", x.name, w.b.Float(-1), w.b.Float(most)), tensor.I64)
	inside := w.op("And", w.op("GreaterOrEqual", ids, w.b.Int(0)), w.op("Less", ids, w.b.Int(int64(l.VocabSize))))
	row := w.b.Op("Gather", []string{table, w.op("Clip", ids, w.b.Int(0), w.b.Int(int64(l.VocabSize-1)))}, graph.IntAttr("axis", 0))
	y := flow{w.op("Where", w.op("Unsqueeze", inside, w.b.Ints(-1)), row, w.b.Float(0)), nil}
	if x.dims != nil {
		y.dims = append(append([]int{}, x.dims...), l.EmbeddingDim)
	}
	y.name = w.activate(l.Activation, y.name)
	return y, nil
}

// kmeans compares the whole input with every centroid.
func (w *lowerer) kmeans(l *Layer, path string, x flow) (flow, error) {
	centroids, err := w.store(l, path)
	if err != nil {
		return x, err
	}
	if err := finite("kmeans_temperature", l.KMeansTemperature); err != nil {
		return x, err
	}
	t := l.KMeansTemperature
	if t == 0 {
		t = 1
	}
	part := w.op("Sub", w.reshape(x.name, 1, int64(l.InputHeight)), centroids)
	far := w.b.Op("ReduceSumSquare", []string{part, w.b.Ints(1)}, graph.IntAttr("keepdims", 0))
	z := w.op("Div", w.op("Neg", far), w.b.Float(float32(2*t*t)))
	if w.quirks && wholeCode(l, w.inits[path]) {
		z = w.zeros(w.b.Ints(int64(l.NumClusters)))
	}
	a := w.b.Op("Softmax", []string{z}, graph.IntAttr("axis", 0))
	n := l.NumClusters
	if l.OutputMode == "features" {
		n = l.InputHeight
		a = w.reshape(w.op("MatMul", w.reshape(a, 1, int64(l.NumClusters)), centroids), -1)
	}
	a = w.activate(l.Activation, a)
	return w.filled(a, n, x), nil
}

// wholeCode reports whether weights are integers of 8 to 64 bits.
func wholeCode(l *Layer, init *graph.Initializer) bool {
	d := init.Tensor.DType()
	return d.IsInteger() && d.Bits() >= 8
}

// filled returns the n numbers of a in the extents of x, with a last extent of n. All further
// elements are zero.
func (w *lowerer) filled(a string, n int, x flow) flow {
	shape := w.withLast(x, n)
	y := flow{"", nil}
	if x.dims != nil {
		y.dims = append([]int{}, x.dims...)
		y.dims[len(y.dims)-1] = n
	}
	all := w.b.Op("ReduceProd", []string{shape}, graph.IntAttr("keepdims", 1))
	rest := w.zeros(w.op("Sub", all, w.b.Ints(int64(n))))
	y.name = w.op("Reshape", w.concat(0, a, rest), shape)
	return y
}

// swiglu computes a gated network of three matrices over rows.
func (w *lowerer) swiglu(l *Layer, path string, x flow) (flow, error) {
	p, err := w.parts(l, path)
	if err != nil {
		return x, err
	}
	if err := positive("input_height", l.InputHeight, "output_height", l.OutputHeight); err != nil {
		return x, err
	}
	rows := w.reshape(x.name, -1, int64(l.InputHeight))
	return flow{w.gated(SiLU, rows, p), []int{-1, l.InputHeight}}, nil
}

// gated returns down(act(gate(x)) * up(x)) along the last axis.
func (w *lowerer) gated(a Activation, x string, p map[string]string) string {
	gate := w.activate(a, w.linear(x, p["gate"], p["bgate"]))
	return w.linear(w.op("Mul", gate, w.linear(x, p["up"], p["bup"])), p["down"], p["bdown"])
}

var errShape = fmt.Errorf("its extents give it nothing to compute")

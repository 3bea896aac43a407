package loom

import (
	"github.com/nacre-ml/nacre/runtime/graph"
)

// The least variances of norms that say none.
const (
	rmsEpsilon   = 1e-6
	layerEpsilon = 1e-5
)

// norm is RMSNorm or LayerNorm of every row. Loom computes the first rows only, one for
// each of the batch, and leaves zeros for the others.
func (w *lowerer) norm(l *Layer, path string, x flow) (flow, error) {
	n := l.OutputHeight
	if n == 0 {
		n = l.InputHeight
	}
	if err := positive("output_height", n); err != nil {
		return x, err
	}
	weights, err := w.store(l, path)
	if err != nil {
		return x, err
	}
	count, _ := l.Count()
	each := 1
	if l.Type == LayerNorm {
		each = 2
	}
	if n > count/each {
		return x, errShape
	}
	flat := w.reshape(weights, -1)
	part := func(i int) string {
		if i == 0 && n == count {
			return flat
		}
		return w.slice(flat, int64(i*n), int64((i+1)*n), 0)
	}
	rows := w.reshape(x.name, -1, int64(n))
	if w.quirks {
		rows = w.op("Slice", rows, w.b.Ints(0), w.batch(x), w.b.Ints(0))
	}
	var y string
	if l.Type == RMSNorm {
		y = w.rms(rows, part(0), rmsEpsilon)
	} else {
		y = w.b.Op("LayerNormalization", []string{rows, part(0), part(1)}, graph.IntAttr("axis", -1), graph.FloatAttr("epsilon", layerEpsilon))
	}
	shape := w.op("Shape", x.name)
	if w.quirks {
		all := w.op("Size", x.name)
		rest := w.op("Sub", w.reshape(all, 1), w.op("Mul", w.batch(x), w.b.Ints(int64(n))))
		y = w.concat(0, w.reshape(y, -1), w.zeros(rest))
	}
	return flow{w.op("Reshape", y, shape), x.dims}, nil
}

// rms is the root-mean-square norm of the last axis.
func (w *lowerer) rms(x, gamma string, eps float64) string {
	return w.b.Op("RMSNormalization", []string{x, gamma}, graph.IntAttr("axis", -1), graph.FloatAttr("epsilon", float32(eps)))
}

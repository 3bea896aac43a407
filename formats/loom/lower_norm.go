package loom

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// The default epsilons of norms.
const (
	rmsEpsilon   = 1e-6
	layerEpsilon = 1e-5
)

// norm is RMSNorm or LayerNorm of every row. Loom, and so quirks, computes only as many rows as the
// batch has items, and leaves zeros for the others.
func (w *lowerer) norm(l *Layer, path string, x flow) (flow, error) {
	n := l.OutputHeight
	if n == 0 {
		n = l.InputHeight
	}
	if err := positive("output_height", n); err != nil {
		return x, err
	}
	factors, err := w.factors(l, path, n)
	if err != nil {
		return x, err
	}
	rows := w.reshape(x.name, -1, int64(n))
	if w.quirks {
		rows = w.op("Slice", rows, w.b.Ints(0), w.batch(x), w.b.Ints(0))
	}
	var y string
	if l.Type == RMSNorm {
		y = w.rms(rows, factors[0], rmsEpsilon)
	} else {
		y = w.b.Op("LayerNormalization", append([]string{rows}, factors...), graph.IntAttr("axis", -1), graph.FloatAttr("epsilon", layerEpsilon))
	}
	if w.quirks {
		done := w.op("Mul", w.batch(x), w.b.Ints(int64(n)))
		rest := w.op("Sub", w.reshape(w.op("Size", x.name), 1), done)
		y = w.concat(0, w.reshape(y, -1), w.zeros(rest))
	}
	return flow{w.op("Reshape", y, w.op("Shape", x.name)), x.dims}, nil
}

// factors returns the weights of a norm of n columns: gamma and, for LayerNorm, beta after it.
func (w *lowerer) factors(l *Layer, path string, n int) ([]string, error) {
	weights, err := w.store(l, path)
	if err != nil {
		return nil, err
	}
	each := 1
	if l.Type == LayerNorm {
		each = 2
	}
	if count, _ := l.Count(); n > count/each {
		return nil, fmt.Errorf("rows of %d take as many weights, and it has %d", n, count/each)
	} else if n == count {
		return []string{weights}, nil
	}
	flat := w.reshape(weights, -1)
	var list []string
	for i := range each {
		list = append(list, w.slice(flat, int64(i*n), int64((i+1)*n), 0))
	}
	return list, nil
}

// rms is the root-mean-square norm along the last axis.
func (w *lowerer) rms(x, gamma string, eps float64) string {
	return w.b.Op("RMSNormalization", []string{x, gamma}, graph.IntAttr("axis", -1), graph.FloatAttr("epsilon", float32(eps)))
}

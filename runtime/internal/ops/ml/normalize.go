package ml

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// normalizer divides every sample by its norm, unless the norm is 0.
type normalizer struct{ norm string }

func newNormalizer(n *op.Node) (op.Op, error) {
	o := &normalizer{n.Str("norm", "MAX")}
	switch o.norm {
	case "MAX", "L1", "L2":
		return o, nil
	}
	return nil, graph.Errorf(graph.ErrFormat, "norm is %q, not MAX, L1 or L2", o.norm)
}

func (o *normalizer) Infer(c *op.Infer) error {
	if _, _, err := rowDims(c.In[0]); err != nil {
		return err
	}
	c.Set(0, tensor.F32, c.In[0].Dims)
	return nil
}

func (o *normalizer) Run(c *op.Run) error {
	_, n, err := matrixOf(c.In[0])
	if err != nil || c.In[0].Len() == 0 {
		return err
	}
	switch x, out := c.In[0], tensor.View[float32](c.Out[0]); x.DType() {
	case tensor.F32:
		normalize(c.Pace(), o, tensor.View[float32](x), n, out)
	case tensor.F64:
		normalize(c.Pace(), o, tensor.View[float64](x), n, out)
	case tensor.I64:
		normalize(c.Pace(), o, tensor.View[int64](x), n, out)
	case tensor.I32:
		normalize(c.Pace(), o, tensor.View[int32](x), n, out)
	}
	return nil
}

func normalize[T number](pace *op.Pace, o *normalizer, x []T, n int, out []float32) {
	for ; len(x) > 0; x, out = x[n:], out[n:] {
		pace.Work(8 * n)
		norm := o.of(n, func(i int) float64 { return float64(x[i]) })
		for i, v := range x[:n] {
			out[i] = float32(float64(v) / norm)
		}
	}
}

// of returns the divisor of a sample with n elements: its norm, or 1 if the norm is 0.
func (o *normalizer) of(n int, at func(i int) float64) float64 {
	sum, most := 0.0, math.Inf(-1)
	for i := range n {
		switch v := at(i); o.norm {
		case "MAX":
			if v > most {
				most = v
			}
		case "L1":
			sum += math.Abs(v)
		case "L2":
			sum += v * v
		}
	}
	switch o.norm {
	case "MAX":
		sum = most
	case "L2":
		sum = math.Sqrt(sum)
	}
	if sum == 0 {
		return 1
	}
	return sum
}

var normalizerRows = []op.Row{overInput(newRow("Normalizer", numberTypes, newNormalizer))}

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
	x, out, pace := c.In[0], tensor.View[float32](c.Out[0]), c.Pace()
	for at, list := range sampleBlocks[float64](x, n) {
		for ; len(list) > 0; at, list = at+n, list[n:] {
			pace.Work(8 * n)
			norm := o.of(list[:n])
			for i, v := range list[:n] {
				out[at+i] = float32(v / norm)
			}
		}
	}
	return nil
}

// of returns the divisor of a sample: its norm, or 1 if the norm is 0.
func (o *normalizer) of(sample []float64) float64 {
	sum, most := 0.0, math.Inf(-1)
	for _, v := range sample {
		switch o.norm {
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

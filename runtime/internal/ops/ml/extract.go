package ml

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// extractor gathers elements along the last axis. A vector becomes a matrix of one row.
type extractor struct{}

func newExtractor(*op.Node) (op.Op, error) { return extractor{}, nil }

func (extractor) Infer(c *op.Infer) error {
	if c.In[1].DType != tensor.I64 {
		return graph.Errorf(graph.ErrShape, "indices are %v, not int64", c.In[1].Type)
	}
	dims, n := c.In[0].Dims, graph.Unknown()
	if c.In[1].Dims != nil {
		n = c.In[1].Dims.Len()
	}
	switch {
	case dims == nil:
		c.Set(0, c.In[0].DType, nil)
	case len(dims) == 0:
		return graph.Errorf(graph.ErrShape, "input is %v, which has no axis", c.In[0].Type)
	case len(dims) == 1:
		c.Set(0, c.In[0].DType, graph.Dims{graph.Known(1), n})
	default:
		c.Set(0, c.In[0].DType, op.JoinDims(dims[:len(dims)-1], graph.Dims{n}))
	}
	return nil
}

func (extractor) Run(c *op.Run) error {
	x, index := c.In[0], tensor.View[int64](c.In[1])
	n := x.Shape()[len(x.Shape())-1]
	for _, i := range index {
		if i < 0 || i >= int64(n) {
			return graph.Errorf(graph.ErrShape, "index %d is not one of %d elements", i, n)
		}
	}
	switch y := c.Out[0]; {
	case y.Len() == 0:
	case y.DType() == tensor.F32:
		extract(tensor.View[float32](x), tensor.View[float32](y), index, n)
	case y.DType() == tensor.F64:
		extract(tensor.View[float64](x), tensor.View[float64](y), index, n)
	case y.DType() == tensor.I64:
		extract(tensor.View[int64](x), tensor.View[int64](y), index, n)
	default:
		op.GatherBlocks(c.Pace(), x, y, index, x.Len()/n, n, 1)
	}
	return nil
}

// extract gathers the elements numbered by index from every row of n elements.
func extract[T any](x, y []T, index []int64, n int) {
	for ; len(x) >= n && len(y) >= len(index); x, y = x[n:], y[len(index):] {
		row, out := x[:n], y[:len(index)]
		for k, i := range index {
			out[k] = row[i]
		}
	}
}

var extractorRows = []op.Row{
	{Domain: domain, Name: "ArrayFeatureExtractor", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1},
		Types: op.Types{tensor.F32, tensor.F64, tensor.I64, tensor.I32, tensor.String}, New: newExtractor},
}

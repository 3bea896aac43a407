package ml

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Extractor gathers elements along the last axis. A vector becomes a matrix of one row.
type Extractor struct{}

func newExtractor(*op.Node) (op.Op, error) { return Extractor{}, nil }

// Infer joins the leading extents and the number of indices.
func (Extractor) Infer(c *op.Infer) error {
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
		c.Set(0, c.In[0].DType, kit.JoinDims(dims[:len(dims)-1], graph.Dims{n}))
	}
	return nil
}

// Run gathers strings, and elements where there are no kernels.
func (Extractor) Run(c *op.Run) error {
	x, index := c.In[0], tensor.View[int64](c.In[1])
	n := x.Shape()[len(x.Shape())-1]
	for _, i := range index {
		if i < 0 || i >= int64(n) {
			return graph.Errorf(graph.ErrShape, "index %d is not one of %d elements", i, n)
		}
	}
	if x.Len() > 0 {
		kit.GatherBlocks(c.Pace(), x, c.Out[0], index, x.Len()/n, n, 1)
	}
	return nil
}

var extractorRows = []op.Row{
	{Domain: domain, Name: "ArrayFeatureExtractor", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1},
		Types: op.Types{tensor.F32, tensor.F64, tensor.I64, tensor.I32, tensor.String}, New: newExtractor},
}

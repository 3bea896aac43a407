package quant

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// bnb4Tables holds, by quant_type, the values of bitsandbytes' 4-bit codes: FP4, a sign above a
// 3-bit float scaled to a largest value of 1, and NF4, quantiles of the normal distribution
// (https://arxiv.org/abs/2305.14314, appendix E).
var bnb4Tables = [][]float32{
	{0, 1. / 192, 2. / 3, 1, 1. / 3, .5, 1. / 6, .25, 0, -1. / 192, -2. / 3, -1, -1. / 3, -.5, -1. / 6, -.25},
	{-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0,
		0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1},
}

// MatMulBnb4 multiplies by the transpose of weights [N,K] in bitsandbytes' format or, if Plain is
// set, by the weights themselves. Table holds the values of the 4-bit codes. Blocks run through the
// whole matrix. The high half of a byte holds the first of its two codes.
type MatMulBnb4 struct {
	BlockWeights
	Table []float32
	Plain bool
}

func newMatMulBnb4(n *op.Node) (op.Op, error) {
	w, err := readBlockWeights(n)
	if err != nil {
		return nil, err
	}
	n.Ignore("training_mode") // the product is the same
	kind := n.Int("quant_type", -1)
	if kind < 0 || kind >= len(bnb4Tables) {
		return nil, graph.Errorf(graph.ErrFormat, "quant_type is %d, neither 0 nor 1", kind)
	}
	return &MatMulBnb4{w, bnb4Tables[kind], !n.Bool("transB", true)}, nil
}

// Infer sets A's extents with the last replaced by N, or by K if B is not transposed.
func (o *MatMulBnb4) Infer(c *op.Infer) error {
	if c.In[1].DType != tensor.U8 || !kit.ComputedInF32.Has(c.In[2].DType) {
		return graph.Errorf(graph.ErrShape, "B is %v and absmax is %v; codes are packed in uint8, absmax is floats",
			c.In[1].Type, c.In[2].Type)
	}
	if err := o.checkSize(c); err != nil {
		return err
	}
	if o.Plain {
		return o.infer(c, o.N, o.K)
	}
	return o.infer(c, o.K, o.N)
}

// checkSize returns an error if an input is known to have the wrong number of elements.
func (o *MatMulBnb4) checkSize(c *op.Infer) error {
	bytes, ok := lenOf(c, 1)
	if !ok {
		return nil
	}
	// Neither extent exceeds the number of codes, so the product does not overflow.
	size := 0
	if o.N <= 2*bytes && o.K <= 2*bytes/o.N {
		size = o.N * o.K
	}
	if size == 0 || (size+1)/2 != bytes {
		return graph.Errorf(graph.ErrShape, "B is %v; %d by %d codes are two to a byte", c.In[1].Type, o.N, o.K)
	}
	if n, ok := lenOf(c, 2); ok && n != (size-1)/o.Block+1 {
		return graph.Errorf(graph.ErrShape, "absmax is %v; %d codes in blocks of %d are stored", c.In[2].Type, size, o.Block)
	}
	return nil
}

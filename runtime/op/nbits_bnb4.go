package op

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// bnb4Tables are the values of the codes of 4 bits of bitsandbytes by quant_type:
// FP4, a sign above a float of 3 bits with the largest at 1, and NF4, quantiles of
// the normal distribution (https://arxiv.org/abs/2305.14314, appendix E).
var bnb4Tables = [][]float32{
	{0, 1. / 192, 2. / 3, 1, 1. / 3, .5, 1. / 6, .25, 0, -1. / 192, -2. / 3, -1, -1. / 3, -.5, -1. / 6, -.25},
	{-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0,
		0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1},
}

// matMulBnb4 is MatMul with weights [N,K], or its transpose, that bitsandbytes wrote:
// blocks run through the whole matrix, and the first of two codes is the higher one.
type matMulBnb4 struct {
	lowBits
	table  []float32
	turned bool
}

func newMatMulBnb4(n *Node) (Op, error) {
	w, err := readLowBits(n)
	if err != nil {
		return nil, err
	}
	n.Ignore("training_mode") // the product is the same
	kind := n.Int("quant_type", -1)
	if kind < 0 || kind >= len(bnb4Tables) {
		return nil, graph.Mark(graph.ErrFormat, "quant_type is %d, neither 0 nor 1", kind)
	}
	return &matMulBnb4{w, bnb4Tables[kind], !n.Bool("transB", true)}, nil
}

// Infer gives the output A's shape with N columns, or K if B is not transposed.
func (o *matMulBnb4) Infer(c *Infer) error {
	if c.In[1].DType != tensor.U8 || !isNarrow(c.In[2].DType) {
		return graph.Mark(graph.ErrShape, "B is %v and absmax is %v; codes are packed in uint8, absmax is floats", c.In[1].Type, c.In[2].Type)
	}
	if o.turned {
		return o.infer(c, o.n, o.k)
	}
	return o.infer(c, o.k, o.n)
}

// Prepare chooses the kernels.
func (o *matMulBnb4) Prepare(c *Prepare) error { return o.prepare(c) }

// Run computes the output.
func (o *matMulBnb4) Run(c *Run) error {
	// Neither extent is beyond all codes, so their product does not overflow.
	bytes, size := c.In[1].Len(), 0
	if o.n <= 2*bytes && o.k <= 2*bytes/o.n {
		size = o.n * o.k
	}
	if size == 0 || (size+1)/2 != bytes {
		return graph.Mark(graph.ErrShape, "B is %v; %d by %d codes are two to a byte", c.In[1], o.n, o.k)
	}
	if n := c.In[2].Len(); n != (size-1)/o.block+1 {
		return graph.Mark(graph.ErrShape, "absmax is %v; %d codes in blocks of %d are stored", c.In[2], size, o.block)
	}
	p := &lowProduct{
		g: bindings.NBitsGemm{
			Bits: 4, HighFirst: true, Turned: o.turned, Flat: o.k%o.block != 0, RowBytes: o.k / 2, RowScales: o.k / o.block,
			Type: floatTypes[c.In[2].DType()],
		},
		codes: c.In[1].Pointer(), scales: c.In[2].Pointer(), table: o.table,
	}
	return o.run(c, p)
}

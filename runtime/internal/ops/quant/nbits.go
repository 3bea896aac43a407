package quant

import (
	"math/bits"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// BlockWeights is a matrix [N,K] of weights that stay quantised. Block neighbouring codes share a
// scale.
type BlockWeights struct{ N, K, Block int }

func readBlockWeights(n *op.Node) (BlockWeights, error) {
	o := BlockWeights{N: n.Int("N", 0), K: n.Int("K", 0), Block: n.Int("block_size", 0)}
	if o.N < 1 || o.K < 1 || o.N > kit.MaxElements || o.K > kit.MaxElements {
		return o, graph.Errorf(graph.ErrFormat, "N is %d and K %d; each must be 1 to %d", o.N, o.K, kit.MaxElements)
	}
	return o, CheckBlock(o.Block)
}

// CheckBlock returns an error if n elements cannot share a scale.
func CheckBlock(n int) error {
	if n < 16 || n > 1<<30 || bits.OnesCount(uint(n)) != 1 {
		return graph.Errorf(graph.ErrFormat, "block_size is %d; it must be a power of two, 16 at least", n)
	}
	return nil
}

// ReadRound reports whether accuracy_level is 4: the product may round its input to 8 bits.
// Rounding changes answers, so only a node that asks for it gets it. The other levels are lower
// bounds that floats meet.
func ReadRound(n *op.Node) (bool, error) {
	level := n.Int("accuracy_level", 0)
	if level < 0 || level > 4 {
		return false, graph.Errorf(graph.ErrFormat, "accuracy_level is %d, not in 0 to 4", level)
	}
	return level == 4, nil
}

// infer sets output 0 to the product of A's rows, each of deep elements, with a matrix of columns
// columns.
func (o *BlockWeights) infer(c *op.Infer, deep, columns int) error {
	a := c.In[0]
	if a.Dims == nil {
		c.Set(0, a.DType, nil)
		return nil
	}
	if len(a.Dims) == 0 {
		return graph.Errorf(graph.ErrShape, "A is %v; a scalar has no rows", a.Type)
	}
	last := len(a.Dims) - 1
	if _, ok := kit.JoinDim(a.Dims[last], graph.Known(deep)); !ok {
		return graph.Errorf(graph.ErrShape, "A is %v; the weights take rows of %d elements", a.Type, deep)
	}
	c.Set(0, a.DType, kit.JoinDims(a.Dims[:last], graph.Dims{graph.Known(columns)}))
	return nil
}

// MatMulNBits multiplies by weights of 2, 4 or 8 bits. Each row of weights is cut into blocks with
// a scale and a zero point each. If Rounds is set, a kernel may round each block of an input row to
// 8-bit integers with a scale.
type MatMulNBits struct {
	BlockWeights
	Bits   int
	Rounds bool
}

func newMatMulNBits(n *op.Node) (op.Op, error) {
	w, err := readBlockWeights(n)
	if err != nil {
		return nil, err
	}
	o := &MatMulNBits{BlockWeights: w, Bits: n.Int("bits", 4)}
	if o.Bits != 2 && o.Bits != 4 && o.Bits != 8 {
		return nil, graph.Errorf(graph.ErrUnsupported, "weights of %d bits; 2, 4 and 8 are computed", o.Bits)
	}
	if o.Rounds, err = ReadRound(n); err != nil {
		return nil, err
	}
	if l := n.Int("weight_prepacked", 0); l != 0 {
		return nil, graph.Errorf(graph.ErrUnsupported,
			"weight_prepacked is %d: weights in the layout of one kind of GPU; export them without it", l)
	}
	return o, nil
}

// Blocks returns the number of blocks in a row.
func (o *MatMulNBits) Blocks() int { return (o.K-1)/o.Block + 1 }

// RowBytes returns the size in bytes of the codes of a row.
func (o *MatMulNBits) RowBytes() int { return o.Blocks() * (o.Block / 8 * o.Bits) }

// Infer sets A's extents with the last replaced by N.
func (o *MatMulNBits) Infer(c *op.Infer) error {
	if c.In[1].DType != tensor.U8 || !kit.ComputedInF32.Has(c.In[2].DType) {
		return graph.Errorf(graph.ErrShape, "B is %v and scales are %v; codes are packed in uint8, scales are floats",
			c.In[1].Type, c.In[2].Type)
	}
	if c.Has(3) && c.In[3].DType != tensor.U8 && !kit.ComputedInF32.Has(c.In[3].DType) {
		return graph.Errorf(graph.ErrUnsupported, "zero points are %v, neither packed in uint8 nor floats", c.In[3].Type)
	}
	if c.Has(4) && c.In[4].DType != tensor.I32 {
		return graph.Errorf(graph.ErrShape, "g_idx is %v, not int32", c.In[4].Type)
	}
	if c.Has(5) && !kit.ComputedInF32.Has(c.In[5].DType) {
		return graph.Errorf(graph.ErrShape, "the bias is %v, not floats", c.In[5].Type)
	}
	if err := o.checkRows(c); err != nil {
		return err
	}
	return o.infer(c, o.K, o.N)
}

// checkRows returns an error if an input is known to have the wrong number of elements. Its axes
// may be any.
func (o *MatMulNBits) checkRows(c *op.Infer) error {
	for _, part := range []struct {
		name  string
		input int
		each  int
	}{{"B", 1, o.RowBytes()}, {"scales", 2, o.Blocks()}, {"zero points", 3, o.zeroRow(c)}, {"the bias", 5, 1}} {
		if n, ok := lenOf(c, part.input); ok && (n%part.each != 0 || n/part.each != o.N) {
			return graph.Errorf(graph.ErrShape, "%s: %v; %d rows of %d are needed", part.name, c.In[part.input].Type, o.N,
				part.each)
		}
	}
	if n, ok := lenOf(c, 4); ok && n != o.K && n != o.Blocks()*o.Block {
		return graph.Errorf(graph.ErrShape, "g_idx is %v, not of %d elements", c.In[4].Type, o.K)
	}
	return nil
}

// zeroRow returns the number of elements in a row of zero points.
func (o *MatMulNBits) zeroRow(c *op.Infer) int {
	if c.Has(3) && c.In[3].DType == tensor.U8 {
		return (o.Blocks()*o.Bits + 7) / 8
	}
	return o.Blocks()
}

// lenOf returns the number of elements of input i. It reports false if the input is absent or its
// extents are unknown.
func lenOf(c *op.Infer, i int) (int, bool) {
	if !c.Has(i) || c.In[i].Dims == nil {
		return 0, false
	}
	return c.In[i].Dims.Len().Value()
}

var nbitsRows = []op.Row{
	{Domain: kit.Microsoft, Name: "MatMulNBits", Since: []int{1}, In: [2]int{3, 6}, Out: [2]int{1, 1}, Types: kit.ComputedInF32, Rowwise: kit.RowsOf(0), Work: arith.ProductWork, Items: kit.ItemsBeside(-1), New: newMatMulNBits},
	{Domain: kit.Microsoft, Name: "MatMulBnb4", Since: []int{1}, In: [2]int{3, 3}, Out: [2]int{1, 1}, Types: kit.ComputedInF32, Work: arith.ProductWork, New: newMatMulBnb4},
}

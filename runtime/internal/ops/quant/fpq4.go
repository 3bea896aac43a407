package quant

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// fpQ4 is MatMulFpQ4: a product by a matrix of 4-bit codes. The matrix is stored by columns in
// blocks of 32 codes. Each block has a scale and, if zeros is set, a zero point. The high bits of a
// block's bytes hold its second half.
type fpQ4 struct{ zeros bool }

// Codes in a block, and the zero point of blocks that store none.
const (
	fpQ4Block = 32
	fpQ4Zero  = 8
)

func newFpQ4(n *op.Node) (op.Op, error) {
	switch kind := n.Int("blk_quant_type", 1); kind {
	case 0:
		return &fpQ4{}, nil
	case 1:
		return &fpQ4{zeros: true}, nil
	default:
		return nil, graph.Errorf(graph.ErrUnsupported,
			"blk_quant_type is %d; it takes 0, and 1 for blocks with zero points", kind)
	}
}

// blockBytes returns the size of a block in bytes.
func (o *fpQ4) blockBytes() int { return 4 + kit.Btoi(o.zeros) + fpQ4Block/2 }

// Infer sets A's extents with the last replaced by the number of B's columns.
func (o *fpQ4) Infer(c *op.Infer) error {
	a := c.In[0]
	if a.DType != tensor.F32 || c.In[1].DType != tensor.U8 || c.In[2].DType != tensor.I64 {
		return graph.Errorf(graph.ErrUnsupported, "operands %v, %v and %v are not of float32, uint8 and int64", a.Type,
			c.In[1].Type, c.In[2].Type)
	}
	if a.Dims == nil {
		c.Set(0, tensor.F32, nil)
		return nil
	}
	if len(a.Dims) == 0 {
		return graph.Errorf(graph.ErrShape, "A is a scalar")
	}
	out := slices.Clone(a.Dims)
	out[len(out)-1] = graph.Unknown()
	if shape, ok := c.In[2].KnownInts(); ok {
		if len(shape) != 2 || shape[0] < 0 || shape[1] < 0 {
			return graph.Errorf(graph.ErrShape, "B_shape is %v; it takes rows and columns", shape)
		}
		if k, known := a.Dims[len(out)-1].Value(); known && k != shape[0] {
			return graph.Errorf(graph.ErrShape, "A is %v, and B has %d rows", a.Type, shape[0])
		}
		out[len(out)-1] = graph.Known(shape[1])
	}
	c.Set(0, tensor.F32, out)
	return nil
}

// Run multiplies one column of B at a time.
func (o *fpQ4) Run(c *op.Run) error {
	b, err := op.Ints(c.In[2])
	if err != nil {
		return err
	}
	shape := slices.Clone(c.In[0].Shape())
	last := len(shape) - 1
	if len(b) != 2 || last < 0 || shape[last] != b[0] || b[0] < 0 || b[1] < 0 {
		return graph.Errorf(graph.ErrShape, "A %v and B of %v do not multiply", c.In[0], b)
	}
	k, n := b[0], b[1]
	blocks := (k + fpQ4Block - 1) / fpQ4Block
	column, data := blocks*o.blockBytes(), c.In[1].Bytes()
	if n > 0 && (len(data)%n != 0 || len(data)/n != column) {
		return graph.Errorf(graph.ErrShape, "B has %d bytes, not %d for each of %d columns", len(data), column, n)
	}
	rows := shape[:last].Len()
	shape[last] = n
	out, err := c.Output(0, tensor.F32, shape)
	if err != nil {
		return err
	}
	values, err := c.ScratchFloats(blocks * fpQ4Block)
	if err != nil {
		return err
	}
	x, y := tensor.View[float32](c.In[0]), tensor.View[float32](out)
	for j := range n {
		if c.Stopped() {
			return op.ErrStopped
		}
		o.column(values, data[j*column:][:column])
		for r := range rows {
			y[r*n+j] = kit.Dot(x[r*k:][:k], values)
		}
	}
	return nil
}

// column decodes the blocks of a column into values.
func (o *fpQ4) column(values []float32, data []byte) {
	for ; len(data) > 0; data = data[o.blockBytes():] {
		scale, zero, codes := math.Float32frombits(binary.LittleEndian.Uint32(data)), float32(fpQ4Zero),
			data[4:o.blockBytes()]
		if o.zeros {
			zero, codes = float32(int8(codes[0])), codes[1:]
		}
		for i, v := range codes {
			values[i] = (float32(v&15) - zero) * scale
			values[i+fpQ4Block/2] = (float32(v>>4) - zero) * scale
		}
		values = values[fpQ4Block:]
	}
}

var fpQ4Rows = []op.Row{
	{Domain: kit.Microsoft, Name: "MatMulFpQ4", Since: []int{1}, In: [2]int{3, 3}, Out: [2]int{1, 1}, New: newFpQ4},
}

package quant

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// MatMulIntegerToFloat multiplies quantised matrices to floats and adds a bias per column. A has
// one scale and one zero point, B one of each for the tensor or per column.
type MatMulIntegerToFloat struct{}

func newMatMulIntegerToFloat(*op.Node) (op.Op, error) { return &MatMulIntegerToFloat{}, nil }

// Infer applies the rule of MatMul.
func (o *MatMulIntegerToFloat) Infer(c *op.Infer) error {
	if err := checkBytes(c, 0, 1); err != nil {
		return err
	}
	for i := range 2 {
		if err := checkScale(c, 2+i); err != nil {
			return err
		}
		if err := checkZero(c, 4+i, c.In[i].DType); err != nil {
			return err
		}
	}
	if err := checkOne(c, 2, 4); err != nil {
		return err
	}
	for i := 2; i < 6; i += 2 {
		if err := checkLanes(c, 0, 1, i, i+1); err != nil {
			return err
		}
	}
	if err := inferProduct(c, 0, 1, c.In[2].DType); err != nil {
		return err
	}
	return checkAdded(c, 6, 1, c.In[2].DType)
}

// checkAdded returns an error if input i is present and is not of type d with one element per
// column of input b.
func checkAdded(c *op.Infer, i, b int, d tensor.DType) error {
	if !c.Has(i) {
		return nil
	}
	if c.In[i].DType != d {
		return graph.Errorf(graph.ErrShape, "the bias is %v and the result has elements of %v", c.In[i].Type, d)
	}
	columns := graph.Unknown()
	switch w := c.In[b].Dims; {
	case len(w) == 1:
		columns = graph.Known(1)
	case w != nil:
		columns = w[len(w)-1]
	}
	bias := c.In[i].Dims
	if bias == nil {
		return nil
	}
	if len(bias) == 1 {
		if _, ok := kit.JoinDim(bias[0], columns); ok {
			return nil
		}
	}
	return graph.Errorf(graph.ErrShape, "the bias is %v; one number for each of %v columns is needed", c.In[i].Type,
		columns)
}

// DynamicQuantizeMatMul quantises all of A by its range, multiplies it by a quantised B, and adds a
// bias per column.
type DynamicQuantizeMatMul struct{}

func newDynamicQuantizeMatMul(*op.Node) (op.Op, error) { return &DynamicQuantizeMatMul{}, nil }

// Infer applies the rule of MatMul.
func (o *DynamicQuantizeMatMul) Infer(c *op.Infer) error {
	if err := checkBytes(c, 1); err != nil {
		return err
	}
	if c.In[2].DType != tensor.F32 {
		return graph.Errorf(graph.ErrShape, "scales are %v, not float32", c.In[2].Type)
	}
	if err := checkZero(c, 3, c.In[1].DType); err != nil {
		return err
	}
	for i := 2; i < 4; i++ {
		if err := checkColumns(c, 1, i); err != nil {
			return err
		}
	}
	if err := inferProduct(c, 0, 1, tensor.F32); err != nil {
		return err
	}
	return checkAdded(c, 4, 1, tensor.F32)
}

// checkColumns returns an error if input i is present and is known not to suit the columns of input
// b.
func checkColumns(c *op.Infer, b, i int) error {
	if !c.Has(i) || c.In[i].Dims == nil || len(c.In[b].Dims) == 0 {
		return nil
	}
	return lanesAdmit(arith.AsMatrices(c.In[b].Dims, false, graph.Known(1)), false, c.In[i].Dims)
}

// QGemm is Gemm on quantised matrices. The bias has the scale of the sums. The result is quantised
// if y_scale is given, otherwise it is float32.
type QGemm struct{ Gemm arith.Gemm }

// The inputs of QGemm.
const (
	QGemmA = iota
	QGemmAScale
	QGemmAZero
	QGemmB
	QGemmBScale
	QGemmBZero
	QGemmC
	QGemmYScale
	QGemmYZero
)

func newQGemm(n *op.Node) (op.Op, error) {
	if n.HasIn(QGemmYScale) != n.HasIn(QGemmYZero) {
		return nil, graph.Errorf(graph.ErrFormat, "y_scale and y_zero_point must both be there or both be left out")
	}
	return &QGemm{arith.Gemm{Alpha: n.Float("alpha", 1), Beta: 1, TransA: n.Bool("transA", false),
		TransB: n.Bool("transB", false)}}, nil
}

// Infer applies the rule of Gemm.
func (o *QGemm) Infer(c *op.Infer) error {
	if err := checkBytes(c, QGemmA, QGemmB); err != nil {
		return err
	}
	scales, d := []int{QGemmAScale, QGemmBScale}, tensor.F32
	if c.Has(QGemmYZero) {
		if d = c.In[QGemmYZero].DType; !byteTypes.Has(d) {
			return graph.Errorf(graph.ErrUnsupported, "the result's zero point is %v; the operator makes uint8 and int8",
				c.In[QGemmYZero].Type)
		}
		scales = append(scales, QGemmYScale)
	}
	for _, i := range scales {
		if err := checkScale(c, i); err != nil {
			return err
		}
	}
	for _, i := range []int{QGemmA, QGemmB} {
		if err := checkZero(c, i+2, c.In[i].DType); err != nil {
			return err
		}
	}
	if err := checkOne(c, QGemmAScale, QGemmAZero, QGemmYScale, QGemmYZero); err != nil {
		return err
	}
	if err := o.checkLanes(c); err != nil {
		return err
	}
	var add graph.Dims
	if c.Has(QGemmC) {
		if add = c.In[QGemmC].Dims; c.In[QGemmC].DType != tensor.I32 {
			return graph.Errorf(graph.ErrShape, "C is %v, not int32", c.In[QGemmC].Type)
		}
	}
	dims, err := o.Gemm.Dims(c.In[QGemmA].Dims, c.In[QGemmB].Dims, add)
	if err == nil {
		c.Set(0, d, dims)
	}
	return err
}

// checkLanes returns an error if B's scales or zero points are known not to suit its columns.
func (o *QGemm) checkLanes(c *op.Infer) error {
	b := c.In[QGemmB].Dims
	if len(b) != 2 {
		return nil
	}
	if o.Gemm.TransB {
		b = graph.Dims{b[1], b[0]}
	}
	for _, i := range []int{QGemmBScale, QGemmBZero} {
		if !c.Has(i) || c.In[i].Dims == nil {
			continue
		}
		if err := lanesAdmit(b, false, c.In[i].Dims); err != nil {
			return err
		}
	}
	return nil
}

var fusedRows = []op.Row{
	{Domain: kit.Microsoft, Name: "MatMulIntegerToFloat", Since: []int{1}, In: [2]int{4, 7}, Out: [2]int{1, 1}, Types: byteTypes, Work: arith.ProductWork, New: newMatMulIntegerToFloat},
	{Domain: kit.Microsoft, Name: "DynamicQuantizeMatMul", Since: []int{1}, In: [2]int{3, 5}, Out: [2]int{1, 1}, Types: op.Types{tensor.F32}, Work: arith.ProductWork, New: newDynamicQuantizeMatMul},
	{Domain: kit.Microsoft, Name: "QGemm", Since: []int{1}, In: [2]int{6, 9}, Out: [2]int{1, 1}, Types: byteTypes, Work: arith.GemmWork, New: newQGemm},
}

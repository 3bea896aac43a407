package op

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// matMulIntegerToFloat is the product of quantised matrices as floats, plus a
// number for each column. A has one scale and one zero point, B one of each or
// those of its columns.
type matMulIntegerToFloat struct{ product byteMultiplier }

func newMatMulIntegerToFloat(*Node) (Op, error) { return &matMulIntegerToFloat{}, nil }

// Infer is that of matmul.
func (o *matMulIntegerToFloat) Infer(c *Infer) error {
	if err := c.checkBytes(0, 1); err != nil {
		return err
	}
	for i := range 2 {
		if err := c.checkScale(2 + i); err != nil {
			return err
		}
		if err := c.checkZero(4+i, c.In[i].DType); err != nil {
			return err
		}
	}
	if err := c.checkOne(2, 4); err != nil {
		return err
	}
	if err := c.inferProduct(0, 1, c.In[2].DType); err != nil {
		return err
	}
	return c.checkAdded(6, 1, c.In[2].DType)
}

// checkAdded reports input i if it is there and not floats of type d, one for each
// column of input b.
func (c *Infer) checkAdded(i, b int, d tensor.DType) error {
	if !c.Has(i) {
		return nil
	}
	if c.In[i].DType != d {
		return graph.Mark(graph.ErrShape, "the bias is %v and the result has elements of %v", c.In[i].Type, d)
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
		if _, ok := joinDim(bias[0], columns); ok {
			return nil
		}
	}
	return graph.Mark(graph.ErrShape, "the bias is %v; one number for each of %v columns is needed", c.In[i].Type, columns)
}

// Prepare chooses the kernel and packs a constant B.
func (o *matMulIntegerToFloat) Prepare(c *Prepare) error {
	if err := o.product.prepare(c); err != nil {
		return err
	}
	return o.product.packRight(c, 1, false)
}

// Describe names the kernel.
func (o *matMulIntegerToFloat) Describe() string { return o.product.describe() }

// Run computes the product.
func (o *matMulIntegerToFloat) Run(c *Run) error {
	m, y, err := c.matrices(c.In[0], c.In[1], c.In[2].DType())
	if err != nil || y.Len() == 0 {
		return err
	}
	az, bz := given(c, 4), given(c, 5)
	if err := m.admit(c.In[2], c.In[3], az, bz); err != nil {
		return err
	}
	j := byteJob{as: bindings.QuantF32}
	if err := j.zeros(c, m.rows, m.cols, az, bz); err != nil {
		return err
	}
	if err := j.scales(c, m.rows, m.cols, c.In[2], c.In[3], 1, 1); err != nil {
		return err
	}
	return o.product.runFloats(c, m, &j, c.In[0], c.In[1], given(c, 6), y)
}

// runFloats is run with results that are floats, to which a vector is added if it
// is not nil.
func (p *byteMultiplier) runFloats(c *Run, m *byteMatrices, j *byteJob, a, b, bias, y *tensor.Tensor) (err error) {
	if j.vectors.Add, err = c.added(m, bias); err != nil {
		return err
	}
	out, err := c.scratchOr(y)
	if err != nil {
		return err
	}
	if err := p.run(c, &m.products, j, a, b, out.Pointer()); err != nil {
		return err
	}
	c.putFloats(y, tensor.View[float32](out))
	return nil
}

// added returns the numbers of a bias, one for each column of products.
func (c *Run) added(m *byteMatrices, bias *tensor.Tensor) ([]float32, error) {
	if bias != nil && bias.Len() != m.n {
		return nil, graph.Mark(graph.ErrShape, "the bias is %v where %d numbers are needed", bias, m.n)
	}
	return c.floats(bias)
}

// scratchOr returns a float32 tensor if it is one, else one of its shape in scratch
// memory.
func (c *Run) scratchOr(t *tensor.Tensor) (*tensor.Tensor, error) {
	if t.DType() == tensor.F32 {
		return t, nil
	}
	return c.scratchTensor(tensor.F32, t.Shape())
}

// dynamicQuantizeMatMul is the product of A, quantised as a whole for its range,
// and a quantised B, plus a number for each column.
type dynamicQuantizeMatMul struct {
	product  byteMultiplier
	quantize bindings.Kernel
}

func newDynamicQuantizeMatMul(*Node) (Op, error) { return &dynamicQuantizeMatMul{}, nil }

// Infer is that of matmul.
func (o *dynamicQuantizeMatMul) Infer(c *Infer) error {
	if err := c.checkBytes(1); err != nil {
		return err
	}
	if c.In[2].DType != tensor.F32 {
		return graph.Mark(graph.ErrShape, "scales are %v, not float32", c.In[2].Type)
	}
	if err := c.checkZero(3, c.In[1].DType); err != nil {
		return err
	}
	if err := c.inferProduct(0, 1, tensor.F32); err != nil {
		return err
	}
	return c.checkAdded(4, 1, tensor.F32)
}

// Prepare chooses the kernels and packs a constant B.
func (o *dynamicQuantizeMatMul) Prepare(c *Prepare) (err error) {
	if o.quantize, err = c.Kernel("f32_quantize"); err != nil {
		return err
	}
	if err := o.product.prepare(c); err != nil {
		return err
	}
	return o.product.packRight(c, 1, false)
}

// Describe names the kernels.
func (o *dynamicQuantizeMatMul) Describe() string {
	return describe(o.quantize) + " " + o.product.describe()
}

// Run computes the product.
func (o *dynamicQuantizeMatMul) Run(c *Run) error {
	a, b := c.In[0], c.In[1]
	m, y, err := c.matrices(a, b, tensor.F32)
	if err != nil || y.Len() == 0 {
		return err
	}
	if err := m.admit(nil, c.In[2], nil, given(c, 3)); err != nil {
		return err
	}
	j := byteJob{as: bindings.QuantF32, rows: 1, cols: m.cols.vectors}
	if j.vectors.BZero, err = m.cols.zeros(c, given(c, 3)); err != nil {
		return err
	}
	if j.vectors.ColScale, err = m.cols.scales(c, c.In[2]); err != nil {
		return err
	}
	if j.vectors.Add, err = c.added(m, given(c, 4)); err != nil {
		return err
	}
	return o.product.runDynamic(c, o.quantize, &m.products, &j, a, b, y)
}

// runDynamic is run with a left operand that is quantised first.
func (p *byteMultiplier) runDynamic(c *Run, quantize bindings.Kernel, s *products, j *byteJob, a, b, y *tensor.Tensor) error {
	g, right := p.gemm(s, j, a, b)
	scratch, err := c.Mem.Scratch(g.DynamicScratch(c.Pool, a.Len()))
	if err != nil {
		return err
	}
	g.RunDynamic(quantize, c.Pool, tensor.View[float32](a), right, &j.vectors, y.Pointer(), scratch)
	return nil
}

// qGemm is gemm of quantised matrices with a bias that has the scale of the sums.
// The result is quantised if it has a scale, else floats.
type qGemm struct {
	Gemm
	product byteMultiplier
}

// The inputs of qGemm.
const (
	qGemmA = iota
	qGemmAScale
	qGemmAZero
	qGemmB
	qGemmBScale
	qGemmBZero
	qGemmC
	qGemmYScale
	qGemmYZero
)

func newQGemm(n *Node) (Op, error) {
	if n.HasIn(qGemmYScale) != n.HasIn(qGemmYZero) {
		return nil, graph.Mark(graph.ErrFormat, "y_scale and y_zero_point must both be there or both be left out")
	}
	return &qGemm{Gemm: Gemm{Alpha: n.Float("alpha", 1), Beta: 1, TransA: n.Bool("transA", false), TransB: n.Bool("transB", false)}}, nil
}

// Infer is that of gemm.
func (o *qGemm) Infer(c *Infer) error {
	if err := c.checkBytes(qGemmA, qGemmB); err != nil {
		return err
	}
	scales, d := []int{qGemmAScale, qGemmBScale}, tensor.F32
	if c.Has(qGemmYZero) {
		if d = c.In[qGemmYZero].DType; !byteTypes.Has(d) {
			return graph.Mark(graph.ErrUnsupported, "the result's zero point is %v; the operator makes uint8 and int8", c.In[qGemmYZero].Type)
		}
		scales = append(scales, qGemmYScale)
	}
	for _, i := range scales {
		if err := c.checkScale(i); err != nil {
			return err
		}
	}
	for _, i := range []int{qGemmA, qGemmB} {
		if err := c.checkZero(i+2, c.In[i].DType); err != nil {
			return err
		}
	}
	if err := c.checkOne(qGemmAScale, qGemmAZero, qGemmYScale, qGemmYZero); err != nil {
		return err
	}
	var add graph.Dims
	if c.Has(qGemmC) {
		if add = c.In[qGemmC].Dims; c.In[qGemmC].DType != tensor.I32 {
			return graph.Mark(graph.ErrShape, "C is %v, not int32", c.In[qGemmC].Type)
		}
	}
	dims, err := o.dims(c.In[qGemmA].Dims, c.In[qGemmB].Dims, add)
	if err == nil {
		c.Set(0, d, dims)
	}
	return err
}

// Prepare chooses the kernel and packs a constant B.
func (o *qGemm) Prepare(c *Prepare) error {
	if err := o.product.prepare(c); err != nil {
		return err
	}
	return o.product.packRight(c, qGemmB, o.TransB)
}

// Describe names the kernel.
func (o *qGemm) Describe() string { return o.product.describe() }

// Run computes the product.
func (o *qGemm) Run(c *Run) error {
	a, b := c.In[qGemmA], c.In[qGemmB]
	j := byteJob{as: bindings.QuantF32}
	var add graph.Dims
	if t := given(c, qGemmC); t != nil {
		add = graph.DimsOf(t.Shape())
	}
	dims, err := o.dims(graph.DimsOf(a.Shape()), graph.DimsOf(b.Shape()), add)
	if err != nil {
		return err
	}
	shape, _ := dims.Concrete()
	d, divisor := tensor.F32, float32(1)
	if c.Has(qGemmYZero) {
		p, err := c.perTensor(qGemmYScale, qGemmYZero)
		if err != nil {
			return err
		}
		d, divisor, j.zero = c.In[qGemmYZero].DType(), p.scale, p.zero
		j.as = quantTypes[d]
	}
	y, err := c.output(0, d, shape)
	if err != nil || y.Len() == 0 {
		return err
	}
	s := o.cut(a.Shape(), b.Shape(), shape)
	rows, cols, err := lanesOf(s, tensor.Shape{s.m, s.k}, tensor.Shape{s.k, s.n})
	if err != nil {
		return err
	}
	m := &byteMatrices{*s, rows, cols}
	if err := m.admit(c.In[qGemmAScale], c.In[qGemmBScale], c.In[qGemmAZero], c.In[qGemmBZero]); err != nil {
		return err
	}
	if err := j.zeros(c, rows, cols, c.In[qGemmAZero], c.In[qGemmBZero]); err != nil {
		return err
	}
	if err := j.scales(c, rows, cols, c.In[qGemmAScale], c.In[qGemmBScale], o.Alpha, divisor); err != nil {
		return err
	}
	j.bias(given(c, qGemmC), s)
	return o.product.run(c, s, &j, a, b, y.Pointer())
}

// bias adds int32 numbers that broadcast to the product.
func (j *byteJob) bias(t *tensor.Tensor, s *products) {
	if t == nil {
		return
	}
	j.vectors.Bias = tensor.View[int32](t)
	rows, cols := fromEnd(t.Shape(), 2), fromEnd(t.Shape(), 1)
	if cols > 1 {
		j.biasCol = 1
	}
	if rows > 1 {
		j.biasRow = cols
	}
}

var quantFusedRows = []Row{
	{Domain: microsoft, Name: "MatMulIntegerToFloat", Since: []int{1}, In: [2]int{4, 7}, Out: [2]int{1, 1}, Types: byteTypes, New: newMatMulIntegerToFloat},
	{Domain: microsoft, Name: "DynamicQuantizeMatMul", Since: []int{1}, In: [2]int{3, 5}, Out: [2]int{1, 1}, Types: Types{tensor.F32}, New: newDynamicQuantizeMatMul},
	{Domain: microsoft, Name: "QGemm", Since: []int{1}, In: [2]int{6, 9}, Out: [2]int{1, 1}, Types: byteTypes, New: newQGemm},
}

package op

import (
	"slices"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// checkBytes reports inputs that are not bytes.
func (c *Infer) checkBytes(inputs ...int) error {
	for _, i := range inputs {
		if !byteTypes.Has(c.In[i].DType) {
			return graph.Mark(graph.ErrUnsupported, "input %d is %v; the operator multiplies uint8 and int8", i, c.In[i].Type)
		}
	}
	return nil
}

// inferProduct sets output 0 to products of inputs a and b, with the rules of
// matmul.
func (c *Infer) inferProduct(a, b int, d tensor.DType) error {
	dims, err := matmulDims(c.In[a].Dims, c.In[b].Dims)
	if err == nil {
		c.Set(0, d, dims)
	}
	return err
}

// matMulInteger is the product of A - a_zero and B - b_zero, with zero points for
// all, for the rows of A and for the columns of B.
type matMulInteger struct{ product byteMultiplier }

func newMatMulInteger(*Node) (Op, error) { return &matMulInteger{}, nil }

// Infer is that of matmul.
func (o *matMulInteger) Infer(c *Infer) error {
	if err := c.checkBytes(0, 1); err != nil {
		return err
	}
	for i := range 2 {
		if err := c.checkZero(2+i, c.In[i].DType); err != nil {
			return err
		}
	}
	return c.inferProduct(0, 1, tensor.I32)
}

// Prepare chooses the kernel and packs a constant B.
func (o *matMulInteger) Prepare(c *Prepare) error {
	if err := o.product.prepare(c); err != nil {
		return err
	}
	return o.product.packRight(c, 1, false)
}

// Describe names the kernel.
func (o *matMulInteger) Describe() string { return o.product.describe() }

// Run computes the product.
func (o *matMulInteger) Run(c *Run) error {
	m, y, err := c.matrices(c.In[0], c.In[1], tensor.I32)
	if err != nil || y.Len() == 0 {
		return err
	}
	az, bz := given(c, 2), given(c, 3)
	if err := m.admit(az, bz); err != nil {
		return err
	}
	j := byteJob{as: bindings.QuantI32}
	if err := j.zeros(c, m.rows, m.cols, az, bz); err != nil {
		return err
	}
	return o.product.run(c, &m.products, &j, c.In[0], c.In[1], y.Pointer())
}

// admit takes numbers for rows and columns in turn.
func (m *byteMatrices) admit(list ...*tensor.Tensor) error {
	for i, t := range list {
		l := m.rows
		if i%2 != 0 {
			l = m.cols
		}
		if err := l.admit(t); err != nil {
			return err
		}
	}
	return nil
}

// qLinearMatMul is the product of quantised matrices, quantised. Bytes are
// multiplied as they are; floats of 8 bits, and what goes with them, as what they
// stand for.
type qLinearMatMul struct {
	product  byteMultiplier
	floats   multiplier
	quantize bindings.Kernel
}

func newQLinearMatMul(*Node) (Op, error) { return &qLinearMatMul{}, nil }

// codesOfMatMul are the element types of its operands and results.
var codesOfMatMul = slices.Concat(byteTypes, narrowCodes[:4])

// Infer is that of matmul.
func (o *qLinearMatMul) Infer(c *Infer) error {
	for _, i := range []int{0, 3, 7} {
		if !codesOfMatMul.Has(c.In[i].DType) {
			return graph.Mark(graph.ErrUnsupported, "input %d is %v; the operator takes %v", i, c.In[i].Type, codesOfMatMul)
		}
	}
	for _, i := range []int{1, 4, 6} {
		if err := c.checkScale(i); err != nil {
			return err
		}
	}
	for _, i := range []int{0, 3} {
		if err := c.checkZero(i+2, c.In[i].DType); err != nil {
			return err
		}
	}
	if err := c.checkOne(6, 7); err != nil {
		return err
	}
	return c.inferProduct(0, 3, c.In[7].DType)
}

// Prepare chooses the kernels and packs a constant b.
func (o *qLinearMatMul) Prepare(c *Prepare) (err error) {
	if byteTypes.Has(c.DType(0)) && byteTypes.Has(c.DType(3)) && byteTypes.Has(c.DType(7)) {
		if err := o.product.prepare(c); err != nil {
			return err
		}
		return o.product.packRight(c, 3, false)
	}
	o.floats.dtype = tensor.F32
	if o.floats.kernel, err = c.Kernel(gemmOps[tensor.F32]); err == nil {
		o.quantize, err = c.Kernel("f32_quantize")
	}
	return err
}

// Describe names the kernels.
func (o *qLinearMatMul) Describe() string {
	if o.floats.kernel.Valid() {
		return describe(o.floats.kernel, o.quantize)
	}
	return o.product.describe()
}

// Run computes the codes.
func (o *qLinearMatMul) Run(c *Run) error {
	m, y, err := c.matrices(c.In[0], c.In[3], c.In[7].DType())
	if err != nil || y.Len() == 0 {
		return err
	}
	if err := m.admit(c.In[1], c.In[4], c.In[2], c.In[5]); err != nil {
		return err
	}
	scale, err := c.oneScale(6)
	if err != nil {
		return err
	}
	if o.floats.kernel.Valid() {
		return o.runFloats(c, &m.products, scale, y)
	}
	j := byteJob{as: quantTypes[y.DType()]}
	if j.zero, err = c.oneZero(7); err != nil {
		return err
	}
	if err := j.zeros(c, m.rows, m.cols, c.In[2], c.In[5]); err != nil {
		return err
	}
	if err := j.scales(c, m.rows, m.cols, c.In[1], c.In[4], 1, scale); err != nil {
		return err
	}
	return o.product.run(c, &m.products, &j, c.In[0], c.In[3], y.Pointer())
}

// runFloats multiplies what the codes stand for.
func (o *qLinearMatMul) runFloats(c *Run, s *products, scale float32, y *tensor.Tensor) error {
	a, err := c.meant(0, true)
	if err != nil {
		return err
	}
	b, err := c.meant(3, false)
	if err != nil {
		return err
	}
	out, err := c.scratchTensor(tensor.F32, y.Shape())
	if err != nil {
		return err
	}
	if err := o.floats.run(c, s, a, b, out, addend{alpha: 1}); err != nil {
		return err
	}
	grid, _ := granularity{}.grid(y.Shape(), nil)
	list := tensor.View[float32](out)
	if !y.DType().IsInteger() {
		return c.roundFloats(grid, tensor.F32, list, []float32{scale}, c.In[7], y, true)
	}
	zero, err := c.oneZero(7)
	if err != nil {
		return err
	}
	return c.quantize(o.quantize, grid, bindings.Float32, list, []float32{scale}, []int32{zero}, y)
}

// meant returns what the codes of input i, whose scales and zero points are the
// inputs behind it, stand for: scales go with the rows of a left operand and with
// the columns of a right one.
func (c *Run) meant(i int, left bool) (*tensor.Tensor, error) {
	t := c.In[i]
	shape := asMatrices(t.Shape(), left, 1)
	l := quantLanes{operand: shape, axis: len(shape) - 1, batch: shape[:len(shape)-2], merged: 1}
	if left {
		l.axis--
	}
	l.products = l.batch.Len()
	l.vectors = l.products
	scale, err := l.scales(c, c.In[i+1])
	if err != nil {
		return nil, err
	}
	out, err := c.scratchTensor(tensor.F32, t.Shape())
	if err != nil {
		return nil, err
	}
	numbers := tensor.View[float32](out)
	zero, err := c.scratchFloats(l.count())
	if err != nil {
		return nil, err
	}
	given, err := c.scratchFloats(c.In[i+2].Len())
	if err != nil {
		return nil, err
	}
	if err := c.codeFloats(given, c.In[i+2]); err != nil {
		return nil, err
	}
	spreadLanes(&l, zero, given, c.In[i+2].Shape())
	if err := c.codeFloats(numbers, t); err != nil {
		return nil, err
	}
	last := shape[len(shape)-1]
	for at := range numbers {
		lane := at / last
		if !left {
			lane = lane/shape[len(shape)-2]*last + at%last
		}
		numbers[at] = (numbers[at] - zero[lane]) * scale[lane]
	}
	return out, nil
}

// codeFloats stores bytes or floats of 8 bits as numbers.
func (c *Run) codeFloats(list []float32, t *tensor.Tensor) error {
	if !t.DType().IsInteger() {
		decodeFloats(list, t)
		return nil
	}
	codes, err := c.zeros(t, t.Len())
	for i, v := range codes {
		list[i] = float32(v)
	}
	return err
}

var quantProductRows = []Row{
	{Name: "MatMulInteger", Since: []int{10}, In: [2]int{2, 4}, Out: [2]int{1, 1}, Types: byteTypes, New: newMatMulInteger},
	{Name: "QLinearMatMul", Since: []int{10, 21}, In: [2]int{8, 8}, Out: [2]int{1, 1}, Types: codesOfMatMul, New: newQLinearMatMul},
}

package quant

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/arith"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// checkBytes reports inputs that are not bytes.
func checkBytes(c *op.Infer, inputs ...int) error {
	for _, i := range inputs {
		if !byteTypes.Has(c.In[i].DType) {
			return graph.Errorf(graph.ErrUnsupported, "input %d is %v; the operator multiplies uint8 and int8", i, c.In[i].Type)
		}
	}
	return nil
}

// inferProduct sets output 0 to products of inputs a and b, with the rules of
// matmul.
func inferProduct(c *op.Infer, a, b int, d tensor.DType) error {
	dims, err := arith.MatMulDims(c.In[a].Dims, c.In[b].Dims)
	if err == nil {
		c.Set(0, d, dims)
	}
	return err
}

// MatMulInteger is the product of A - a_zero and B - b_zero, with zero points for
// all, for the rows of A and for the columns of B.
type MatMulInteger struct{}

func newMatMulInteger(*op.Node) (op.Op, error) { return &MatMulInteger{}, nil }

// Infer is that of matmul.
func (o *MatMulInteger) Infer(c *op.Infer) error {
	if err := checkBytes(c, 0, 1); err != nil {
		return err
	}
	for i := range 2 {
		if err := checkZero(c, 2+i, c.In[i].DType); err != nil {
			return err
		}
	}
	if err := checkLanes(c, 0, 1, 2, 3); err != nil {
		return err
	}
	return inferProduct(c, 0, 1, tensor.I32)
}

// checkLanes reports, as far as is known, inputs that are not numbers for the rows of a,
// which is input a, or for the columns of b. Rows and columns take turns.
func checkLanes(c *op.Infer, a, b int, numbers ...int) error {
	for k, i := range numbers {
		if !c.Has(i) {
			continue
		}
		operand, left := c.In[a].Dims, k%2 == 0
		if !left {
			operand = c.In[b].Dims
		}
		if len(operand) == 0 || c.In[i].Dims == nil {
			continue // the product refuses scalars
		}
		if err := lanesAdmit(arith.AsMatrices(operand, left, graph.Known(1)), left, c.In[i].Dims); err != nil {
			return err
		}
	}
	return nil
}

// lanesAdmit takes numbers of those extents for the rows, or the columns, of matrices:
// one, one for each lane, or those of each matrix, in the shape of the operand with an
// extent of 1 where the lanes lie across.
func lanesAdmit(operand graph.Dims, left bool, numbers graph.Dims) error {
	want, axis := slices.Clone(operand), len(operand)-1
	if left {
		axis--
	}
	want[len(want)-1], want[len(want)-2] = graph.Known(1), graph.Known(1)
	want[axis] = operand[axis]
	if n, ok := numbers.Len().Value(); ok && n == 1 || sameExtents(numbers, operand[axis:axis+1]) || sameExtents(numbers, want) {
		return nil
	}
	return graph.Errorf(graph.ErrShape, "scales or zero points have shape %v; an operand of shape %v takes one, %v, or %v", numbers, operand, operand[axis], want)
}

// QLinearMatMul is the product of quantised matrices, quantised. Bytes are
// multiplied as they are; floats of 8 bits, and what goes with them, as what they
// stand for.
type QLinearMatMul struct{}

func newQLinearMatMul(*op.Node) (op.Op, error) { return &QLinearMatMul{}, nil }

// codesOfMatMul are the element types of its operands and results.
var codesOfMatMul = slices.Concat(byteTypes, narrowCodes[:4])

// Infer is that of matmul.
func (o *QLinearMatMul) Infer(c *op.Infer) error {
	for _, i := range []int{0, 3, 7} {
		if !codesOfMatMul.Has(c.In[i].DType) {
			return graph.Errorf(graph.ErrUnsupported, "input %d is %v; the operator takes %v", i, c.In[i].Type, codesOfMatMul)
		}
	}
	for _, i := range []int{1, 4, 6} {
		if err := checkScale(c, i); err != nil {
			return err
		}
	}
	for _, i := range []int{0, 3} {
		if err := checkZero(c, i+2, c.In[i].DType); err != nil {
			return err
		}
	}
	if err := checkOne(c, 6, 7); err != nil {
		return err
	}
	for i := 1; i < 3; i++ {
		if err := checkLanes(c, 0, 3, i, i+3); err != nil {
			return err
		}
	}
	return inferProduct(c, 0, 3, c.In[7].DType)
}

// OnlyBytes reports whether operands of those types make codes that are whole.
func (o *QLinearMatMul) OnlyBytes(a, b, y tensor.DType) bool {
	return byteTypes.Has(a) && byteTypes.Has(b) && byteTypes.Has(y)
}

// Run multiplies what codes stand for of which some are floats.
func (o *QLinearMatMul) Run(c *op.Run) error {
	dims, err := arith.MatMulDims(graph.DimsOf(c.In[0].Shape()), graph.DimsOf(c.In[3].Shape()))
	if err != nil {
		return err
	}
	shape, _ := dims.Concrete()
	y, err := c.Output(0, c.In[7].DType(), shape)
	if err != nil || y.Len() == 0 {
		return err
	}
	scale, err := oneScale(c, 6)
	if err != nil {
		return err
	}
	a, err := meant(c, 0, true)
	if err != nil {
		return err
	}
	b, err := meant(c, 3, false)
	if err != nil {
		return err
	}
	list, err := c.ScratchFloats(y.Len())
	if err != nil {
		return err
	}
	s := matmulProducts(arith.AsMatrices(a.Shape(), true, 1), arith.AsMatrices(b.Shape(), false, 1))
	s.multiply(c.Pace(), tensor.View[float32](a), tensor.View[float32](b), list)
	return putCodes(c, 7, list, scale, y)
}

// multiply is the formula, with sums in float64.
func (s *products) multiply(pace *op.Pace, a, b, c []float32) {
	s.each(func(at, left, right int) {
		for i := range s.m {
			for j := range s.n {
				pace.Work(2 * s.k)
				sum := 0.0
				for p := range s.k {
					sum += float64(a[left+i*s.aRow+p*s.aCol]) * float64(b[right+p*s.bRow+j*s.bCol])
				}
				c[at+i*s.n+j] = float32(sum)
			}
		}
	})
}

// each calls f with the first element of every product and of its operands.
func (s *products) each(f func(at, left, right int)) {
	rank, count := len(s.batch)/3, 1
	for _, n := range s.batch[:rank] {
		count *= n
	}
	for q := range count {
		left, right, index := 0, 0, q
		for d := rank - 1; d >= 0; d-- {
			left += index % s.batch[d] * s.batch[rank+d]
			right += index % s.batch[d] * s.batch[2*rank+d]
			index /= s.batch[d]
		}
		f(q*s.m*s.n, left, right)
	}
}

// putCodes stores numbers as codes of one scale, with input i as zero point.
func putCodes(c *op.Run, i int, list []float32, scale float32, y *tensor.Tensor) error {
	if !y.DType().IsInteger() {
		grid, err := Granularity{}.Grid(graph.DimsOf(y.Shape()), nil)
		if err != nil {
			return err
		}
		return roundFloats(c, grid, tensor.F32, list, []float32{scale}, c.In[i], y, true)
	}
	zero, err := oneZero(c, i)
	if err != nil {
		return err
	}
	low, high := codeRange(y.DType())
	for at, v := range list {
		q := low
		if r := math.RoundToEven(float64(v / scale)); r == r {
			q = int(min(max(r+float64(zero), float64(low)), float64(high)))
		}
		y.Bytes()[at] = byte(q)
	}
	return nil
}

// meant returns what the codes of input i, whose scales and zero points are the
// inputs behind it, stand for: those go with the rows of a left operand and with the
// columns of a right one, for each matrix or for all.
func meant(c *op.Run, i int, left bool) (*tensor.Tensor, error) {
	t := c.In[i]
	scale, err := readScales(c, c.In[i+1])
	if err != nil {
		return nil, err
	}
	zero, err := c.ScratchFloats(c.In[i+2].Len())
	if err != nil {
		return nil, err
	}
	if err := codeFloats(c, zero, c.In[i+2]); err != nil {
		return nil, err
	}
	out, err := c.ScratchTensor(tensor.F32, t.Shape())
	if err != nil {
		return nil, err
	}
	numbers := tensor.View[float32](out)
	if err := codeFloats(c, numbers, t); err != nil {
		return nil, err
	}
	shape := arith.AsMatrices(t.Shape(), left, 1)
	rows, cols := shape[len(shape)-2], shape[len(shape)-1]
	for at := range numbers {
		lane := at / cols
		if !left {
			lane = lane/rows*cols + at%cols
		}
		numbers[at] = (numbers[at] - zero[lane%len(zero)]) * scale[lane%len(scale)]
	}
	return out, nil
}

// codeFloats stores bytes or floats of 8 bits as numbers.
func codeFloats(c *op.Run, list []float32, t *tensor.Tensor) error {
	if !t.DType().IsInteger() {
		decodeFloats(list, t)
		return nil
	}
	codes, err := readZeros(c, t, t.Len())
	for i, v := range codes {
		list[i] = float32(v)
	}
	return err
}

var matmulRows = []op.Row{
	{Name: "MatMulInteger", Since: []int{10}, In: [2]int{2, 4}, Out: [2]int{1, 1}, Types: byteTypes, New: newMatMulInteger},
	{Name: "QLinearMatMul", Since: []int{10, 21}, In: [2]int{8, 8}, Out: [2]int{1, 1}, Types: codesOfMatMul, New: newQLinearMatMul},
}

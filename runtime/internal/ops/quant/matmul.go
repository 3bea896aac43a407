package quant

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// checkBytes returns an error if an input is not int8 or uint8.
func checkBytes(c *op.Infer, inputs ...int) error {
	for _, i := range inputs {
		if !byteTypes.Has(c.In[i].DType) {
			return graph.Errorf(graph.ErrUnsupported, "input %d is %v; the operator multiplies uint8 and int8", i, c.In[i].Type)
		}
	}
	return nil
}

// inferProduct sets output 0 to the product of inputs a and b by the rule of MatMul.
func inferProduct(c *op.Infer, a, b int, d tensor.DType) error {
	dims, err := arith.MatMulDims(c.In[a].Dims, c.In[b].Dims)
	if err == nil {
		c.Set(0, d, dims)
	}
	return err
}

// MatMulInteger multiplies A - a_zero by B - b_zero. A has one zero point for the tensor or per
// row, B one for the tensor or per column.
type MatMulInteger struct{}

func newMatMulInteger(*op.Node) (op.Op, error) { return &MatMulInteger{}, nil }

// Infer applies the rule of MatMul. The output is int32.
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

// checkLanes returns an error if the inputs in numbers are known not to suit their operand. They
// alternate between the rows of input a and the columns of input b.
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

// lanesAdmit returns an error if numbers, the extents of scales or zero points, do not suit the
// rows (left) or columns of matrices operand. It admits one number, one per lane, or one per lane
// of each matrix; in the last case the axis across the lanes has extent 1.
func lanesAdmit(operand graph.Dims, left bool, numbers graph.Dims) error {
	want, axis := slices.Clone(operand), len(operand)-1
	if left {
		axis--
	}
	want[len(want)-1], want[len(want)-2] = graph.Known(1), graph.Known(1)
	want[axis] = operand[axis]
	if n, ok := numbers.Len().Value(); ok && n == 1 || sameExtents(numbers, operand[axis:axis+1]) ||
		sameExtents(numbers, want) {
		return nil
	}
	return graph.Errorf(graph.ErrShape,
		"scales or zero points have shape %v; an operand of shape %v takes one, %v, or %v", numbers, operand, operand[axis],
		want)
}

// QLinearMatMul multiplies quantised matrices and quantises the result. If all codes are bytes, the
// bytes are multiplied. If some codes are 8-bit floats, all codes are dequantised first.
type QLinearMatMul struct{}

func newQLinearMatMul(*op.Node) (op.Op, error) { return &QLinearMatMul{}, nil }

// codesOfMatMul lists the element types of QLinearMatMul's operands and result.
var codesOfMatMul = slices.Concat(byteTypes, narrowCodes[:4])

// Infer applies the rule of MatMul.
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

// OnlyBytes reports whether operands a and b and result y are all int8 or uint8.
func (o *QLinearMatMul) OnlyBytes(a, b, y tensor.DType) bool {
	return byteTypes.Has(a) && byteTypes.Has(b) && byteTypes.Has(y)
}

// Run multiplies dequantised operands. It serves codes some of which are floats.
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

// multiply computes the products with sums in float64.
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

// each calls f with the offsets of every product and its operands.
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

// putCodes quantises list to y with one scale and input i as zero point.
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

// meant returns the numbers that the codes of input i stand for. Inputs i+1 and i+2 are the scales
// and zero points: one for the tensor, or one per row of a left operand or column of a right one,
// shared by the matrices or not.
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

// codeFloats stores the codes of t, bytes or 8-bit floats, as numbers.
func codeFloats(c *op.Run, list []float32, t *tensor.Tensor) error {
	if !t.DType().IsInteger() {
		elements.Get(list, t, 0)
		return nil
	}
	codes, err := readZeros(c, t, t.Len())
	for i, v := range codes {
		list[i] = float32(v)
	}
	return err
}

var matmulRows = []op.Row{
	{Name: "MatMulInteger", Since: []int{10}, In: [2]int{2, 4}, Out: [2]int{1, 1}, Types: byteTypes, Work: arith.ProductWork, Items: itemsOfCodes(0, 1, []int{2}, []int{3}), New: newMatMulInteger},
	{Name: "QLinearMatMul", Since: []int{10, 21}, In: [2]int{8, 8}, Out: [2]int{1, 1}, Types: codesOfMatMul, Work: arith.ProductWork, Items: itemsOfCodes(0, 3, []int{1, 2}, []int{4, 5}), New: newQLinearMatMul},
}

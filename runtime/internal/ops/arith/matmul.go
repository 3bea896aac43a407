package arith

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// MatMul is the product of numpy. The last two axes are matrices, and the axes before them
// broadcast. An operand with one axis is a row on the left or a column on the right; the result
// lacks that axis.
type MatMul struct{}

func newMatMul(*op.Node) (op.Op, error) { return &MatMul{}, nil }

// Infer broadcasts the axes before the matrices.
func (o *MatMul) Infer(c *op.Infer) error {
	a, b := c.In[0], c.In[1]
	if a == nil || b == nil {
		return graph.Errorf(graph.ErrFormat, "an operand is left out")
	}
	if a.DType != b.DType {
		return graph.Errorf(graph.ErrShape, "operands %v and %v have different element types", a.Type, b.Type)
	}
	dims, err := MatMulDims(a.Dims, b.Dims)
	if err != nil {
		return err
	}
	c.Set(0, a.DType, dims)
	return nil
}

// MatMulDims returns the extents of the product of values with extents a and b. If the rank of
// either is unknown, it returns nil.
func MatMulDims(a, b graph.Dims) (graph.Dims, error) {
	if a == nil || b == nil {
		return nil, nil
	}
	if len(a) == 0 || len(b) == 0 {
		return nil, graph.Errorf(graph.ErrShape, "operands have shapes %v and %v; a scalar is no matrix", a, b)
	}
	am, bm := AsMatrices(a, true, graph.Known(1)), AsMatrices(b, false, graph.Known(1))
	la, lb := len(am)-2, len(bm)-2
	if _, ok := kit.JoinDim(am[la+1], bm[lb]); !ok {
		return nil, graph.Errorf(graph.ErrShape, "shapes %v and %v do not multiply: rows of %v elements by columns of %v",
			a, b, am[la+1], bm[lb])
	}
	dims, err := op.Broadcast(am[:la], bm[:lb])
	if err != nil {
		return nil, err
	}
	dims = slices.Clone(dims)
	if len(a) > 1 {
		dims = append(dims, am[la])
	}
	if len(b) > 1 {
		dims = append(dims, bm[lb+1])
	}
	if dims == nil {
		dims = graph.Dims{}
	}
	return dims, nil
}

// AsMatrices gives a vector the axis that makes it a row or a column. It returns other shapes
// unchanged.
func AsMatrices[S ~[]E, E any](d S, row bool, one E) S {
	if len(d) > 1 {
		return d
	}
	if row {
		return S{one, d[0]}
	}
	return S{d[0], one}
}

// rowsOfProduct returns the Rowwise of a product that reads the given inputs row by row unless A is
// transposed or B is a vector.
func rowsOfProduct(inputs ...int) op.Rowwise {
	return func(n *graph.Node, in []*op.Value, _ int) []int {
		a := &op.Node{Node: n}
		if b, ok := in[1].Rank(); !ok || b < 2 || a.Int("transA", 0) != 0 || a.Int("transBatchA", 0) != 0 {
			return nil
		}
		return inputs
	}
}

var (
	productTypes = op.Types{tensor.F32, tensor.F64, tensor.F16, tensor.BF16, tensor.I32, tensor.I64, tensor.U32,
		tensor.U64}
	matmulRows = []op.Row{
		{Name: "MatMul", Since: []int{1, 9, 13}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: productTypes, Rowwise: rowsOfProduct(0), Work: ProductWork, Derivative: matmulDerivative, Items: ItemsOfProduct(0, 1, 0), New: newMatMul},
		{Name: "Gemm", Since: []int{1, 6, 7, 9, 11, 13}, In: [2]int{3, 3}, Later: []op.Arity{{Since: 11, In: [2]int{2, 3}}}, Out: [2]int{1, 1}, Types: productTypes, Rowwise: rowsOfProduct(0, 2), Work: GemmWork, Derivative: gemmDerivative, Items: itemsOfGemm, New: newGemm},
	}
)

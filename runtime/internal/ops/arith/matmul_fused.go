package arith

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// FusedMatMul is MatMul, scaled, of operands with their axes in another order.
type FusedMatMul struct {
	Order [2]AxisOrder // of A and B
	Alpha float32
}

// AxisOrder describes a reordering of an operand's axes before the product. If Batch, its first
// axis moves to before the last. If Matrix, its last two axes are then swapped.
type AxisOrder struct{ Matrix, Batch bool }

// Apply reorders a list with one element per axis.
func (t AxisOrder) Apply(list []graph.Dim) []graph.Dim {
	out, n := slices.Clone(list), len(list)
	if t.Batch && n > 2 {
		copy(out, list[1:n-1])
		out[n-2] = list[0]
	}
	if t.Matrix && n > 1 {
		out[n-2], out[n-1] = out[n-1], out[n-2]
	}
	return out
}

// sparseTypes are the element types of products of sparse matrices.
var sparseTypes = op.Types{tensor.F32, tensor.F64, tensor.I32, tensor.I64, tensor.U32, tensor.U64}

func newFusedMatMul(n *op.Node) (op.Op, error) {
	return &FusedMatMul{
		Alpha: n.Float("alpha", 1),
		Order: [2]AxisOrder{{n.Bool("transA", false), n.Bool("transBatchA", false)},
			{n.Bool("transB", false), n.Bool("transBatchB", false)}},
	}, nil
}

// newTransposeMatMul returns the older operator, which has no batch transposition.
func newTransposeMatMul(n *op.Node) (op.Op, error) {
	return &FusedMatMul{Alpha: n.Float("alpha", 1),
		Order: [2]AxisOrder{{Matrix: n.Bool("transA", false)}, {Matrix: n.Bool("transB", false)}}}, nil
}

// Infer applies the rule of MatMul to the reordered axes.
func (o *FusedMatMul) Infer(c *op.Infer) error {
	a, b := c.In[0], c.In[1]
	if a.DType != b.DType {
		return graph.Errorf(graph.ErrShape, "operands %v and %v have different element types", a.Type, b.Type)
	}
	dims, err := MatMulDims(o.Order[0].Apply(a.Dims), o.Order[1].Apply(b.Dims))
	if err != nil {
		return err
	}
	c.Set(0, a.DType, dims)
	return nil
}

// FusedGemm is Gemm with an activation as epilogue.
type FusedGemm struct {
	Gemm
	Epilogue kit.Epilogue
}

func newFusedGemm(n *op.Node) (op.Op, error) {
	given := []float32{}
	for _, name := range []string{"activation_alpha", "activation_beta", "activation_gamma"} {
		if n.Has(name) {
			given = append(given, n.Float(name, 0))
		} else {
			n.Ignore(name)
		}
	}
	if n.Has("leaky_relu_alpha") {
		given = []float32{n.Float("leaky_relu_alpha", 0)}
	}
	act, err := kit.NewEpilogue(n.Str("activation", ""), given)
	if err != nil {
		return nil, err
	}
	g := Gemm{Alpha: n.Float("alpha", 1), Beta: n.Float("beta", 1), TransA: n.Bool("transA", false),
		TransB: n.Bool("transB", false)}
	return &FusedGemm{g, act}, nil
}

// WidenedGemm is Gemm of float32 with elements of 16 bits or of a type of blocks in B, widened in the
// product. Passes insert it; it is not in files.
type WidenedGemm struct{ Gemm }

func newWidenedGemm(n *op.Node) (op.Op, error) {
	o, err := newGemm(n)
	if err != nil {
		return nil, err
	}
	return &WidenedGemm{*o.(*Gemm)}, nil
}

// Infer applies the rule of Gemm to B as float32.
func (o *WidenedGemm) Infer(c *op.Infer) error {
	a, b := c.In[0], c.In[1]
	if a == nil || b == nil || a.DType != tensor.F32 || b.DType != tensor.F16 && b.DType != tensor.BF16 && b.DType.Blocks() == nil {
		return graph.Errorf(graph.ErrShape, "operands are not of float32 and of float16, bfloat16 or blocks")
	}
	if b.DType.Blocks() != nil && (!o.TransB || o.TransA) {
		return graph.Errorf(graph.ErrUnsupported, "blocks of %v lie along the rows of B; B must be transposed, and A not", b.DType)
	}
	in := slices.Clone(c.In)
	wide := *b
	wide.DType, wide.Const = tensor.F32, nil
	in[1] = &wide
	return o.Gemm.Infer(&op.Infer{In: in, Out: c.Out})
}

// MatMulBias is MatMul of operands with two or more axes, plus a number for each column, plus a
// value Z of the output's shape, and then an activation. Passes insert it, as
// com.microsoft.FusedConv for Conv.
type MatMulBias struct {
	MatMul
	Epilogue kit.Epilogue
}

func newMatMulBias(n *op.Node) (op.Op, error) {
	epilogue, err := kit.ReadEpilogue(n)
	return &MatMulBias{Epilogue: epilogue}, err
}

// Infer applies the rule of MatMul and checks the addends.
func (o *MatMulBias) Infer(c *op.Infer) error {
	if err := o.MatMul.Infer(&op.Infer{In: c.In[:2], Out: c.Out}); err != nil {
		return err
	}
	a, b, y := c.In[0], c.In[1], c.Out[0]
	if len(a.Dims) == 1 || len(b.Dims) == 1 {
		return graph.Errorf(graph.ErrShape, "operands are %v and %v; each needs two axes", a.Type, b.Type)
	}
	if c.Has(2) && (c.In[2].DType != a.DType || c.In[2].Dims != nil && len(c.In[2].Dims) != 1) {
		return graph.Errorf(graph.ErrShape, "C is %v, not a vector of A's element type, %v", c.In[2].Type, a.DType)
	}
	if c.Has(2) && c.In[2].Dims != nil && b.Dims != nil {
		if have, want := c.In[2].Dims[0], b.Dims[len(b.Dims)-1]; have.IsKnown() && want.IsKnown() && !have.Same(want) {
			return graph.Errorf(graph.ErrShape, "C has %v elements for %v columns", have, want)
		}
	}
	return kit.CheckAddend(c, y.DType)
}

var fusedProductRows = []op.Row{
	{Domain: kit.Microsoft, Name: "FusedMatMul", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: op.Floats, Rowwise: rowsOfProduct(0), Work: swappedWork, Items: ItemsOfProduct(0, 1, 0), New: newFusedMatMul},
	{Domain: kit.Microsoft, Name: "SparseToDenseMatMul", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: sparseTypes, New: newTransposeMatMul},
	{Domain: kit.Microsoft, Name: "TransposeMatMul", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: op.Floats, Work: swappedWork, Items: ItemsOfProduct(0, 1, 0), New: newTransposeMatMul},
	{Domain: kit.Microsoft, Name: "FusedGemm", Since: []int{1}, In: [2]int{2, 3}, Out: [2]int{1, 1}, Types: op.Floats, Rowwise: rowsOfProduct(0, 2), Work: GemmWork, Items: itemsOfGemm, New: newFusedGemm},
	{Domain: kit.Internal, Name: "WidenedGemm", Since: []int{1}, In: [2]int{2, 3}, Out: [2]int{1, 1}, Types: op.Types{tensor.F32}, Blocks: true, Rowwise: rowsOfProduct(0, 2), Work: GemmWork, Items: itemsOfGemm, New: newWidenedGemm},
	{Domain: kit.Internal, Name: "MatMulBias", Since: []int{1}, In: [2]int{2, 4}, Out: [2]int{1, 1}, Types: op.Floats, InPlace: []int{3}, Rowwise: rowsOfProduct(0, 3), Work: ProductWork, Items: ItemsOfProduct(0, 1, 2), New: newMatMulBias},
}

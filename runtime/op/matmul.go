package op

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// matmul is numpy's: the last two axes are matrices, those before them
// broadcast, and an operand with one axis is a row on the left or a column on
// the right, whose axis the result lacks.
type matmul struct{ product multiplier }

func newMatMul(*Node) (Op, error) { return &matmul{}, nil }

func (o *matmul) Infer(c *Infer) error {
	a, b := c.In[0], c.In[1]
	if a == nil || b == nil {
		return graph.Mark(graph.ErrFormat, "an operand is left out")
	}
	if a.DType != b.DType {
		return graph.Mark(graph.ErrShape, "operands %v and %v have different element types", a.Type, b.Type)
	}
	dims, err := matmulDims(a.Dims, b.Dims)
	if err != nil {
		return err
	}
	c.Set(0, a.DType, dims)
	return nil
}

func matmulDims(a, b graph.Dims) (graph.Dims, error) {
	if a == nil || b == nil {
		return nil, nil
	}
	if len(a) == 0 || len(b) == 0 {
		return nil, graph.Mark(graph.ErrShape, "operands have shapes %v and %v; a scalar is no matrix", a, b)
	}
	am, bm := asMatrices(a, true, graph.Known(1)), asMatrices(b, false, graph.Known(1))
	la, lb := len(am)-2, len(bm)-2
	if _, ok := joinDim(am[la+1], bm[lb]); !ok {
		return nil, graph.Mark(graph.ErrShape, "shapes %v and %v do not multiply: rows of %v elements by columns of %v", a, b, am[la+1], bm[lb])
	}
	dims, err := broadcast(am[:la], bm[:lb])
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

// asMatrices gives a vector the axis that makes it a row or a column.
func asMatrices[S ~[]E, E any](d S, row bool, one E) S {
	if len(d) > 1 {
		return d
	}
	if row {
		return S{one, d[0]}
	}
	return S{d[0], one}
}

func (o *matmul) Prepare(c *Prepare) error {
	if err := o.product.prepare(c); err != nil {
		return err
	}
	return o.product.packRight(c, 1, false)
}

// Describe names the kernel.
func (o *matmul) Describe() string { return o.product.describe() }

func (o *matmul) Run(c *Run) error { return o.run(c, addend{alpha: 1}) }

// run computes the output, with what is added and follows.
func (o *matmul) run(c *Run, add addend) error {
	a, b, out := c.In[0], c.In[1], c.Out[0]
	if out == nil {
		dims, err := matmulDims(graph.DimsOf(a.Shape()), graph.DimsOf(b.Shape()))
		if err != nil {
			return err
		}
		shape, _ := dims.Concrete()
		if out, err = c.Alloc(0, a.DType(), shape); err != nil {
			return err
		}
	}
	s := matmulProducts(asMatrices(a.Shape(), true, 1), asMatrices(b.Shape(), false, 1))
	return o.product.run(c, &s, a, b, out, add)
}

// matmulProducts cuts row-major operands with at least two axes into products,
// as few as there can be: axes that both operands, or neither, step over
// together become one, and rows that share their right operand one matrix.
func matmulProducts(a, b tensor.Shape) products {
	la, lb := len(a)-2, len(b)-2
	s := products{m: a[la], k: a[la+1], n: b[lb+1]}
	s.aRow, s.aCol, s.bRow, s.bCol = s.k, 1, s.n, 1
	axes := broadcastAxes(a[:la], b[:lb], s.m*s.k, s.k*s.n)
	if last := len(axes) - 1; last >= 0 && axes[last][2] == 0 && axes[last][1] == s.m*s.k {
		s.m *= axes[last][0]
		axes = axes[:last]
	}
	for part := range 3 {
		for _, x := range axes {
			s.batch = append(s.batch, x[part])
		}
	}
	return s
}

// broadcastAxes returns extent, stride in a and stride in b of the batch axes
// of operands whose matrices are that many elements apart.
func broadcastAxes(a, b tensor.Shape, aStep, bStep int) [][3]int {
	var axes [][3]int // innermost first
	for i := 1; i <= max(len(a), len(b)); i++ {
		x := [3]int{1, 0, 0}
		if d := fromEnd(a, i); d != 1 {
			x[0], x[1] = d, aStep
			aStep *= d
		}
		if d := fromEnd(b, i); d != 1 {
			x[0], x[2] = d, bStep
			bStep *= d
		}
		if x[0] == 1 {
			continue
		}
		if n := len(axes) - 1; n >= 0 && x[1] == axes[n][1]*axes[n][0] && x[2] == axes[n][2]*axes[n][0] {
			axes[n][0] *= x[0]
			continue
		}
		axes = append(axes, x)
	}
	slices.Reverse(axes)
	return axes
}

// fromEnd is the extent of axis i counted from the end, the last being 1; axes
// that are not there have extent 1.
func fromEnd(s tensor.Shape, i int) int {
	if i > len(s) {
		return 1
	}
	return s[len(s)-i]
}

var (
	productTypes = Types{tensor.F32, tensor.F64, tensor.F16, tensor.BF16, tensor.I32, tensor.I64, tensor.U32, tensor.U64}
	matmulRows   = []Row{
		{Name: "MatMul", Since: []int{1, 9, 13}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: productTypes, New: newMatMul},
		{Name: "Gemm", Since: []int{1, 6, 7, 9, 11, 13}, In: [2]int{3, 3}, Later: []Arity{{Since: 11, In: [2]int{2, 3}}}, Out: [2]int{1, 1}, Types: productTypes, New: newGemm},
	}
)

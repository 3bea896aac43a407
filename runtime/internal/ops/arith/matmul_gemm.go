package arith

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Gemm is Alpha·A'·B' + Beta·C. A' and B' are A and B, transposed if the node says so; C broadcasts
// to the result.
type Gemm struct {
	Alpha, Beta    float32
	TransA, TransB bool
}

func newGemm(n *op.Node) (op.Op, error) {
	if n.Since < 7 {
		// The attribute allows C to broadcast. The shape of C shows whether it must.
		n.Ignore("broadcast")
	}
	return &Gemm{
		Alpha: n.Float("alpha", 1), Beta: n.Float("beta", 1),
		TransA: n.Bool("transA", false), TransB: n.Bool("transB", false),
	}, nil
}

// Infer sets the two extents of the result.
func (o *Gemm) Infer(c *op.Infer) error {
	if !c.Has(0) || !c.Has(1) {
		return graph.Errorf(graph.ErrFormat, "A or B is left out")
	}
	d := c.In[0].DType
	for i, v := range c.In {
		if v != nil && v.DType != d {
			return graph.Errorf(graph.ErrShape, "input %d is %v; A has element type %v", i, v.Type, d)
		}
	}
	var add graph.Dims
	if c.Has(2) {
		add = c.In[2].Dims
	}
	dims, err := o.Dims(c.In[0].Dims, c.In[1].Dims, add)
	if err != nil {
		return err
	}
	c.Set(0, d, dims)
	return nil
}

// Dims returns the extents of the result. Nil means that extents are unknown or, for c, that the
// operand is missing.
func (o *Gemm) Dims(a, b, c graph.Dims) (graph.Dims, error) {
	dims := graph.UnknownDims(2)
	inner := [2]graph.Dim{graph.Unknown(), graph.Unknown()}
	if a != nil {
		if len(a) != 2 {
			return nil, graph.Errorf(graph.ErrShape, "A has shape %v; a matrix is needed", a)
		}
		dims[0], inner[0] = pair(a, o.TransA)
	}
	if b != nil {
		if len(b) != 2 {
			return nil, graph.Errorf(graph.ErrShape, "B has shape %v; a matrix is needed", b)
		}
		inner[1], dims[1] = pair(b, o.TransB)
	}
	if _, ok := kit.JoinDim(inner[0], inner[1]); !ok {
		return nil, graph.Errorf(graph.ErrShape,
			"A%v (transposed: %v) and B%v (transposed: %v) do not multiply: %v columns by %v rows",
			a, o.TransA, b, o.TransB, inner[0], inner[1])
	}
	if len(c) > 2 {
		return nil, graph.Errorf(graph.ErrShape, "C has shape %v; it has two axes at most", c)
	}
	for i, d := range c {
		e := dims[2-len(c)+i]
		if !d.Is(1) && d.IsKnown() && e.IsKnown() && !d.Same(e) {
			return nil, graph.Errorf(graph.ErrShape, "C%v does not broadcast to the result, %v", c, dims)
		}
	}
	return dims, nil
}

func pair(d graph.Dims, swap bool) (graph.Dim, graph.Dim) {
	if swap {
		return d[1], d[0]
	}
	return d[0], d[1]
}

// Run computes scaled products of integers. It scales the sums in float64 and truncates the result,
// as numpy does.
func (o *Gemm) Run(c *op.Run) error {
	switch c.In[0].DType() {
	case tensor.I32:
		runIntegers[int32](o, c)
	case tensor.U32:
		runIntegers[uint32](o, c)
	case tensor.I64:
		runIntegers[int64](o, c)
	case tensor.U64:
		runIntegers[uint64](o, c)
	default:
		return graph.Errorf(graph.ErrUnsupported, "Gemm of %v elements", c.In[0].DType())
	}
	return nil
}

func runIntegers[T int32 | uint32 | int64 | uint64](o *Gemm, c *op.Run) {
	a, b, y := tensor.View[T](c.In[0]), tensor.View[T](c.In[1]), tensor.View[T](c.Out[0])
	m, n, k := c.Out[0].Shape()[0], c.Out[0].Shape()[1], c.In[0].Shape()[1]
	aRow, aCol, bRow, bCol := k, 1, n, 1
	if o.TransA {
		k = c.In[0].Shape()[0]
		aRow, aCol = 1, m
	}
	if o.TransB {
		bRow, bCol = 1, k
	}
	pace := c.Pace()
	for i := range m {
		for j := range n {
			pace.Work(16 + 2*k)
			var sum, add T
			for p := range k {
				sum += a[i*aRow+p*aCol] * b[p*bRow+j*bCol]
			}
			if c.Has(2) {
				rows, cols := kit.FromEnd(c.In[2].Shape(), 2), kit.FromEnd(c.In[2].Shape(), 1)
				add = tensor.View[T](c.In[2])[min(i, rows-1)*cols+min(j, cols-1)]
			}
			y[i*n+j] = T(float64(sum)*float64(o.Alpha) + float64(add)*float64(o.Beta))
		}
	}
}

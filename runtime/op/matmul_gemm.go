package op

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// gemm is alpha·A'·B' + beta·C, where A' and B' are A and B, transposed if the
// node says so, and C broadcasts to the result.
type gemm struct {
	alpha, beta    float32
	transA, transB bool
	product        multiplier
}

func newGemm(n *Node) (Op, error) {
	if n.Since < 7 {
		// C broadcasts then only if the node says so; that it must when its shape
		// differs is seen from the shape.
		n.Ignore("broadcast")
	}
	if n.Since < 11 && !n.HasIn(2) {
		return nil, graph.Mark(graph.ErrFormat, "input C is left out, which Gemm allows since version 11")
	}
	return &gemm{
		alpha: n.Float("alpha", 1), beta: n.Float("beta", 1),
		transA: n.Bool("transA", false), transB: n.Bool("transB", false),
	}, nil
}

func (o *gemm) Infer(c *Infer) error {
	if !c.Has(0) || !c.Has(1) {
		return graph.Mark(graph.ErrFormat, "A or B is left out")
	}
	d := c.In[0].DType
	for i, v := range c.In {
		if v != nil && v.DType != d {
			return graph.Mark(graph.ErrShape, "input %d is %v, whose element type is not A's, %v", i, v.Type, d)
		}
	}
	var add graph.Dims
	if c.Has(2) {
		add = c.In[2].Dims
	}
	dims, err := o.dims(c.In[0].Dims, c.In[1].Dims, add)
	if err != nil {
		return err
	}
	c.Set(0, d, dims)
	return nil
}

// dims is the result's extents; nil stands for extents that are not known or, of
// c, an operand that is not there.
func (o *gemm) dims(a, b, c graph.Dims) (graph.Dims, error) {
	dims := graph.UnknownDims(2)
	inner := [2]graph.Dim{graph.Unknown(), graph.Unknown()}
	if a != nil {
		if len(a) != 2 {
			return nil, graph.Mark(graph.ErrShape, "A has shape %v; a matrix is needed", a)
		}
		dims[0], inner[0] = pair(a, o.transA)
	}
	if b != nil {
		if len(b) != 2 {
			return nil, graph.Mark(graph.ErrShape, "B has shape %v; a matrix is needed", b)
		}
		inner[1], dims[1] = pair(b, o.transB)
	}
	if _, ok := joinDim(inner[0], inner[1]); !ok {
		return nil, graph.Mark(graph.ErrShape, "A%v (transposed: %v) and B%v (transposed: %v) do not multiply: %v columns by %v rows",
			a, o.transA, b, o.transB, inner[0], inner[1])
	}
	if len(c) > 2 {
		return nil, graph.Mark(graph.ErrShape, "C has shape %v; it has two axes at most", c)
	}
	for i, d := range c {
		e := dims[2-len(c)+i]
		if !d.Is(1) && d.IsKnown() && e.IsKnown() && !d.Same(e) {
			return nil, graph.Mark(graph.ErrShape, "C%v does not broadcast to the result, %v", c, dims)
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

func (o *gemm) Prepare(c *Prepare) error {
	if err := o.product.prepare(c); err != nil {
		return err
	}
	return o.product.packRight(c, 1, o.transB)
}

// Describe names the kernel.
func (o *gemm) Describe() string { return o.product.describe() }

func (o *gemm) Run(c *Run) error { return o.run(c, bindings.Finish{}) }

// run computes the output and what follows it. Nothing is added behind a matrix C.
func (o *gemm) run(c *Run, finish bindings.Finish) error {
	a, b := c.In[0], c.In[1]
	add := addend{alpha: o.alpha, beta: o.beta, rows: 1, cols: 1, finish: finish}
	var cd graph.Dims
	if c.Has(2) {
		add.t = c.In[2]
		cd = graph.DimsOf(add.t.Shape())
		add.rows, add.cols = fromEnd(add.t.Shape(), 2), fromEnd(add.t.Shape(), 1)
	}
	dims, err := o.dims(graph.DimsOf(a.Shape()), graph.DimsOf(b.Shape()), cd)
	if err != nil {
		return err
	}
	shape, _ := dims.Concrete()
	out, err := c.output(0, a.DType(), shape)
	if err != nil {
		return err
	}
	return o.product.run(c, o.cut(a.Shape(), b.Shape(), shape), a, b, out, add)
}

// cut returns the one product that there is.
func (o *gemm) cut(a, b, out tensor.Shape) *products {
	s := &products{m: out[0], n: out[1], k: a[1]}
	s.aRow, s.aCol = matrixStrides(a, o.transA)
	s.bRow, s.bCol = matrixStrides(b, o.transB)
	if o.transA {
		s.k = a[0]
	}
	return s
}

// matrixStrides is the steps from row to row and from column to column of a
// matrix of that shape, after it is transposed.
func matrixStrides(s tensor.Shape, transposed bool) (row, col int) {
	if transposed {
		return 1, s[1]
	}
	return s[1], 1
}

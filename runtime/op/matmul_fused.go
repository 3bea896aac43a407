package op

import (
	"slices"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// fusedMatMul is MatMul of operands with their axes in another order, scaled.
type fusedMatMul struct {
	order   [2]reordered // of A and B
	alpha   float32
	product multiplier
}

// reordered says how the axes of an operand change before it is multiplied: its
// matrices are transposed, after its first axis went behind all but the last.
type reordered struct{ matrix, batch bool }

// reorder puts a list with one element per axis into the new order.
func reorder[T any](t reordered, list []T) []T {
	out, n := slices.Clone(list), len(list)
	if t.batch && n > 2 {
		copy(out, list[1:n-1])
		out[n-2] = list[0]
	}
	if t.matrix && n > 1 {
		out[n-2], out[n-1] = out[n-1], out[n-2]
	}
	return out
}

func newFusedMatMul(n *Node) (Op, error) {
	return &fusedMatMul{
		alpha: n.Float("alpha", 1),
		order: [2]reordered{{n.Bool("transA", false), n.Bool("transBatchA", false)}, {n.Bool("transB", false), n.Bool("transBatchB", false)}},
	}, nil
}

// newTransposeMatMul is the older operator, whose matrices stay in their order.
func newTransposeMatMul(n *Node) (Op, error) {
	return &fusedMatMul{alpha: n.Float("alpha", 1), order: [2]reordered{{matrix: n.Bool("transA", false)}, {matrix: n.Bool("transB", false)}}}, nil
}

// Infer is that of MatMul, on the axes in their new order.
func (o *fusedMatMul) Infer(c *Infer) error {
	a, b := c.In[0], c.In[1]
	if a.DType != b.DType {
		return graph.Mark(graph.ErrShape, "operands %v and %v have different element types", a.Type, b.Type)
	}
	dims, err := matmulDims(reorder(o.order[0], a.Dims), reorder(o.order[1], b.Dims))
	if err != nil {
		return err
	}
	c.Set(0, a.DType, dims)
	return nil
}

// Prepare chooses the kernel and packs a constant B.
func (o *fusedMatMul) Prepare(c *Prepare) error {
	if err := o.product.prepare(c); err != nil || o.order[1].batch {
		return err
	}
	return o.product.packRight(c, 1, o.order[1].matrix)
}

// Describe names the kernel.
func (o *fusedMatMul) Describe() string { return o.product.describe() }

// Run computes the output.
func (o *fusedMatMul) Run(c *Run) error {
	var shapes, steps [2][]int
	for i := range shapes {
		s := c.In[i].Shape()
		shapes[i], steps[i] = reorder(o.order[i], []int(s)), reorder(o.order[i], s.Strides())
	}
	dims, err := matmulDims(graph.DimsOf(shapes[0]), graph.DimsOf(shapes[1]))
	if err != nil {
		return err
	}
	shape, _ := dims.Concrete()
	out, err := c.output(0, c.In[0].DType(), shape)
	if err != nil {
		return err
	}
	if len(shapes[0]) == 1 {
		shapes[0], steps[0] = []int{1, shapes[0][0]}, []int{shapes[0][0], 1}
	}
	if len(shapes[1]) == 1 {
		shapes[1], steps[1] = []int{shapes[1][0], 1}, []int{1, 1}
	}
	s := reorderedProducts(shapes, steps)
	if o.order == [2]reordered{} {
		s = matmulProducts(shapes[0], shapes[1])
	}
	if out.DType() != tensor.F64 {
		return o.product.run(c, &s, c.In[0], c.In[1], out, addend{alpha: o.alpha})
	}
	err = o.product.run(c, &s, c.In[0], c.In[1], out, addend{alpha: 1})
	for i, list := 0, tensor.View[float64](out); i < len(list); i++ {
		list[i] *= float64(o.alpha)
	}
	return err
}

// reorderedProducts cuts operands with any steps between their elements into
// products.
func reorderedProducts(shapes, steps [2][]int) products {
	la, lb := len(shapes[0])-2, len(shapes[1])-2
	s := products{m: shapes[0][la], k: shapes[0][la+1], n: shapes[1][lb+1]}
	s.aRow, s.aCol = steps[0][la], steps[0][la+1]
	s.bRow, s.bCol = steps[1][lb], steps[1][lb+1]
	var parts [3][]int
	for i := max(la, lb); i > 0; i-- {
		n, step := 1, [2]int{}
		for k, l := range []int{la, lb} {
			if i <= l && shapes[k][l-i] != 1 {
				n, step[k] = shapes[k][l-i], steps[k][l-i]
			}
		}
		parts[0], parts[1], parts[2] = append(parts[0], n), append(parts[1], step[0]), append(parts[2], step[1])
	}
	s.batch = slices.Concat(parts[:]...)
	return s
}

// fusedGemm is Gemm with an activation behind it.
type fusedGemm struct {
	gemm
	activation epilogue
}

func newFusedGemm(n *Node) (Op, error) {
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
	act, err := newEpilogue(n.Str("activation", ""), given)
	if err != nil {
		return nil, err
	}
	g := gemm{alpha: n.Float("alpha", 1), beta: n.Float("beta", 1), transA: n.Bool("transA", false), transB: n.Bool("transB", false)}
	return &fusedGemm{g, act}, nil
}

// Prepare chooses the kernels.
func (o *fusedGemm) Prepare(c *Prepare) error {
	if err := o.activation.prepare(c); err != nil {
		return err
	}
	return o.gemm.Prepare(c)
}

// Run computes the output.
func (o *fusedGemm) Run(c *Run) error {
	if err := o.gemm.run(c, o.activation.finish()); err != nil {
		return err
	}
	o.activation.run(c, c.Out[0])
	return nil
}

// sumMatMul is MatMul of operands with two axes or more, a number for each column
// added, then a value Z of the output's shape, then an activation: an operator of
// graphs that this program writes itself, as com.microsoft.FusedConv for Conv.
type sumMatMul struct {
	matmul
	then finisher
}

func newSumMatMul(n *Node) (Op, error) {
	then, err := newFinisher(n)
	return &sumMatMul{then: then}, err
}

// Infer is that of MatMul.
func (o *sumMatMul) Infer(c *Infer) error {
	if err := o.matmul.Infer(&Infer{In: c.In[:2], Out: c.Out}); err != nil {
		return err
	}
	a, b, y := c.In[0], c.In[1], c.Out[0]
	if len(a.Dims) == 1 || len(b.Dims) == 1 {
		return graph.Mark(graph.ErrShape, "operands are %v and %v; each needs two axes", a.Type, b.Type)
	}
	if c.Has(2) && (c.In[2].DType != a.DType || c.In[2].Dims != nil && len(c.In[2].Dims) != 1) {
		return graph.Mark(graph.ErrShape, "C is %v, not a vector of A's element type, %v", c.In[2].Type, a.DType)
	}
	if c.Has(2) && c.In[2].Dims != nil && b.Dims != nil {
		if have, want := c.In[2].Dims[0], b.Dims[len(b.Dims)-1]; have.IsKnown() && want.IsKnown() && !have.Same(want) {
			return graph.Mark(graph.ErrShape, "C has %v elements for %v columns", have, want)
		}
	}
	return checkAddend(c, y.DType)
}

// Prepare chooses the kernels.
func (o *sumMatMul) Prepare(c *Prepare) error {
	if err := o.then.prepare(c); err != nil {
		return err
	}
	return o.matmul.Prepare(c)
}

// Run computes the output.
func (o *sumMatMul) Run(c *Run) error {
	add := addend{alpha: 1}
	if c.Has(2) {
		add = addend{t: c.In[2], alpha: 1, beta: 1, rows: 1, cols: c.In[2].Len()}
	}
	return o.then.run(c, func(f bindings.Finish) error {
		add.finish = f
		return o.matmul.run(c, add)
	})
}

var fusedProductRows = []Row{
	{Domain: microsoft, Name: "FusedMatMul", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: floats, New: newFusedMatMul},
	{Domain: microsoft, Name: "TransposeMatMul", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: floats, New: newTransposeMatMul},
	{Domain: microsoft, Name: "FusedGemm", Since: []int{1}, In: [2]int{2, 3}, Out: [2]int{1, 1}, Types: floats, New: newFusedGemm},
	{Domain: internalDomain, Name: "FusedMatMul", Since: []int{1}, In: [2]int{2, 4}, Out: [2]int{1, 1}, Types: floats, InPlace: []int{3}, New: newSumMatMul},
}

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

// epilogue is an elementwise function that stands behind another operator in
// one node.
type epilogue struct {
	kernel string // "" for none
	p, q   float64
	fn     bindings.Kernel
	path   path
	params *bindings.Params
}

// epilogues are the functions that may stand behind others, with the kernel of
// each and what its parameters are if the node does not say.
var epilogues = map[string]struct {
	kernel string
	p, q   float32
}{
	"":                {},
	"Relu":            {kernel: "relu"},
	"Tanh":            {kernel: "tanh"},
	"Sigmoid":         {kernel: "sigmoid"},
	"LeakyRelu":       {kernel: "leaky_relu", p: 0.01},
	"Elu":             {kernel: "elu", p: 1},
	"Celu":            {kernel: "celu", p: 1},
	"Selu":            {kernel: "selu", p: 1.67326319, q: 1.05070102},
	"HardSigmoid":     {kernel: "hard_sigmoid", p: 0.2, q: 0.5},
	"HardSwish":       {kernel: "hard_swish"},
	"Softplus":        {kernel: "softplus"},
	"Softsign":        {kernel: "softsign"},
	"ThresholdedRelu": {kernel: "thresholded_relu", p: 1},
	"Clip":            {kernel: "clip"},
}

func newEpilogue(name string, given []float32) (epilogue, error) {
	a, ok := epilogues[name]
	if !ok {
		return epilogue{}, graph.Mark(graph.ErrUnsupported, "activation %q", name)
	}
	if len(given) > 0 {
		a.p = given[0]
	}
	if len(given) > 1 {
		a.q = given[1]
	}
	if name == "Clip" && len(given) != 2 {
		return epilogue{}, graph.Mark(graph.ErrFormat, "activation Clip has %d parameters, not 2", len(given))
	}
	return epilogue{kernel: a.kernel, p: float64(a.p), q: float64(a.q)}, nil
}

func (a *epilogue) prepare(c *Prepare) (err error) {
	if a.kernel == "" {
		return nil
	}
	d := c.DType(0)
	if a.path, err = pathTo(c, d, wide(d)); err != nil {
		return err
	}
	a.params = paramsFor(wide(d), a.p, a.q)
	a.fn, err = kernelFor(c, wide(d), a.kernel)
	return err
}

// run changes the elements of t.
func (a *epilogue) run(c *Run, t *tensor.Tensor) {
	if a.kernel != "" {
		bindings.EltwiseMap(c.Pool, a.fn, a.path.source(t), a.path.sink(t), t.Len(), a.params)
	}
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
	if err := o.gemm.Run(c); err != nil {
		return err
	}
	o.activation.run(c, c.Out[0])
	return nil
}

// fusedConv is Conv with a value added and an activation behind it.
type fusedConv struct {
	conv
	activation epilogue
	add        bindings.Kernel
	path       path
}

func newFusedConv(n *Node) (Op, error) {
	inner, err := newConv(n)
	if err != nil {
		return nil, err
	}
	act, err := newEpilogue(n.Str("activation", ""), n.Floats("activation_params"))
	if err != nil {
		return nil, err
	}
	return &fusedConv{conv: *inner.(*conv), activation: act}, nil
}

// Infer is that of Conv; what is added has the shape of the output.
func (o *fusedConv) Infer(c *Infer) error {
	inner := *c
	inner.In = c.In[:min(3, len(c.In))]
	if c.Has(3) && c.In[3].DType != c.In[0].DType {
		return graph.Mark(graph.ErrShape, "Z is %v, whose element type is not X's, %v", c.In[3].Type, c.In[0].DType)
	}
	return o.conv.Infer(&inner)
}

// Prepare chooses the kernels.
func (o *fusedConv) Prepare(c *Prepare) (err error) {
	if err = o.activation.prepare(c); err != nil {
		return err
	}
	d := c.DType(0)
	if o.path, err = pathTo(c, d, wide(d)); err != nil {
		return err
	}
	if o.add, err = kernelFor(c, wide(d), "add"); err != nil {
		return err
	}
	return o.conv.Prepare(c)
}

// Run computes the output.
func (o *fusedConv) Run(c *Run) error {
	if err := o.conv.Run(c); err != nil {
		return err
	}
	y := c.Out[0]
	if c.Has(3) {
		z := c.In[3]
		if !z.Shape().Equal(y.Shape()) {
			return graph.Mark(graph.ErrShape, "Z is %v and the convolution %v", z, y)
		}
		if y.Len() > 0 {
			n := y.Len()
			bindings.EltwiseBinary(c.Pool, o.add, o.path.source(y), o.path.source(z), o.path.sink(y), []int{n, n, n})
		}
	}
	o.activation.run(c, y)
	return nil
}

var fusedProductRows = []Row{
	{Domain: microsoft, Name: "FusedMatMul", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: floats, New: newFusedMatMul},
	{Domain: microsoft, Name: "FusedGemm", Since: []int{1}, In: [2]int{2, 3}, Out: [2]int{1, 1}, Types: floats, New: newFusedGemm},
	{Domain: microsoft, Name: "FusedConv", Since: []int{1}, In: [2]int{2, 4}, Out: [2]int{1, 1}, Types: Types{tensor.F32, tensor.F64, tensor.F16}, New: newFusedConv},
}

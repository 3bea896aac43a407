package op

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// fused is an activation joined with an operation on two values: of their sum,
// as in BiasGelu, or before a product, as in SwiGLU.
type fused struct {
	unary, binary string
	first         bool    // the activation comes before the operation
	p             float64 // of the activation
	bias          bool    // input 1 is a vector for the last axis, else a value like input 0

	act, join bindings.Kernel
	path      path
	params    *bindings.Params
}

func newSwiGLU(n *Node) (Op, error) {
	return &fused{unary: "swish", binary: "mul", first: true, p: float64(n.Float("alpha", 1))}, nil
}

// Prepare chooses the kernels.
func (o *fused) Prepare(c *Prepare) (err error) {
	d := c.DType(0)
	if o.path, err = pathTo(c, d, wide(d)); err != nil {
		return err
	}
	o.params = paramsFor(wide(d), o.p, 0)
	if o.act, err = kernelFor(c, wide(d), o.unary); err != nil {
		return err
	}
	o.join, err = kernelFor(c, wide(d), o.binary)
	return err
}

// Describe names the kernels.
func (o *fused) Describe() string { return describe(o.act, o.join) }

// Infer keeps the shape of the first input.
func (o *fused) Infer(c *Infer) error {
	if err := sameTypes(c.In); err != nil {
		return err
	}
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

// Run computes the output, which may lie over the first input, or over the
// second if that is no bias.
func (o *fused) Run(c *Run) error {
	x, y, n := c.In[0], c.Out[0], c.In[0].Len()
	if !c.Has(1) {
		bindings.EltwiseMap(c.Pool, o.act, o.path.source(x), o.path.sink(y), n, o.params)
		return nil
	}
	b := c.In[1]
	if o.bias && (len(b.Shape()) != 1 || len(x.Shape()) == 0 || b.Len() != fromEnd(x.Shape(), 1)) || !o.bias && !b.Shape().Equal(x.Shape()) {
		return graph.Mark(graph.ErrShape, "inputs %v and %v do not go together", x, b)
	}
	bindings.EltwiseFused(c.Pool, o.act, o.join, o.params, o.first, o.path.source(x), o.path.source(b), o.path.sink(y), b.Len(), n)
	return nil
}

// biased is an activation of the sum of input 0 and a vector, which may be left
// out if it is optional.
func biased(unary string) func(n *Node) (Op, error) {
	return func(*Node) (Op, error) { return &fused{unary: unary, binary: "add", bias: true}, nil }
}

func newQuickGelu(n *Node) (Op, error) {
	return &unary{kernel: "swish", p: float64(n.Float("alpha", 1.702))}, nil
}

func newPlainGelu(*Node) (Op, error) { return &unary{kernel: "gelu"}, nil }

var fusedRows = []Row{
	{Domain: microsoft, Name: "Gelu", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: floats, InPlace: []int{0}, New: newPlainGelu},
	{Domain: microsoft, Name: "QuickGelu", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: floats, InPlace: []int{0}, New: newQuickGelu},
	{Domain: microsoft, Name: "FastGelu", Since: []int{1}, In: [2]int{1, 2}, Out: [2]int{1, 1}, Types: floats, InPlace: []int{0}, New: biased("gelu_tanh")},
	{Domain: microsoft, Name: "BiasGelu", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: floats, InPlace: []int{0}, New: biased("gelu")},
	{Name: "SwiGLU", Since: []int{28}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: floats, InPlace: []int{0, 1}, New: newSwiGLU},
}

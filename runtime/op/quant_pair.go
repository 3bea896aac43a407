package op

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// quantPair is the sum or the product of two quantised values, with broadcasting,
// quantised. Each of the three has one scale and one zero point.
type quantPair struct {
	product bool
	kernel  bindings.Kernel
	fixed   *bindings.QuantPair // of constant scales and zero points; else nil
}

// The inputs of quantPair.
const (
	pairA      = 0
	pairB      = 3
	pairYScale = 6
	pairYZero  = 7
)

func newQuantPair(product bool) func(*Node) (Op, error) {
	return func(*Node) (Op, error) { return &quantPair{product: product}, nil }
}

// Infer broadcasts.
func (o *quantPair) Infer(c *Infer) error {
	if err := c.checkCodes(pairA, pairB); err != nil {
		return err
	}
	a, b := c.In[pairA], c.In[pairB]
	if a.DType != b.DType {
		return graph.Mark(graph.ErrShape, "the operands are %v and %v; their codes must be of one type", a.Type, b.Type)
	}
	if err := c.checkPerTensor(a.DType, pairYScale, pairYZero); err != nil {
		return err
	}
	dims, err := broadcast(a.Dims, b.Dims)
	if err == nil {
		c.Set(0, a.DType, dims)
	}
	return err
}

// Prepare chooses the kernel, and takes constant scales into it.
func (o *quantPair) Prepare(c *Prepare) (err error) {
	a, ok := c.perTensor(pairA+1, pairA+2)
	b, okB := c.perTensor(pairB+1, pairB+2)
	y, okY := c.perTensor(pairYScale, pairYZero)
	if ok && okB && okY {
		o.fixed = o.of(c.DType(pairA), a, b, y)
	}
	o.kernel, err = c.Kernel("f32_quantize")
	return err
}

// Describe names the kernel.
func (o *quantPair) Describe() string { return describe(o.kernel) }

func (o *quantPair) of(d tensor.DType, a, b, y perTensor) *bindings.QuantPair {
	p := &bindings.QuantPair{Signed: d == tensor.I8, Product: o.product, AZero: a.zero, BZero: b.zero, CZero: y.zero}
	if o.product {
		p.ARatio = a.scale * b.scale / y.scale
	} else {
		p.ARatio, p.BRatio = a.scale/y.scale, b.scale/y.scale
	}
	return p
}

// Run computes the codes, which may lie over those of either operand.
func (o *quantPair) Run(c *Run) error {
	a, b, y := c.In[pairA], c.In[pairB], c.Out[0]
	p, err := o.pair(c)
	if err != nil || y.Len() == 0 {
		return err
	}
	axes, err := pairAxes(y.Shape(), a.Shape(), b.Shape())
	if err == nil {
		bindings.QuantPairs(o.kernel, c.Pool, p, axes, a.Pointer(), b.Pointer(), y.Pointer())
	}
	return err
}

func (o *quantPair) pair(c *Run) (*bindings.QuantPair, error) {
	if o.fixed != nil {
		return o.fixed, nil
	}
	a, err := c.perTensor(pairA+1, pairA+2)
	if err != nil {
		return nil, err
	}
	b, err := c.perTensor(pairB+1, pairB+2)
	if err != nil {
		return nil, err
	}
	y, err := c.perTensor(pairYScale, pairYZero)
	return o.of(c.In[pairA].DType(), a, b, y), err
}

// pairAxes returns the extents of y, which is not empty, then the strides of bytes of
// a and b that broadcast to it, with as few axes as there can be.
func pairAxes(y, a, b tensor.Shape) ([]int, error) {
	dims, err := extentsUnder(y, a, b)
	if err != nil {
		return nil, err
	}
	rank := len(y)
	axes := make([]copyAxis, rank)
	from, to := 1, 1
	for i := rank - 1; i >= 0; i-- {
		axes[i].n = y[i]
		if n := dims[rank+i]; n != 1 {
			axes[i].from = from
			from *= n
		}
		if n := dims[2*rank+i]; n != 1 {
			axes[i].to = to
			to *= n
		}
	}
	axes, _ = collapse(axes)
	if len(axes) == 0 {
		axes = []copyAxis{{1, 1, 1}}
	}
	rank = len(axes)
	list := make([]int, 3*rank)
	for i, x := range axes {
		list[i], list[rank+i], list[2*rank+i] = x.n, x.from, x.to
	}
	return list, nil
}

var quantPairRows = []Row{
	{Domain: microsoft, Name: "QLinearAdd", Since: []int{1}, In: [2]int{7, 8}, Optional: these(2, 5), Out: [2]int{1, 1}, Types: byteTypes, InPlace: []int{pairA, pairB},
		New: newQuantPair(false)},
	{Domain: microsoft, Name: "QLinearMul", Since: []int{1}, In: [2]int{7, 8}, Optional: these(2, 5), Out: [2]int{1, 1}, Types: byteTypes, InPlace: []int{pairA, pairB},
		New: newQuantPair(true)},
}

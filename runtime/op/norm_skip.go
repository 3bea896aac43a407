package op

import (
	"slices"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// skipNorm normalises the sum of two values and a bias, SkipLayerNormalization,
// or divides it by its root mean square, SkipSimplifiedLayerNormalization.
type skipNorm struct {
	epsilon         float32
	centred         bool
	bias            int // input
	moments, affine bindings.Kernel
}

func newSkipNorm(centred bool) func(n *Node) (Op, error) {
	return func(n *Node) (Op, error) {
		o := &skipNorm{epsilon: n.Float("epsilon", 1e-12), centred: centred, bias: 3}
		if centred {
			o.bias = 4
		}
		return o, nil
	}
}

// Infer keeps type and shape; the statistics have 1 along the last axis.
func (o *skipNorm) Infer(c *Infer) error {
	if err := sameTypes(c.In); err != nil {
		return err
	}
	x := c.In[0]
	stats := slices.Clone(x.Dims)
	if rank, ok := x.Rank(); ok {
		if rank < 2 {
			return graph.Mark(graph.ErrShape, "input %v has fewer than two axes", x.Type)
		}
		stats[rank-1] = graph.Known(1)
	}
	c.Set(0, x.DType, x.Dims)
	c.Set(1, tensor.F32, stats)
	c.Set(2, tensor.F32, stats)
	c.Set(3, x.DType, x.Dims)
	return nil
}

// Prepare chooses the kernels.
func (o *skipNorm) Prepare(c *Prepare) (err error) {
	if o.moments, err = c.Kernel("f32_moments"); err == nil {
		o.affine, err = c.Kernel("f32_affine_each")
	}
	return err
}

// Describe names the kernels.
func (o *skipNorm) Describe() string { return describe(o.moments, o.affine) }

// check reports operands that do not go together.
func (o *skipNorm) check(c *Run) error {
	x, skip := c.In[0].Shape(), c.In[1].Shape()
	n := x[len(x)-1]
	if n == 0 {
		return graph.Mark(graph.ErrShape, "input %v has no elements to normalise", c.In[0])
	}
	for len(skip) > 2 && skip[0] == 1 && len(skip) > 0 {
		skip = skip[1:]
	}
	if len(skip) < 2 || len(skip) > len(x) || !skip.Equal(x[len(x)-len(skip):]) {
		return graph.Mark(graph.ErrShape, "input %v and what is added to it, %v, do not go together", c.In[0], c.In[1])
	}
	for _, t := range c.In[2:] {
		if t != nil && !t.Shape().Equal(tensor.Shape{n}) {
			return graph.Mark(graph.ErrShape, "parameter %v is not of [%d]", t, n)
		}
	}
	return nil
}

// Run computes the outputs, the first of which may lie over the input.
func (o *skipNorm) Run(c *Run) error {
	x := c.In[0].Shape()
	if err := o.check(c); err != nil || x.Len() == 0 {
		return err
	}
	var in [5][]float32
	for i, t := range c.In {
		list, err := c.floats(t)
		if err != nil {
			return err
		}
		in[i] = list
	}
	beta, bias := in[3], in[o.bias]
	if !o.centred {
		beta = nil
	}
	var outs [4]*tensor.Tensor
	copy(outs[:], c.Out)
	var lists [4][]float32
	for i, t := range outs {
		list, err := c.floatsFor(t)
		if err != nil {
			return err
		}
		lists[i] = list
	}
	sum := lists[3]
	if sum == nil {
		sum = lists[0]
	}
	n := x[len(x)-1]
	bindings.SkipNormF32(o.moments, o.affine, c.Pool, in[0], in[1], bias, x.Len()/n, n, in[2], beta, o.epsilon, o.centred, sum, lists[0], lists[1], lists[2])
	c.putFloats(outs[0], lists[0])
	c.putFloats(outs[3], lists[3])
	return nil
}

// simplifiedNorm is RMSNormalization with the name, and the second output, that
// ONNX Runtime gives it.
type simplifiedNorm struct{ layerNorm }

func newSimplifiedNorm(n *Node) (Op, error) {
	o, err := newRowNorm(n, false)
	if err != nil {
		return nil, err
	}
	return &simplifiedNorm{*o.(*layerNorm)}, nil
}

// Infer keeps the shape; the statistics have 1 along the normalised axes.
func (o *simplifiedNorm) Infer(c *Infer) error {
	all := &Infer{In: c.In, Out: []*Value{{}, {}, {}}}
	if err := o.layerNorm.Infer(all); err != nil {
		return err
	}
	*c.Out[0] = *all.Out[0]
	if len(c.Out) > 1 {
		*c.Out[1] = *all.Out[2]
	}
	return nil
}

// Run computes the outputs; the first may lie over the input.
func (o *simplifiedNorm) Run(c *Run) error {
	all := *c
	all.Out = []*tensor.Tensor{c.Out[0], nil, nil}
	if len(c.Out) > 1 {
		all.Out[2] = c.Out[1]
	}
	return o.layerNorm.Run(&all)
}

var skipNormRows = []Row{
	{Domain: microsoft, Name: "SkipLayerNormalization", Since: []int{1}, In: [2]int{3, 5}, Out: [2]int{1, 4}, Types: narrowTypes, InPlace: []int{0}, New: newSkipNorm(true)},
	{Domain: microsoft, Name: "SkipSimplifiedLayerNormalization", Since: []int{1}, In: [2]int{3, 4}, Out: [2]int{1, 4}, Types: narrowTypes, InPlace: []int{0}, New: newSkipNorm(false)},
	// ONNX Runtime has this one in the standard's domain.
	{Name: "SimplifiedLayerNormalization", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 2}, Types: floats, New: newSimplifiedNorm},
	{Domain: microsoft, Name: "SimplifiedLayerNormalization", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 2}, Types: floats, New: newSimplifiedNorm},
}

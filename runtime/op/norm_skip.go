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
	add             bindings.Kernel
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
	if o.add, err = c.Kernel("f32_add"); err != nil {
		return err
	}
	if o.moments, err = c.Kernel("f32_moments"); err == nil {
		o.affine, err = c.Kernel("f32_affine_each")
	}
	return err
}

// Describe names the kernels.
func (o *skipNorm) Describe() string { return describe(o.add, o.moments, o.affine) }

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
	var params [5][]float32
	for i := 2; i < len(c.In); i++ {
		list, err := c.floats(c.In[i])
		if err != nil {
			return err
		}
		params[i] = list
	}
	beta, bias := params[3], params[o.bias]
	if !o.centred {
		beta = nil
	}
	var outs [4]*tensor.Tensor
	copy(outs[:], c.Out)
	var stats [2][]float32
	for i := range stats {
		list, err := c.floatsFor(outs[1+i])
		if err != nil {
			return err
		}
		stats[i] = list
	}
	n := x[len(x)-1]
	err := o.rows(c, outs, n, func(x, skip, out, sum []float32, first, count int) {
		mean, invStd := someOf(stats[0], first, count), someOf(stats[1], first, count)
		bindings.SkipNormF32(o.add, o.moments, o.affine, c.Pool, x, skip, bias, count, n, params[2], beta, o.epsilon, o.centred, sum, out, mean, invStd)
	})
	if err != nil {
		return err
	}
	c.putFloats(outs[1], stats[0])
	c.putFloats(outs[2], stats[1])
	return nil
}

// rows calls f with rows of n elements from the one numbered first on: all at
// once if they are float32, else some that lie within one repetition of skip, or
// are whole ones.
func (o *skipNorm) rows(c *Run, outs [4]*tensor.Tensor, n int, f func(x, skip, out, sum []float32, first, count int)) error {
	rows, period := c.In[0].Len()/n, c.In[1].Len()/n
	step := rows
	if c.In[0].DType() != tensor.F32 {
		step = min(period, max(1, stripFloats/4/n))
	}
	var strips [4]strip
	for i, t := range []*tensor.Tensor{c.In[0], c.In[1], outs[0], outs[3]} {
		s, err := c.strip(t, step*n)
		if err != nil {
			return err
		}
		strips[i] = s
	}
	for first, count := 0, 0; first < rows; first += count {
		count = min(step, rows-first)
		again := first % period
		skipRows := min(count, period)
		if again+count > period && step < rows {
			count = period - again
			skipRows = count
		}
		at, size := first*n, count*n
		out, sum := strips[2].room(at, size), strips[3].room(at, size)
		total := sum
		if total == nil {
			total = out
		}
		f(strips[0].load(at, size), strips[1].load(again*n, skipRows*n), out, total, first, count)
		strips[2].store(at, out)
		strips[3].store(at, sum)
	}
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

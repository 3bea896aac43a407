package op

import (
	"math"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// batchNorm scales and shifts each channel by given statistics or, in training,
// by those of the input itself. Versions before 14 train when a node has more
// outputs than one.
type batchNorm struct {
	epsilon, momentum float64
	spatial           bool // statistics per channel, not per element of a sample
	training          bool
	old               bool // before version 14, with outputs saved_mean and saved_var
	channel, row      bindings.Kernel
	fixed             *affine // when all parameters are constant
}

// affine is out = (x - sub) * mul + add per channel.
type affine struct{ sub, mul, add []float64 }

func newBatchNorm(n *Node) (Op, error) {
	o := &batchNorm{epsilon: float64(n.Float("epsilon", 1e-5)), momentum: float64(n.Float("momentum", 0.9)), spatial: true}
	outputs := 0
	for i, name := range n.Outputs {
		if name != "" {
			outputs = i + 1
		}
	}
	if n.Since >= 14 {
		o.training = n.Bool("training_mode", false)
		if outputs > 3 || outputs > 1 && !o.training {
			return nil, graph.Mark(graph.ErrFormat, "has %d outputs; the operator has 3 in training mode, else 1", outputs)
		}
		return o, nil
	}
	o.old = true
	o.training = outputs > 1
	if n.Since < 9 {
		o.spatial = n.Bool("spatial", true)
	}
	if n.Since < 7 {
		o.training = !n.Bool("is_test", false) && outputs > 1
		if outputs > 1 && !o.training {
			return nil, graph.Mark(graph.ErrFormat, "has %d outputs although is_test is set", outputs)
		}
	}
	if n.Since == 1 {
		n.Ignore("consumed_inputs")
	}
	return o, nil
}

// view returns x as [batch, channels, inner].
func (o *batchNorm) view(shape tensor.Shape) reduceStep {
	switch {
	case len(shape) < 2:
		return reduceStep{shape.Len(), 1, 1}
	case !o.spatial:
		return reduceStep{shape[0], shape[1:].Len(), 1}
	}
	return reduceStep{shape[0], shape[1], shape[2:].Len()}
}

// Infer keeps the shape; the statistics have one axis.
func (o *batchNorm) Infer(c *Infer) error {
	x := c.In[0]
	c.Set(0, x.DType, x.Dims)
	for i, v := range c.In[1:] {
		if !floats.Has(v.DType) {
			return graph.Mark(graph.ErrUnsupported, "input %d has element type %v; it takes %v", i+1, v.DType, floats)
		}
		if rank, ok := x.Rank(); ok && o.spatial && rank > 1 && len(v.Dims) == 1 {
			if _, err := broadcast(v.Dims, x.Dims[1:2]); err != nil || v.Dims[0].Is(1) && x.Dims[1].IsKnown() && !x.Dims[1].Is(1) {
				return graph.Mark(graph.ErrShape, "input %d has %v elements for %v channels", i+1, v.Dims[0], x.Dims[1])
			}
		}
	}
	if !o.training {
		return nil
	}
	for i := 1; i < 5; i++ {
		if i < 3 || o.old {
			c.Set(i, c.In[3+(i-1)%2].DType, c.In[3+(i-1)%2].Dims)
		}
	}
	return nil
}

// Prepare chooses the kernels, and folds constant parameters.
func (o *batchNorm) Prepare(c *Prepare) (err error) {
	if isNarrow(c.DType(0)) {
		if o.channel, err = c.Kernel("f32_affine"); err != nil {
			return err
		}
		if o.row, err = c.Kernel("f32_affine_each"); err != nil {
			return err
		}
	}
	var params [4][]float64
	for i := range params {
		t := c.Const(i + 1)
		if t == nil || !t.DType().IsFloat() || o.training {
			return nil
		}
		if params[i] = doubles(t.Aligned()); len(params[i]) != len(params[0]) {
			return nil
		}
	}
	o.fixed = o.fold(params[0], params[1], params[2], params[3])
	return nil
}

// Describe names the kernels.
func (o *batchNorm) Describe() string { return describe(o.channel, o.row) }

func (o *batchNorm) fold(scale, bias, mean, variance []float64) *affine {
	a := &affine{mean, make([]float64, len(scale)), bias}
	for i := range scale {
		a.mul[i] = scale[i] / math.Sqrt(variance[i]+o.epsilon)
	}
	return a
}

// Run computes the outputs; the first may lie over the input.
func (o *batchNorm) Run(c *Run) error {
	s := o.view(c.In[0].Shape())
	for i, t := range c.In[1:] {
		if t.Len() != s.n {
			return graph.Mark(graph.ErrShape, "input %d has %d elements for %d channels", i+1, t.Len(), s.n)
		}
	}
	a := o.fixed
	if a == nil {
		mean, variance := doubles(c.In[3]), doubles(c.In[4])
		if o.training {
			mean, variance = o.train(c, s, mean, variance)
		}
		a = o.fold(doubles(c.In[1]), doubles(c.In[2]), mean, variance)
	}
	return a.apply(c, s, o.channel, o.row)
}

// train returns the statistics of the input and sets the outputs that hold them.
func (o *batchNorm) train(c *Run, s reduceStep, mean, variance []float64) (_, _ []float64) {
	x := doubles(c.In[0])
	means, variances := make([]float64, s.n), make([]float64, s.n)
	channel := make([]float64, 0, s.outer*s.inner)
	for k := range s.n {
		channel = channel[:0]
		for b := range s.outer {
			at := (b*s.n + k) * s.inner
			channel = append(channel, x[at:at+s.inner]...)
		}
		means[k], variances[k] = moments(channel, true)
	}
	running := func(old, now []float64) []float64 {
		list := make([]float64, len(now))
		for i := range now {
			list[i] = old[i]*o.momentum + now[i]*(1-o.momentum)
		}
		return list
	}
	for i, list := range [][]float64{running(mean, means), running(variance, variances), means, variances} {
		if i+1 < len(c.Out) {
			putDoubles(c.Out[i+1], list)
		}
	}
	return means, variances
}

// apply computes output 0 from input 0.
func (a *affine) apply(c *Run, s reduceStep, channel, row bindings.Kernel) error {
	if c.In[0].Len() == 0 {
		return nil
	}
	if !channel.Valid() {
		x, out := doubles(c.In[0]), make([]float64, c.In[0].Len())
		for i := range x {
			k := i / s.inner % s.n
			out[i] = (x[i]-a.sub[k])*a.mul[k] + a.add[k]
		}
		putDoubles(c.Out[0], out)
		return nil
	}
	params, err := c.scratchFloats(3 * s.n)
	if err != nil {
		return err
	}
	sub, mul, add := params[:s.n], params[s.n:2*s.n], params[2*s.n:]
	for k := range s.n {
		sub[k], mul[k], add[k] = float32(a.sub[k]), float32(a.mul[k]), float32(a.add[k])
		if s.inner == 1 {
			add[k] = float32(a.add[k] - a.sub[k]*a.mul[k])
		}
	}
	if s.inner == 1 {
		return c.inSlices(s.outer, func(x, out []float32, _, count int) {
			bindings.RowAffineF32(row, c.Pool, x, count, s.n, mul, add, out)
		})
	}
	return c.inSlices(s.outer, func(x, out []float32, _, count int) {
		bindings.ChannelAffineF32(channel, c.Pool, x, count, s.n, s.inner, sub, mul, add, out)
	})
}

// groupNorm normalises runs of channels of each sample, then scales and shifts
// by channel. InstanceNormalization has one channel per group.
type groupNorm struct {
	epsilon         float32
	groups          int  // 0: as many as channels
	perGroup        bool // scale and bias have an element per group
	moments, affine bindings.Kernel
}

func newInstanceNorm(n *Node) (Op, error) {
	if n.Since == 1 {
		n.Ignore("consumed_inputs")
	}
	return &groupNorm{epsilon: n.Float("epsilon", 1e-5)}, nil
}

func newGroupNorm(n *Node) (Op, error) {
	o := &groupNorm{epsilon: n.Float("epsilon", 1e-5), groups: n.Int("num_groups", 0), perGroup: n.Since < 21}
	if o.groups < 1 {
		return nil, graph.Mark(graph.ErrFormat, "num_groups is %d; it takes 1 or more", o.groups)
	}
	if n.Since >= 21 {
		if _, err := stashType(n); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// split returns channels, groups and elements of scale.
func (o *groupNorm) split(channels int) (groups, params int, err error) {
	groups, params = o.groups, channels
	if groups == 0 {
		return channels, channels, nil
	}
	if channels%groups != 0 {
		return 0, 0, graph.Mark(graph.ErrShape, "%d channels do not divide into %d groups", channels, groups)
	}
	if o.perGroup {
		params = groups
	}
	return groups, params, nil
}

// Infer keeps type and shape.
func (o *groupNorm) Infer(c *Infer) error {
	x := c.In[0]
	c.Set(0, x.DType, x.Dims)
	for i, v := range c.In[1:] {
		if !floats.Has(v.DType) {
			return graph.Mark(graph.ErrUnsupported, "input %d has element type %v; it takes %v", i+1, v.DType, floats)
		}
	}
	rank, ok := x.Rank()
	if ok && rank < 2 {
		return graph.Mark(graph.ErrShape, "input %v has no channels; it takes [batch,channels,...]", x.Dims)
	}
	if ok {
		if channels, known := x.Dims[1].Value(); known {
			_, _, err := o.split(channels)
			return err
		}
	}
	return nil
}

// Prepare chooses the kernels.
func (o *groupNorm) Prepare(c *Prepare) (err error) {
	if !isNarrow(c.DType(0)) {
		return nil
	}
	if o.moments, err = c.Kernel("f32_moments"); err == nil {
		o.affine, err = c.Kernel("f32_affine")
	}
	return err
}

// Describe names the kernels.
func (o *groupNorm) Describe() string { return describe(o.moments, o.affine) }

// Run computes the output, which may lie over the input.
func (o *groupNorm) Run(c *Run) error {
	shape := c.In[0].Shape()
	s := reduceStep{shape[0], shape[1], shape[2:].Len()}
	groups, params, err := o.split(s.n)
	if err != nil {
		return err
	}
	if c.In[1].Len() != params || c.In[2].Len() != params {
		return graph.Mark(graph.ErrShape, "scale %v and bias %v take %d elements", c.In[1], c.In[2], params)
	}
	if shape.Len() == 0 {
		return nil
	}
	scale, bias := doubles(c.In[1]), doubles(c.In[2])
	each := s.n / params // channels that share a parameter
	if !o.moments.Valid() {
		o.slow(c, s, groups, each, scale, bias)
		return nil
	}
	list, err := c.scratchFloats(2 * s.n)
	if err != nil {
		return err
	}
	for k := range s.n {
		list[k], list[s.n+k] = float32(scale[k/each]), float32(bias[k/each])
	}
	return c.inSlices(s.outer, func(x, out []float32, _, count int) {
		bindings.GroupNormF32(o.moments, o.affine, c.Pool, x, count, s.n, groups, s.inner, list[:s.n], list[s.n:], o.epsilon, out)
	})
}

// slow is for float64.
func (o *groupNorm) slow(c *Run, s reduceStep, groups, each int, scale, bias []float64) {
	x, out := doubles(c.In[0]), make([]float64, c.In[0].Len())
	n := s.n / groups * s.inner
	for g := range s.outer * groups {
		mean, variance := moments(x[g*n:(g+1)*n], true)
		inv := 1 / math.Sqrt(variance+float64(o.epsilon))
		for i := g * n; i < (g+1)*n; i++ {
			k := i / s.inner % s.n / each
			out[i] = (x[i]-mean)*inv*scale[k] + bias[k]
		}
	}
	putDoubles(c.Out[0], out)
}

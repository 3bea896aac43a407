package nn

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// BatchNorm scales and shifts each channel by given statistics or, in training, by the statistics
// of the input. Versions before 14 train if a node has more than one output.
type BatchNorm struct {
	Epsilon, Momentum float64
	Spatial           bool // statistics per channel, not per element of a sample
	Training          bool
	old               bool // before version 14, with outputs saved_mean and saved_var
}

func newBatchNorm(n *op.Node) (op.Op, error) {
	o := &BatchNorm{Epsilon: float64(n.Float("epsilon", 1e-5)), Momentum: float64(n.Float("momentum", 0.9)), Spatial: true}
	outputs := 0
	for i, name := range n.Outputs {
		if name != "" {
			outputs = i + 1
		}
	}
	if n.Since >= 14 {
		o.Training = n.Bool("training_mode", false)
		if outputs > 3 || outputs > 1 && !o.Training {
			return nil, graph.Errorf(graph.ErrFormat, "has %d outputs; the operator has 3 in training mode, else 1", outputs)
		}
		return o, nil
	}
	o.old = true
	o.Training = outputs > 1
	if n.Since < 9 {
		o.Spatial = n.Bool("spatial", true)
	}
	if n.Since < 7 {
		o.Training = !n.Bool("is_test", false) && outputs > 1
		if outputs > 1 && !o.Training {
			return nil, graph.Errorf(graph.ErrFormat, "has %d outputs although is_test is set", outputs)
		}
	}
	if n.Since == 1 {
		n.Ignore("consumed_inputs")
	}
	return o, nil
}

// Split returns the extents of x as [batch,channels,inner].
func (o *BatchNorm) Split(dims graph.Dims) (batch, channels, inner graph.Dim) {
	one := graph.Known(1)
	switch {
	case len(dims) < 2:
		return dims.Len(), one, one
	case !o.Spatial:
		return dims[0], dims[1:].Len(), one
	}
	return dims[0], dims[1], dims[2:].Len()
}

// Infer keeps the shape. The statistics have one axis.
func (o *BatchNorm) Infer(c *op.Infer) error {
	x := c.In[0]
	c.Set(0, x.DType, x.Dims)
	for i, v := range c.In[1:] {
		if !op.Floats.Has(v.DType) {
			return graph.Errorf(graph.ErrUnsupported, "input %d has element type %v; it takes %v", i+1, v.DType, op.Floats)
		}
		if x.Dims == nil || v.Dims == nil {
			continue
		}
		_, channels, _ := o.Split(x.Dims)
		if _, ok := kit.JoinDim(v.Dims.Len(), channels); !ok {
			return graph.Errorf(graph.ErrShape, "input %d has %v elements for %v channels", i+1, v.Dims.Len(), channels)
		}
	}
	if !o.Training {
		return nil
	}
	for i := 1; i < 5; i++ {
		if i < 3 || o.old {
			c.Set(i, c.In[3+(i-1)%2].DType, c.In[3+(i-1)%2].Dims)
		}
	}
	return nil
}

// Run computes the outputs. The first may share the memory of the input.
func (o *BatchNorm) Run(c *op.Run) error {
	batch, channels, inner := o.Split(graph.DimsOf(c.In[0].Shape()))
	s, _ := stepOf(batch, channels, inner, nil)
	mean, variance := kit.Doubles(c.In[3]), kit.Doubles(c.In[4])
	if o.Training {
		mean, variance = o.train(c, s, mean, variance)
	}
	scale, bias := kit.Doubles(c.In[1]), kit.Doubles(c.In[2])
	x, out, pace := kit.Doubles(c.In[0]), make([]float64, c.In[0].Len()), c.Pace()
	for i := range x {
		pace.Work(8)
		k := i / s.Inner % s.N
		out[i] = (x[i]-mean[k])*scale[k]/math.Sqrt(variance[k]+o.Epsilon) + bias[k]
	}
	kit.PutDoubles(c.Out[0], out)
	return nil
}

// train returns the statistics of the input and sets the outputs for statistics.
func (o *BatchNorm) train(c *op.Run, s kit.AxisView, mean, variance []float64) (_, _ []float64) {
	x := kit.Doubles(c.In[0])
	means, variances := make([]float64, s.N), make([]float64, s.N)
	channel, pace := make([]float64, 0, s.Outer*s.Inner), c.Pace()
	for k := range s.N {
		pace.Work(4 * s.Outer * s.Inner)
		channel = channel[:0]
		for b := range s.Outer {
			at := (b*s.N + k) * s.Inner
			channel = append(channel, x[at:at+s.Inner]...)
		}
		means[k], variances[k] = moments(channel, true)
	}
	running := func(old, now []float64) []float64 {
		list := make([]float64, len(now))
		for i := range now {
			list[i] = old[i]*o.Momentum + now[i]*(1-o.Momentum)
		}
		return list
	}
	for i, list := range [][]float64{running(mean, means), running(variance, variances), means, variances} {
		if i+1 < len(c.Out) {
			kit.PutDoubles(c.Out[i+1], list)
		}
	}
	return means, variances
}

// GroupNorm normalises consecutive channels of each sample together, then scales and shifts by
// channel. InstanceNormalization has one channel per group.
type GroupNorm struct {
	Epsilon  float32
	Groups   int  // 0 means one group per channel
	PerGroup bool // scale and bias have an element per group
}

func newInstanceNorm(n *op.Node) (op.Op, error) {
	if n.Since == 1 {
		n.Ignore("consumed_inputs")
	}
	return &GroupNorm{Epsilon: n.Float("epsilon", 1e-5)}, nil
}

func newGroupNorm(n *op.Node) (op.Op, error) {
	o := &GroupNorm{Epsilon: n.Float("epsilon", 1e-5), Groups: n.Int("num_groups", 0), PerGroup: n.Since < 21}
	if o.Groups < 1 {
		return nil, graph.Errorf(graph.ErrFormat, "num_groups is %d; it takes 1 or more", o.Groups)
	}
	if n.Since >= 21 {
		if _, err := stashType(n); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// Split returns the number of groups and the number of elements of scale and bias.
func (o *GroupNorm) Split(channels graph.Dim) (groups, params graph.Dim, err error) {
	if o.Groups == 0 {
		return channels, channels, nil
	}
	groups, params = graph.Known(o.Groups), channels
	if n, ok := channels.Value(); ok && n%o.Groups != 0 {
		return groups, params, graph.Errorf(graph.ErrShape, "%d channels do not divide into %d groups", n, o.Groups)
	}
	if o.PerGroup {
		params = groups
	}
	return groups, params, nil
}

// Infer keeps type and shape.
func (o *GroupNorm) Infer(c *op.Infer) error {
	x := c.In[0]
	c.Set(0, x.DType, x.Dims)
	for i, v := range c.In[1:] {
		if !op.Floats.Has(v.DType) {
			return graph.Errorf(graph.ErrUnsupported, "input %d has element type %v; it takes %v", i+1, v.DType, op.Floats)
		}
	}
	rank, ok := x.Rank()
	if !ok {
		return nil
	}
	if rank < 2 {
		return graph.Errorf(graph.ErrShape, "input %v has no channels; it takes [batch,channels,...]", x.Dims)
	}
	_, params, err := o.Split(x.Dims[1])
	if err != nil {
		return err
	}
	for _, v := range c.In[1:] {
		if v.Dims == nil {
			continue
		}
		if _, ok := kit.JoinDim(v.Dims.Len(), params); !ok {
			return graph.Errorf(graph.ErrShape, "scale or bias %v takes %v elements", v.Type, params)
		}
	}
	return nil
}

// Run computes the output, which may share the memory of the input.
func (o *GroupNorm) Run(c *op.Run) error {
	shape := c.In[0].Shape()
	s := kit.ViewAlong(shape, 1)
	scale, bias := kit.Doubles(c.In[1]), kit.Doubles(c.In[2])
	x, out := kit.Doubles(c.In[0]), make([]float64, c.In[0].Len())
	if len(x) == 0 {
		return nil
	}
	groups := o.Groups
	if groups == 0 {
		groups = s.N
	}
	each := s.N / len(scale) // channels per parameter
	n, pace := s.N/groups*s.Inner, c.Pace()
	for g := range s.Outer * groups {
		pace.Work(4 * n)
		mean, variance := moments(x[g*n:(g+1)*n], true)
		inv := 1 / math.Sqrt(variance+float64(o.Epsilon))
		for i := g * n; i < (g+1)*n; i++ {
			pace.Work(4)
			k := i / s.Inner % s.N / each
			out[i] = (x[i]-mean)*inv*scale[k] + bias[k]
		}
	}
	kit.PutDoubles(c.Out[0], out)
	return nil
}

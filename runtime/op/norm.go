package op

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// softmax is Softmax, LogSoftmax and Hardmax. Before version 13 the value is
// one of two axes, split before axis, and the second is normalised.
type softmax struct {
	axis   int
	flat   bool
	log    bool
	hard   bool
	kernel bindings.Kernel
}

func newSoftmax(log, hard bool) func(n *Node) (Op, error) {
	return func(n *Node) (Op, error) {
		if n.Since < 13 {
			return &softmax{axis: n.Int("axis", 1), flat: true, log: log, hard: hard}, nil
		}
		return &softmax{axis: n.Int("axis", -1), log: log, hard: hard}, nil
	}
}

// step returns the value as [outer, n, inner] with n to be normalised.
func (o *softmax) step(shape tensor.Shape) (reduceStep, error) {
	if len(shape) == 0 && !o.flat && (o.axis == 0 || o.axis == -1) {
		return reduceStep{1, 1, 1}, nil
	}
	if o.flat && o.axis == len(shape) {
		return reduceStep{shape.Len(), 1, 1}, nil
	}
	axis, err := normAxis(o.axis, len(shape))
	if err != nil {
		return reduceStep{}, err
	}
	if o.flat {
		return reduceStep{shape[:axis].Len(), shape[axis:].Len(), 1}, nil
	}
	return reduceStep{shape[:axis].Len(), shape[axis], shape[axis+1:].Len()}, nil
}

// Infer keeps type and shape.
func (o *softmax) Infer(c *Infer) error {
	if rank, ok := c.In[0].Rank(); ok {
		if _, err := o.step(make(tensor.Shape, rank)); err != nil {
			return err
		}
	}
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

// Prepare chooses the kernel.
func (o *softmax) Prepare(c *Prepare) (err error) {
	if isNarrow(c.DType(0)) && !o.hard {
		o.kernel, err = c.Kernel("f32_softmax")
	}
	return err
}

// Describe names the kernel.
func (o *softmax) Describe() string { return describe(o.kernel) }

// Run computes the output, which may lie over the input.
func (o *softmax) Run(c *Run) error {
	s, err := o.step(c.In[0].Shape())
	if err != nil || c.In[0].Len() == 0 {
		return err
	}
	if c.In[0].DType() == tensor.F64 {
		x, out := tensor.View[float64](c.In[0]), tensor.View[float64](c.Out[0])
		if o.hard {
			hardmax(x, s, out)
		} else {
			softmaxDoubles(x, s, o.log, out)
		}
		return nil
	}
	return c.inSlices(s.outer, func(x, out []float32, _, count int) {
		if o.hard {
			hardmax(x, reduceStep{count, s.n, s.inner}, out)
		} else {
			bindings.SoftmaxF32(o.kernel, c.Pool, x, count, s.n, s.inner, o.log, out)
		}
	})
}

// each calls f with the position of every element before the middle axis.
func (s reduceStep) each(f func(at int)) {
	for a := range s.outer {
		for i := range s.inner {
			f(a*s.n*s.inner + i)
		}
	}
}

// hardmax is 1 at the first largest element and 0 elsewhere.
func hardmax[T float32 | float64](x []T, s reduceStep, out []T) {
	s.each(func(at int) {
		best := at
		for k := 1; k < s.n; k++ {
			if p := at + k*s.inner; beyond(x[p], x[best]) {
				best = p
			}
		}
		for k := range s.n {
			out[at+k*s.inner] = 0
		}
		out[best] = 1
	})
}

func softmaxDoubles(x []float64, s reduceStep, log bool, out []float64) {
	s.each(func(at int) {
		top, sum := math.Inf(-1), 0.0
		for k := range s.n {
			top = max(top, x[at+k*s.inner])
		}
		for k := range s.n {
			sum += math.Exp(x[at+k*s.inner] - top)
		}
		for k := range s.n {
			p := at + k*s.inner
			if log {
				out[p] = x[p] - top - math.Log(sum)
			} else {
				out[p] = math.Exp(x[p]-top) / sum
			}
		}
	})
}

// lrn divides by a power of the squares around each channel.
type lrn struct {
	size              int
	alpha, beta, bias float32
	kernel            bindings.Kernel
}

func newLRN(n *Node) (Op, error) {
	o := &lrn{size: n.Int("size", 0), alpha: n.Float("alpha", 0.0001), beta: n.Float("beta", 0.75), bias: n.Float("bias", 1)}
	if o.size < 1 {
		return nil, graph.Mark(graph.ErrFormat, "size is %d; it takes 1 or more", o.size)
	}
	return o, nil
}

// Infer keeps type and shape.
func (o *lrn) Infer(c *Infer) error {
	if rank, ok := c.In[0].Rank(); ok && rank < 2 {
		return graph.Mark(graph.ErrShape, "input %v has no channels; it takes [batch,channels,...]", c.In[0].Dims)
	}
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

// Prepare chooses the kernel.
func (o *lrn) Prepare(c *Prepare) (err error) {
	if isNarrow(c.DType(0)) {
		o.kernel, err = c.Kernel("f32_lrn")
	}
	return err
}

// Describe names the kernel.
func (o *lrn) Describe() string { return describe(o.kernel) }

// Run computes the output.
func (o *lrn) Run(c *Run) error {
	shape := c.In[0].Shape()
	if shape.Len() == 0 {
		return nil
	}
	s := reduceStep{shape[0], shape[1], shape[2:].Len()}
	size := min(o.size, 2*s.n+2-o.size%2) // of the same parity, beyond every channel
	if c.In[0].DType() == tensor.F64 {
		o.doubles(tensor.View[float64](c.In[0]), s, tensor.View[float64](c.Out[0]))
		return nil
	}
	return c.inSlices(s.outer, func(x, out []float32, _, count int) {
		bindings.LRNF32(o.kernel, c.Pool, x, count, s.n, s.inner, size, o.alpha/float32(o.size), o.beta, o.bias, out)
	})
}

func (o *lrn) doubles(x []float64, s reduceStep, out []float64) {
	s.each(func(at int) {
		for k := range s.n {
			sum := 0.0
			for j := max(k-(o.size-1)/2, 0); j < s.n && j-k <= o.size/2; j++ {
				sum += x[at+j*s.inner] * x[at+j*s.inner]
			}
			p := at + k*s.inner
			out[p] = x[p] / math.Pow(float64(o.bias)+float64(o.alpha)/float64(o.size)*sum, float64(o.beta))
		}
	})
}

// lpNorm divides by the norm along an axis; where that is 0 the output is 0.
type lpNorm struct{ axis, p int }

func newLpNorm(n *Node) (Op, error) {
	o := &lpNorm{n.Int("axis", -1), n.Int("p", 2)}
	if o.p != 1 && o.p != 2 {
		return nil, graph.Mark(graph.ErrFormat, "p is %d; it takes 1 or 2", o.p)
	}
	return o, nil
}

// Infer keeps type and shape.
func (o *lpNorm) Infer(c *Infer) error {
	if rank, ok := c.In[0].Rank(); ok {
		if _, err := normAxis(o.axis, rank); err != nil {
			return err
		}
	}
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

// Run computes the output, which may lie over the input.
func (o *lpNorm) Run(c *Run) error {
	shape := c.In[0].Shape()
	axis, err := normAxis(o.axis, len(shape))
	if err != nil || shape.Len() == 0 {
		return err
	}
	s := reduceStep{shape[:axis].Len(), shape[axis], shape[axis+1:].Len()}
	if c.In[0].DType() == tensor.F64 {
		lpNormalize(tensor.View[float64](c.In[0]), s, o.p, tensor.View[float64](c.Out[0]))
		return nil
	}
	return c.inSlices(s.outer, func(x, out []float32, _, count int) {
		lpNormalize(x, reduceStep{count, s.n, s.inner}, o.p, out)
	})
}

func lpNormalize[T float32 | float64](x []T, s reduceStep, p int, out []T) {
	s.each(func(at int) {
		norm := 0.0
		for k := range s.n {
			v := float64(x[at+k*s.inner])
			if p == 1 {
				norm += math.Abs(v)
			} else {
				norm += v * v
			}
		}
		if p == 2 {
			norm = math.Sqrt(norm)
		}
		for k := range s.n {
			if q := at + k*s.inner; norm == 0 {
				out[q] = 0
			} else {
				out[q] = T(float64(x[q]) / norm)
			}
		}
	})
}

// meanVariance brings the elements along some axes to mean 0 and variance 1.
type meanVariance struct{ axes []int }

func newMeanVariance(n *Node) (Op, error) {
	o := &meanVariance{[]int{0, 2, 3}}
	if n.Has("axes") {
		o.axes = n.Ints("axes")
	}
	return o, nil
}

// Infer keeps type and shape.
func (o *meanVariance) Infer(c *Infer) error {
	if rank, ok := c.In[0].Rank(); ok {
		if _, err := normAxes(o.axes, rank); err != nil {
			return err
		}
	}
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

// Run computes the output.
func (o *meanVariance) Run(c *Run) error {
	shape := c.In[0].Shape()
	axes, err := normAxes(o.axes, len(shape))
	if err != nil || shape.Len() == 0 {
		return err
	}
	reduced := make([]bool, len(shape))
	for i := range reduced {
		reduced[i] = slices.Contains(axes, i)
	}
	if c.In[0].DType() == tensor.F64 {
		standardize(tensor.View[float64](c.In[0]), shape, reduced, tensor.View[float64](c.Out[0]))
		return nil
	}
	x, out, err := c.floatsInOut()
	if err != nil {
		return err
	}
	standardize(x, shape, reduced, out)
	c.putFloats(c.Out[0], out)
	return nil
}

// standardize subtracts the mean and divides by the standard deviation, to
// which the standard's definition adds 1e-9.
func standardize[T float32 | float64](x []T, shape tensor.Shape, reduced []bool, out []T) {
	type stats struct{ n, mean, squares float64 }
	groups := 1
	for i, n := range shape {
		if !reduced[i] {
			groups *= n
		}
	}
	acc := make([]*stats, groups)
	for i := range acc {
		acc[i] = &stats{}
	}
	member := make([]*stats, 0, len(x)) // of each element
	accumulate(x, shape, reduced, acc, func(a *stats, v T) *stats {
		a.n++
		d := float64(v) - a.mean
		a.mean += d / a.n
		a.squares += d * (float64(v) - a.mean)
		member = append(member, a)
		return a
	})
	for i, v := range x {
		a := member[i]
		out[i] = T((float64(v) - a.mean) / (math.Sqrt(a.squares/a.n) + 1e-9))
	}
}

var normRows = []Row{
	{Name: "Softmax", Since: []int{1, 11, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: floats, InPlace: []int{0}, New: newSoftmax(false, false)},
	{Name: "LogSoftmax", Since: []int{1, 11, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: floats, InPlace: []int{0}, New: newSoftmax(true, false)},
	{Name: "Hardmax", Since: []int{1, 11, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: floats, New: newSoftmax(false, true)},
	{Name: "LRN", Since: []int{1, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: floats, New: newLRN},
	{Name: "LpNormalization", Since: []int{1, 22}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: floats, New: newLpNorm},
	{Name: "MeanVarianceNormalization", Since: []int{9, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: floats, New: newMeanVariance},
	{Name: "BatchNormalization", Since: []int{1, 6, 7, 9, 14, 15}, In: [2]int{5, 5}, Out: [2]int{1, 5}, Types: floats, InPlace: []int{0}, New: newBatchNorm},
	{Name: "InstanceNormalization", Since: []int{1, 6, 22}, In: [2]int{3, 3}, Out: [2]int{1, 1}, Types: floats, InPlace: []int{0}, New: newInstanceNorm},
	{Name: "GroupNormalization", Since: []int{18, 21}, In: [2]int{3, 3}, Out: [2]int{1, 1}, Types: floats, InPlace: []int{0}, New: newGroupNorm},
	// Before the standard had it, ONNX Runtime had it in the standard's domain, and its tools write it so.
	{Name: "LayerNormalization", Since: []int{1, 17}, In: [2]int{2, 3}, Out: [2]int{1, 3}, Types: floats, InPlace: []int{0}, New: newLayerNorm},
	{Name: "RMSNormalization", Since: []int{23}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: floats, InPlace: []int{0}, New: newRMSNorm},
}

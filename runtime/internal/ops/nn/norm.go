package nn

import (
	"math"
	"slices"
	"unsafe"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Softmax is Softmax, LogSoftmax and Hardmax.
type Softmax struct {
	Axis int
	Flat bool // before version 13: the axes from Axis on count as one
	Log  bool // LogSoftmax
	Hard bool // Hardmax
}

func newSoftmax(log, hard bool) func(n *op.Node) (op.Op, error) {
	return func(n *op.Node) (op.Op, error) {
		if n.Since < 13 {
			return &Softmax{Axis: n.Int("axis", 1), Flat: true, Log: log, Hard: hard}, nil
		}
		return &Softmax{Axis: n.Int("axis", -1), Log: log, Hard: hard}, nil
	}
}

// Split returns the extents of a value as [outer,n,inner]; n is normalised.
func (o *Softmax) Split(dims graph.Dims) (outer, n, inner graph.Dim, err error) {
	one := graph.Known(1)
	if len(dims) == 0 && !o.Flat && (o.Axis == 0 || o.Axis == -1) {
		return one, one, one, nil
	}
	if o.Flat && o.Axis == len(dims) {
		return dims.Len(), one, one, nil
	}
	axis, err := op.NormAxis(o.Axis, len(dims))
	if err != nil {
		return one, one, one, err
	}
	if o.Flat {
		return dims[:axis].Len(), dims[axis:].Len(), one, nil
	}
	return dims[:axis].Len(), dims[axis], dims[axis+1:].Len(), nil
}

// Infer keeps type and shape.
func (o *Softmax) Infer(c *op.Infer) error {
	if c.In[0].Dims != nil {
		if _, _, _, err := o.Split(c.In[0].Dims); err != nil {
			return err
		}
	}
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

// Run computes the output, which may share the memory of the input.
func (o *Softmax) Run(c *op.Run) error {
	s, err := stepOf(o.Split(graph.DimsOf(c.In[0].Shape())))
	if err != nil || c.In[0].Len() == 0 {
		return err
	}
	switch x := c.In[0]; {
	case !o.Hard:
		list := make([]float64, x.Len())
		SoftmaxDoubles(c.Pace(), kit.Doubles(x), s, o.Log, list)
		kit.PutDoubles(c.Out[0], list)
	case x.DType() == tensor.F64:
		hardmax(c.Pace(), tensor.View[float64](x), s, tensor.View[float64](c.Out[0]))
	default:
		return c.InSlices(s.Outer, func(x, out []float32, _, count int) {
			hardmax(c.Pace(), x, kit.AxisView{Outer: count, N: s.N, Inner: s.Inner}, out)
		})
	}
	return nil
}

// stepOf returns the view for extents that are numbers.
func stepOf(outer, n, inner graph.Dim, err error) (s kit.AxisView, _ error) {
	s.Outer, _ = outer.Value()
	s.N, _ = n.Value()
	s.Inner, _ = inner.Value()
	return s, err
}

// hardmax sets the first largest element to 1 and the others to 0.
func hardmax[T float32 | float64](pace *op.Pace, x []T, s kit.AxisView, out []T) {
	s.Each(pace, func(at int) {
		best := at
		for k := 1; k < s.N; k++ {
			if p := at + k*s.Inner; arith.Beyond(x[p], x[best]) {
				best = p
			}
		}
		for k := range s.N {
			out[at+k*s.Inner] = 0
		}
		out[best] = 1
	})
}

// SoftmaxDoubles sets out to the softmax along the axis of s, or, with log, to its logarithm.
func SoftmaxDoubles(pace *op.Pace, x []float64, s kit.AxisView, log bool, out []float64) {
	s.Each(pace, func(at int) {
		top, sum := math.Inf(-1), 0.0
		for k := range s.N {
			top = max(top, x[at+k*s.Inner])
		}
		for k := range s.N {
			pace.Work(16)
			sum += math.Exp(x[at+k*s.Inner] - top)
		}
		for k := range s.N {
			p := at + k*s.Inner
			if log {
				out[p] = x[p] - top - math.Log(sum)
			} else {
				out[p] = math.Exp(x[p]-top) / sum
			}
		}
	})
}

// LRN divides each element by a power of the sum of squares over the channels around it.
type LRN struct {
	Size              int // of the window, in channels
	Alpha, Beta, Bias float32
}

func newLRN(n *op.Node) (op.Op, error) {
	o := &LRN{Size: n.Int("size", 0), Alpha: n.Float("alpha", 0.0001), Beta: n.Float("beta", 0.75),
		Bias: n.Float("bias", 1)}
	if o.Size < 1 {
		return nil, graph.Errorf(graph.ErrFormat, "size is %d; it takes 1 or more", o.Size)
	}
	return o, nil
}

// Infer keeps type and shape.
func (o *LRN) Infer(c *op.Infer) error {
	if rank, ok := c.In[0].Rank(); ok && rank < 2 {
		return graph.Errorf(graph.ErrShape, "input %v has no channels; it takes [batch,channels,...]", c.In[0].Dims)
	}
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

// Run computes the output.
func (o *LRN) Run(c *op.Run) error {
	shape := c.In[0].Shape()
	s := kit.ViewAlong(shape, 1)
	x, out, pace := kit.Doubles(c.In[0]), make([]float64, c.In[0].Len()), c.Pace()
	s.Each(pace, func(at int) {
		for k := range s.N {
			pace.Work(64 + min(o.Size, s.N))
			sum := 0.0
			for j := max(k-(o.Size-1)/2, 0); j < s.N && j-k <= o.Size/2; j++ {
				sum += x[at+j*s.Inner] * x[at+j*s.Inner]
			}
			p := at + k*s.Inner
			out[p] = x[p] / math.Pow(float64(o.Bias)+float64(o.Alpha)/float64(o.Size)*sum, float64(o.Beta))
		}
	})
	kit.PutDoubles(c.Out[0], out)
	return nil
}

// LpNorm divides by the norm along an axis. If the norm is 0, the output is 0.
type LpNorm struct{ Axis, P int }

func newLpNorm(n *op.Node) (op.Op, error) {
	o := &LpNorm{n.Int("axis", -1), n.Int("p", 2)}
	if o.P != 1 && o.P != 2 {
		return nil, graph.Errorf(graph.ErrFormat, "p is %d; it takes 1 or 2", o.P)
	}
	return o, nil
}

// Infer keeps type and shape.
func (o *LpNorm) Infer(c *op.Infer) error {
	if rank, ok := c.In[0].Rank(); ok {
		if _, err := op.NormAxis(o.Axis, rank); err != nil {
			return err
		}
	}
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

// Run computes the output, which may share the memory of the input.
func (o *LpNorm) Run(c *op.Run) error {
	shape := c.In[0].Shape()
	axis, err := op.NormAxis(o.Axis, len(shape))
	if err != nil || shape.Len() == 0 {
		return err
	}
	s := kit.ViewAlong(shape, axis)
	if c.In[0].DType() == tensor.F64 {
		lpNormalize(c.Pace(), tensor.View[float64](c.In[0]), s, o.P, tensor.View[float64](c.Out[0]))
		return nil
	}
	return c.InSlices(s.Outer, func(x, out []float32, _, count int) {
		lpNormalize(c.Pace(), x, kit.AxisView{Outer: count, N: s.N, Inner: s.Inner}, o.P, out)
	})
}

func lpNormalize[T float32 | float64](pace *op.Pace, x []T, s kit.AxisView, p int, out []T) {
	s.Each(pace, func(at int) {
		norm := 0.0
		switch {
		case p == 2 && s.Inner == 1:
			norm = math.Sqrt(squares(x[at:][:s.N]))
		case p == 2:
			for k := range s.N {
				v := float64(x[at+k*s.Inner])
				norm += v * v
			}
			norm = math.Sqrt(norm)
		default:
			for k := range s.N {
				norm += math.Abs(float64(x[at+k*s.Inner]))
			}
		}
		switch {
		case norm == 0:
			for k := range s.N {
				out[at+k*s.Inner] = 0
			}
		case s.Inner == 1 && unsafe.Sizeof(T(0)) == 4:
			by, row := 1/norm, out[at:][:s.N] // float32 rounds the same, except ties
			for k, v := range x[at:][:s.N] {
				row[k] = T(float64(v) * by)
			}
		default:
			for k := range s.N {
				q := at + k*s.Inner
				out[q] = T(float64(x[q]) / norm)
			}
		}
	})
}

// MeanVariance scales the elements along some axes to mean 0 and variance 1.
type MeanVariance struct {
	axes []int // nil for axes 0, 2 and 3, as far as the value has them
}

func newMeanVariance(n *op.Node) (op.Op, error) {
	o := &MeanVariance{}
	if n.Has("axes") {
		o.axes = append([]int{}, n.Ints("axes")...)
	}
	return o, nil
}

// Axes returns the axes that are normalised together in a value of the given rank.
func (o *MeanVariance) Axes(rank int) ([]int, error) {
	if o.axes != nil {
		return kit.NormAxes(o.axes, rank)
	}
	return slices.DeleteFunc([]int{0, 2, 3}, func(a int) bool { return a >= rank }), nil
}

// Infer keeps type and shape.
func (o *MeanVariance) Infer(c *op.Infer) error {
	if rank, ok := c.In[0].Rank(); ok {
		if _, err := o.Axes(rank); err != nil {
			return err
		}
	}
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

// Run computes the output.
func (o *MeanVariance) Run(c *op.Run) error {
	shape := c.In[0].Shape()
	axes, err := o.Axes(len(shape))
	if err != nil || shape.Len() == 0 {
		return err
	}
	reduced := make([]bool, len(shape))
	for i := range reduced {
		reduced[i] = slices.Contains(axes, i)
	}
	if c.In[0].DType() == tensor.F64 {
		standardize(c.Pace(), tensor.View[float64](c.In[0]), shape, reduced, tensor.View[float64](c.Out[0]))
		return nil
	}
	x, out, err := c.FloatsInOut()
	if err != nil {
		return err
	}
	standardize(c.Pace(), x, shape, reduced, out)
	c.PutFloats(c.Out[0], out)
	return nil
}

// standardize subtracts the mean and divides by the standard deviation plus 1e-9, as the standard
// defines.
func standardize[T float32 | float64](pace *op.Pace, x []T, shape tensor.Shape, reduced []bool, out []T) {
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
	member := make([]*stats, 0, len(x)) // the group of each element
	arith.Accumulate(pace, x, shape, reduced, acc, func(a *stats, v T) *stats {
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

// rowsOfSoftmax is Rowwise of Softmax and its siblings. Before version 13 they merge axes.
func rowsOfSoftmax(n *graph.Node, in []*op.Value, rank int) []int {
	if n.Version < 13 {
		return nil
	}
	return kit.RowsAlongLast(-1, 0)(n, in, rank)
}

// rowsOfNorm is Rowwise of normalizations with a scale, and possibly a shift, of one matrix row.
func rowsOfNorm(n *graph.Node, in []*op.Value, rank int) []int {
	if slices.ContainsFunc(in[1:], kit.MayHaveRows) {
		return nil
	}
	return kit.RowsAlongLast(-1, 0)(n, in, rank)
}

var normRows = []op.Row{
	{Name: "Softmax", Since: []int{1, 11, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Floats, InPlace: []int{0}, Heap: 8, Rowwise: rowsOfSoftmax, Items: itemsOfSoftmax, New: newSoftmax(false, false)},
	{Name: "LogSoftmax", Since: []int{1, 11, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Floats, InPlace: []int{0}, Heap: 8, Rowwise: rowsOfSoftmax, Items: itemsOfSoftmax, New: newSoftmax(true, false)},
	{Name: "Hardmax", Since: []int{1, 11, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Floats, Rowwise: rowsOfSoftmax, Items: itemsOfSoftmax, New: newSoftmax(false, true)},
	{Name: "LRN", Since: []int{1, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Floats, Heap: 8, Items: kit.ItemsFirst(0), New: newLRN},
	{Name: "LpNormalization", Since: []int{1, 22}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Floats, Items: kit.ItemsBeside(-1), New: newLpNorm},
	{Name: "MeanVarianceNormalization", Since: []int{9, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Floats, Heap: 8, Items: itemsOfMeanVariance, New: newMeanVariance},
	{Name: "BatchNormalization", Since: []int{1, 6, 7, 9, 14, 15}, In: [2]int{5, 5}, Out: [2]int{1, 5}, Types: op.Floats, InPlace: []int{0}, Heap: 8, Items: kit.ItemsFirstOnly(0), New: newBatchNorm},
	{Name: "InstanceNormalization", Since: []int{1, 6, 22}, In: [2]int{3, 3}, Out: [2]int{1, 1}, Types: op.Floats, InPlace: []int{0}, Heap: 8, Items: kit.ItemsFirst(0), New: newInstanceNorm},
	{Name: "GroupNormalization", Since: []int{18, 21}, In: [2]int{3, 3}, Out: [2]int{1, 1}, Types: op.Floats, InPlace: []int{0}, Heap: 8, Items: kit.ItemsFirst(0), New: newGroupNorm},
	// ONNX Runtime had the operator in the standard's domain before the standard had it, and its
	// tools write version 1.
	{Name: "LayerNormalization", Since: []int{1, 17}, In: [2]int{2, 3}, Out: [2]int{1, 3}, Types: op.Floats, InPlace: []int{0}, Heap: 24, Rowwise: rowsOfNorm, Items: itemsBefore(-1), New: newLayerNorm},
	{Name: "RMSNormalization", Since: []int{23}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: op.Floats, InPlace: []int{0}, Heap: 16, Rowwise: rowsOfNorm, Items: itemsBefore(-1), New: newRMSNorm},
}

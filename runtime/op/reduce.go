package op

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// reducer is what tells one Reduce operator from another.
type reducer struct {
	name  string
	fast  bool // the kernels of f32_reduce compute it, followed by root
	first bindings.Reduction
	mean  bool                  // divide by the number of elements
	root  func(float64) float64 // applied to the result; nil for none
	logs  bool                  // the logarithm of the sum of exponentials
}

var reducers = []reducer{
	{name: "ReduceSum", fast: true, first: bindings.ReduceSum},
	{name: "ReduceMean", fast: true, first: bindings.ReduceSum, mean: true},
	{name: "ReduceMax", fast: true, first: bindings.ReduceMax},
	{name: "ReduceMin", fast: true, first: bindings.ReduceMin},
	{name: "ReduceProd", fast: true, first: bindings.ReduceProd},
	{name: "ReduceL1", fast: true, first: bindings.ReduceSumAbs},
	{name: "ReduceL2", fast: true, first: bindings.ReduceSumSquare, root: math.Sqrt},
	{name: "ReduceSumSquare", fast: true, first: bindings.ReduceSumSquare},
	{name: "ReduceLogSum", fast: true, first: bindings.ReduceSum, root: math.Log},
	{name: "ReduceLogSumExp", logs: true},
}

type reduce struct {
	*reducer
	attr   []int // axes where they are an attribute
	input  bool  // axes are input 1
	keep   bool
	noop   bool // no axes means none, not all
	kernel bindings.Kernel
}

func newReduce(r *reducer) func(n *Node) (Op, error) {
	return func(n *Node) (Op, error) {
		o := &reduce{reducer: r, keep: n.Bool("keepdims", true)}
		if o.input = n.Since >= 18 || n.Since >= 13 && r.name == "ReduceSum"; o.input {
			o.noop = n.Bool("noop_with_empty_axes", false)
			return o, nil
		}
		o.attr = n.Ints("axes")
		if n.HasIn(1) {
			return nil, graph.Mark(graph.ErrFormat, "axes became an input in a later version; here they are an attribute")
		}
		return o, nil
	}
}

// reducedAxes says for each axis whether it is reduced.
func (o *reduce) reducedAxes(axes []int, rank int) ([]bool, error) {
	list, err := normAxes(axes, rank)
	if err != nil {
		return nil, err
	}
	reduced := make([]bool, rank)
	for i := range reduced {
		reduced[i] = len(list) == 0 && !o.noop || slices.Contains(list, i)
	}
	return reduced, nil
}

// Infer leaves the extents open while the axes are unknown.
func (o *reduce) Infer(c *Infer) error {
	x := c.In[0]
	rank, ok := x.Rank()
	axes, known := o.attr, true
	if o.input && c.Has(1) {
		axes, known = inferAxes(c.In[1])
	}
	switch {
	case !ok && known && len(axes) == 0 && !o.keep && !o.noop:
		c.Set(0, x.DType, graph.Dims{})
		return nil
	case !ok:
		c.Set(0, x.DType, nil)
		return nil
	case !known && o.keep:
		c.Set(0, x.DType, graph.UnknownDims(rank))
		return nil
	case !known:
		c.Set(0, x.DType, nil)
		return nil
	}
	reduced, err := o.reducedAxes(axes, rank)
	if err != nil {
		return err
	}
	c.Set(0, x.DType, reducedDims(x.Dims, reduced, o.keep))
	return nil
}

// inferAxes returns the numbers of an input of axes, if all are known.
func inferAxes(v *Value) (axes []int, known bool) {
	dims, ok := v.IntVec()
	if !ok {
		return nil, len(v.Dims) == 1 && v.Dims[0].Is(0)
	}
	for _, d := range dims {
		n, ok := d.Value()
		if !ok {
			return nil, false
		}
		axes = append(axes, n)
	}
	return axes, true
}

func reducedDims(in graph.Dims, reduced []bool, keep bool) graph.Dims {
	out := graph.Dims{}
	for i, d := range in {
		if !reduced[i] {
			out = append(out, d)
		} else if keep {
			out = append(out, graph.Known(1))
		}
	}
	return out
}

// Prepare chooses the kernel.
func (o *reduce) Prepare(c *Prepare) (err error) {
	if o.fast && isNarrow(c.DType(0)) {
		o.kernel, err = c.Kernel("f32_reduce")
	}
	return err
}

// Describe names the kernel.
func (o *reduce) Describe() string { return describe(o.kernel) }

// describe names kernels that were chosen.
func describe(kernels ...bindings.Kernel) string {
	s := ""
	for _, k := range kernels {
		if k.Valid() {
			if s != "" {
				s += " "
			}
			s += k.Op() + "/" + k.Variant()
		}
	}
	return s
}

// Run computes the output.
func (o *reduce) Run(c *Run) error {
	x, axes := c.In[0], o.attr
	if o.input && c.Has(1) {
		var err error
		if axes, err = Ints(c.In[1]); err != nil {
			return err
		}
	}
	reduced, err := o.reducedAxes(axes, len(x.Shape()))
	if err != nil {
		return err
	}
	shape, _ := reducedDims(graph.DimsOf(x.Shape()), reduced, o.keep).Concrete()
	out, err := c.output(0, x.DType(), shape)
	if err != nil || out.Len() == 0 {
		return err
	}
	if o.kernel.Valid() && x.Len() > 0 {
		return o.runFast(c, x, reduced, out)
	}
	return reduceAny(o.reducer, x, reduced, out)
}

// runFast reduces one run of neighbouring axes after another, the last first.
// All but the first reduction join partial results.
func (o *reduce) runFast(c *Run, t *tensor.Tensor, reduced []bool, out *tensor.Tensor) error {
	dst, err := c.floatsFor(out)
	if err != nil {
		return err
	}
	var x []float32
	steps := reduceSteps(t.Shape(), reduced)
	op, scale := o.first, 1.0
	for i, s := range steps {
		to := dst
		if i < len(steps)-1 {
			if to, err = c.scratchFloats(s.outer * s.inner); err != nil {
				return err
			}
		} else if o.mean {
			scale = float64(out.Len()) / float64(t.Len())
		}
		if i == 0 {
			err = o.reduceFirst(c, t, s, op, scale, to)
		} else {
			bindings.ReduceF32(o.kernel, c.Pool, x, s.outer, s.n, s.inner, op, scale, to)
		}
		if err != nil {
			return err
		}
		x = to
		if op == bindings.ReduceSumSquare || op == bindings.ReduceSumAbs {
			op = bindings.ReduceSum
		}
	}
	if o.root != nil {
		for i, v := range dst {
			dst[i] = float32(o.root(float64(v)))
		}
	}
	c.putFloats(out, dst)
	return nil
}

// reduceFirst is the first step, the one that reads the input.
func (o *reduce) reduceFirst(c *Run, t *tensor.Tensor, s reduceStep, op bindings.Reduction, scale float64, to []float32) error {
	size, step := s.n*s.inner, s.outer
	if t.DType() != tensor.F32 {
		step = min(step, max(1, stripFloats/size))
	}
	from, err := c.strip(t, step*size)
	for at := 0; err == nil && at < s.outer; at += step {
		count := min(step, s.outer-at)
		bindings.ReduceF32(o.kernel, c.Pool, from.load(at*size, count*size), count, s.n, s.inner, op, scale, to[at*s.inner:][:count*s.inner])
	}
	return err
}

// A reduceStep takes the middle axis out of a value [outer, n, inner].
type reduceStep struct{ outer, n, inner int }

// reduceSteps returns at least one step; none of the extents may be 0.
func reduceSteps(shape tensor.Shape, reduced []bool) []reduceStep {
	var steps []reduceStep
	inner := 1
	for i := len(shape) - 1; i >= 0; i-- {
		if !reduced[i] {
			inner *= shape[i]
			continue
		}
		n := shape[i]
		for i > 0 && (reduced[i-1] || shape[i-1] == 1) {
			i--
			n *= shape[i]
		}
		if n > 1 {
			steps = append(steps, reduceStep{shape[:i].Len(), n, inner})
		}
	}
	if steps == nil {
		steps = append(steps, reduceStep{1, 1, shape.Len()})
	}
	return steps
}

var reduceRows = slices.Concat(
	reduceRow("ReduceSum", nil, 1, 11, 13),
	reduceRow("ReduceMean", nil, 1, 11, 13, 18),
	reduceRow("ReduceMax", boolean, 1, 11, 12, 13, 18, 20),
	reduceRow("ReduceMin", boolean, 1, 11, 12, 13, 18, 20),
	reduceRow("ReduceProd", nil, 1, 11, 13, 18),
	reduceRow("ReduceL1", nil, 1, 11, 13, 18),
	reduceRow("ReduceL2", nil, 1, 11, 13, 18),
	reduceRow("ReduceSumSquare", nil, 1, 11, 13, 18),
	reduceRow("ReduceLogSum", nil, 1, 11, 13, 18),
	reduceRow("ReduceLogSumExp", nil, 1, 11, 13, 18),
	[]Row{
		{Name: "ArgMax", Since: []int{1, 11, 12, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: numeric, New: newArgReduce(true)},
		{Name: "ArgMin", Since: []int{1, 11, 12, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: numeric, New: newArgReduce(false)},
		{Name: "CumSum", Since: []int{11, 14}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: numeric, New: newCumulate(false)},
		{Name: "CumProd", Since: []int{26}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: productTypes, New: newCumulate(true)},
	},
)

func reduceRow(name string, more Types, since ...int) []Row {
	i := slices.IndexFunc(reducers, func(r reducer) bool { return r.name == name })
	return []Row{{Name: name, Since: since, In: [2]int{1, 2}, Out: [2]int{1, 1}, Types: slices.Concat(numeric, more), New: newReduce(&reducers[i])}}
}

package arith

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Reduction is the first step of a Reduce operator.
type Reduction int

// The reductions, in the order of nacre_reduce_op in csrc/reduce/reduce.h.
const (
	ReduceSum Reduction = iota
	ReduceSumSquare
	ReduceSumAbs
	ReduceProd
	ReduceMax // NaN if there is one
	ReduceMin // NaN if there is one
)

// Root is a function applied to the result of a reduction.
type Root int

// The roots, in the order of nacre_reduce_root in csrc/reduce/reduce.h.
const (
	RootNone Root = iota
	RootSqrt
	RootLog
)

// of applies the function to v.
func (r Root) of(v float64) float64 {
	switch r {
	case RootSqrt:
		return math.Sqrt(v)
	case RootLog:
		return math.Log(v)
	}
	return v
}

// Reducer describes the computation of a Reduce operator.
type Reducer struct {
	name  string
	First Reduction
	Mean  bool // divide by the number of elements
	Root  Root
	Logs  bool // compute the logarithm of the sum of exponentials; First is ignored
}

var reducers = []Reducer{
	{name: "ReduceSum", First: ReduceSum},
	{name: "ReduceMean", First: ReduceSum, Mean: true},
	{name: "ReduceMax", First: ReduceMax},
	{name: "ReduceMin", First: ReduceMin},
	{name: "ReduceProd", First: ReduceProd},
	{name: "ReduceL1", First: ReduceSumAbs},
	{name: "ReduceL2", First: ReduceSumSquare, Root: RootSqrt},
	{name: "ReduceSumSquare", First: ReduceSumSquare},
	{name: "ReduceLogSum", First: ReduceSum, Root: RootLog},
	{name: "ReduceLogSumExp", Logs: true},
}

// Reduce is one of the Reduce operators.
type Reduce struct {
	*Reducer
	attr  []int // axes if they are an attribute
	input bool  // axes are input 1
	keep  bool
	noop  bool // an empty list of axes means none, not all
}

func newReduce(r *Reducer) func(n *op.Node) (op.Op, error) {
	return func(n *op.Node) (op.Op, error) {
		o := &Reduce{Reducer: r, keep: n.Bool("keepdims", true)}
		if o.input = n.Since >= 18 || n.Since >= 13 && r.name == "ReduceSum"; o.input {
			o.noop = n.Bool("noop_with_empty_axes", false)
			return o, nil
		}
		o.attr = n.Ints("axes")
		if n.HasIn(1) {
			return nil, graph.Errorf(graph.ErrFormat, "axes became an input in a later version; here they are an attribute")
		}
		return o, nil
	}
}

// reducedAxes reports for each axis whether it is reduced. A scalar counts as a vector of one
// element, so the list may name axis 0 or -1.
func (o *Reduce) reducedAxes(axes []int, rank int) ([]bool, error) {
	if rank == 0 {
		_, err := kit.NormAxes(axes, 1)
		return nil, err
	}
	list, err := kit.NormAxes(axes, rank)
	if err != nil {
		return nil, err
	}
	reduced := make([]bool, rank)
	for i := range reduced {
		reduced[i] = len(list) == 0 && !o.noop || slices.Contains(list, i)
	}
	return reduced, nil
}

// Infer leaves the extents unknown if the axes are unknown.
func (o *Reduce) Infer(c *op.Infer) error {
	x := c.In[0]
	rank, ok := x.Rank()
	if n, given := o.count(c.In); given && ok {
		if err := kit.CountAxes(n, max(rank, 1)); err != nil {
			return err
		}
	}
	axes, known := o.axes(c.In)
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

// axes returns the axes that the node names, if known.
func (o *Reduce) axes(in []*op.Value) ([]int, bool) {
	if o.input && len(in) > 1 && in[1] != nil {
		return inferAxes(in[1])
	}
	return o.attr, true
}

// count returns the number of axes in input 1, if known.
func (o *Reduce) count(in []*op.Value) (int, bool) {
	if !o.input || len(in) < 2 || in[1] == nil || in[1].Dims == nil {
		return 0, false
	}
	return in[1].Dims.Len().Value()
}

// Reduced reports for each axis of input 0 whether it is reduced. If the elements of input 1 are
// unknown, known is false.
func (o *Reduce) Reduced(in []*op.Value) (reduced []bool, known bool, err error) {
	axes, known := o.axes(in)
	if !known {
		return nil, false, nil
	}
	reduced, err = o.reducedAxes(axes, len(in[0].Dims))
	return reduced, true, err
}

// inferAxes returns the elements of an input of axes, if all are known.
func inferAxes(v *op.Value) (axes []int, known bool) {
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

// Run computes the output.
func (o *Reduce) Run(c *op.Run) error {
	x, axes := c.In[0], o.attr
	if o.input && c.Has(1) {
		err := kit.CountAxes(c.In[1].Len(), max(len(x.Shape()), 1))
		if err != nil {
			return err
		}
		if axes, err = op.Ints(c.In[1]); err != nil {
			return err
		}
	}
	reduced, err := o.reducedAxes(axes, len(x.Shape()))
	if err != nil {
		return err
	}
	shape, _ := reducedDims(graph.DimsOf(x.Shape()), reduced, o.keep).Concrete()
	out, err := c.Output(0, x.DType(), shape)
	if err != nil || out.Len() == 0 {
		return err
	}
	return reduceAny(c.Pace(), o.Reducer, x, reduced, out)
}

var reduceRows = []op.Row{
	differentiable(reduceRow("ReduceSum", nil, 1, 11, 13), reduceDerivative(false)),
	differentiable(reduceRow("ReduceMean", nil, 1, 11, 13, 18), reduceDerivative(true)),
	reduceRow("ReduceMax", op.Boolean, 1, 11, 12, 13, 18, 20),
	reduceRow("ReduceMin", op.Boolean, 1, 11, 12, 13, 18, 20),
	reduceRow("ReduceProd", nil, 1, 11, 13, 18),
	reduceRow("ReduceL1", nil, 1, 11, 13, 18),
	reduceRow("ReduceL2", nil, 1, 11, 13, 18),
	reduceRow("ReduceSumSquare", nil, 1, 11, 13, 18),
	reduceRow("ReduceLogSum", nil, 1, 11, 13, 18),
	reduceRow("ReduceLogSumExp", nil, 1, 11, 13, 18),
	{Name: "ArgMax", Since: []int{1, 11, 12, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Numeric, Heap: 8, Flat: true, Items: itemsOfArg, New: newArgReduce(true)},
	{Name: "ArgMin", Since: []int{1, 11, 12, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Numeric, Heap: 8, Flat: true, Items: itemsOfArg, New: newArgReduce(false)},
	{Name: "CumSum", Since: []int{11, 14}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: op.Numeric, Items: itemsOfCumulate, New: newCumulate(false)},
	{Name: "CumProd", Since: []int{26}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: productTypes, Items: itemsOfCumulate, New: newCumulate(true)},
}

func reduceRow(name string, more op.Types, since ...int) op.Row {
	i := slices.IndexFunc(reducers, func(r Reducer) bool { return r.name == name })
	return op.Row{Name: name, Since: since, In: [2]int{1, 2}, Out: [2]int{1, 1}, Types: slices.Concat(op.Numeric, more),
		Items: itemsOfReduce, New: newReduce(&reducers[i])}
}

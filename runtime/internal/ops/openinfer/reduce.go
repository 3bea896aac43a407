package openinfer

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// step adds elements to results: one to each, or all to a single one.
type step[C number] func(acc, x []C)

// reduction is an operator on the elements along axes.
type reduction struct {
	name  string
	acc   bool // the attribute acc is allowed
	mean  bool // the result is divided by the number of elements
	first bool // results begin with their first element; if false, with start
	start int
	i     step[int64]
	u     step[uint64]
	f     step[float32]
	d     step[float64]
}

// Reduce is the reduction of a node.
type Reduce struct {
	*reduction
	axes []int
	keep bool
	acc  tensor.DType // of the output; Invalid for none
}

var reductions = []reduction{
	{name: "sum_axis", acc: true, i: sumUp[int64], u: sumUp[uint64], f: sumUp[float32], d: sumUp[float64]},
	{name: "mean_axis", acc: true, mean: true, i: sumUp[int64], u: sumUp[uint64], f: sumUp[float32], d: sumUp[float64]},
	{name: "prod_axis", acc: true, start: 1, i: multiply[int64], u: multiply[uint64], f: multiply[float32], d: multiply[float64]},
	{name: "max_axis", first: true, i: largest[int64], u: largest[uint64], f: largest[float32], d: largest[float64]},
	{name: "min_axis", first: true, i: smallest[int64], u: smallest[uint64], f: smallest[float32], d: smallest[float64]},
}

var reduceRows = func() (rows []op.Row) {
	for i := range reductions {
		rows = append(rows, op.Row{Domain: Domain, Name: reductions[i].name, Since: []int{1}, In: [2]int{1, 1},
			Out: [2]int{1, 1}, Types: numberTypes, New: reductions[i].new})
	}
	return append(rows, argRows...)
}()

func (r *reduction) new(n *op.Node) (_ op.Op, err error) {
	o := &Reduce{reduction: r, axes: n.Ints("axes"), keep: n.Bool("keepdims", false)}
	if r.acc {
		o.acc, err = accumulator(n)
	}
	return o, err
}

// Name returns the operator's name.
func (o *Reduce) Name() string { return o.name }

// Axes returns the reduced axes. It returns an error if a result needs an element and an axis is
// empty.
func (o *Reduce) Axes(x tensor.Shape) ([]int, error) {
	list, err := kit.NormAxes(o.axes, len(x))
	for _, a := range list {
		if x[a] == 0 && o.first {
			return nil, graph.Errorf(graph.ErrShape, "%s of no elements: %v has none along axes %v", o.name, x, o.axes)
		}
	}
	return list, err
}

// Infer drops the axes, or sets their extents to 1.
func (o *Reduce) Infer(c *op.Infer) error {
	d := c.In[0].DType
	if o.acc != tensor.Invalid {
		if d.Kind() != o.acc.Kind() || d.Bits() >= o.acc.Bits() {
			return graph.Errorf(graph.ErrUnsupported, "acc=%v does not widen %v elements", o.acc, d)
		}
		d = o.acc
	}
	return inferReduced(c, d, o.axes, o.keep)
}

// inferReduced sets the output of a reduction to elements of type d.
func inferReduced(c *op.Infer, d tensor.DType, axes []int, keep bool) error {
	rank, ok := c.In[0].Rank()
	if !ok {
		c.Set(0, d, nil)
		return nil
	}
	list, err := kit.NormAxes(axes, rank)
	if err != nil {
		return err
	}
	dims := graph.Dims{}
	for i, n := range c.In[0].Dims {
		if !slices.Contains(list, i) {
			dims = append(dims, n)
		} else if keep {
			dims = append(dims, graph.Known(1))
		}
	}
	c.Set(0, d, dims)
	return nil
}

// Run computes the results.
func (o *Reduce) Run(c *op.Run) error {
	switch d := c.In[0].DType(); {
	case d == tensor.F64:
		return runReduce(c, o, o.d)
	case d.IsFloat():
		return runReduce(c, o, o.f)
	case d.Kind() == tensor.Signed:
		return runReduce(c, o, o.i)
	}
	return runReduce(c, o, o.u)
}

func runReduce[C number](c *op.Run, o *Reduce, f step[C]) error {
	w, err := newWindow(c.In[0], o.axes)
	if err != nil {
		return err
	}
	out := c.Out[0]
	if o.first && w.count == 0 && out.Len() > 0 {
		return graph.Errorf(graph.ErrShape, "%s of no elements: %v has none along axes %v", o.name, c.In[0], o.axes)
	}
	err = c.Parallel(out.Len(), resultsFor(w.count), func(from, to int) error {
		x, acc := make([]C, block), make([]C, block)
		for at := from; at < to; at += block {
			size := min(block, to-at)
			for part := 0; part < size; {
				run := min(size-part, w.run(at+part))
				if err := reduceRun(c, o, w, at+part, acc[part:part+run], x, f); err != nil {
					return err
				}
				part += run
			}
			store(out, at, acc[:size])
		}
		return nil
	})
	clearTail(out)
	return err
}

// resultsFor returns the number of results, each of count elements, that justify a thread. It is a
// multiple of the elements in a byte.
func resultsFor(count int) int { return max(share/max(count, 1)&^7, 8) }

// reduceRun computes neighbouring results from result at on.
func reduceRun[C number](c *op.Run, o *Reduce, w *window, at int, acc, x []C, f step[C]) error {
	for i := range acc {
		acc[i] = C(o.start)
	}
	fresh := o.first
	err := w.each(c, at, func(from int) {
		if w.inner == 0 { // neighbouring elements belong to neighbouring results
			load(x[:len(acc)], w.t, from)
			if fresh {
				copy(acc, x)
			}
			f(acc, x[:len(acc)])
			fresh = false
			return
		}
		for n := w.inner; n > 0; n -= block {
			size := min(n, block)
			load(x[:size], w.t, from)
			if fresh {
				acc[0] = x[0]
			}
			f(acc[:1], x[:size])
			from, fresh = from+size, false
		}
	})
	if isFloat := C(1)/2 != 0; o.mean && (w.count > 0 || isFloat) { // the mean of no integers is 0
		for i := range acc {
			acc[i] /= C(w.count)
		}
	}
	return err
}

func sumUp[C number](acc, x []C) {
	if len(acc) > 1 {
		for i, v := range x {
			acc[i] += v
		}
		return
	}
	sum := acc[0]
	for _, v := range x {
		sum += v
	}
	acc[0] = sum
}

func multiply[C number](acc, x []C) {
	if len(acc) > 1 {
		for i, v := range x {
			acc[i] *= v
		}
		return
	}
	for _, v := range x {
		acc[0] *= v
	}
}

// largest keeps a NaN in acc and ignores NaNs in x.
func largest[C number](acc, x []C) {
	if len(acc) > 1 {
		for i, v := range x {
			if v > acc[i] {
				acc[i] = v
			}
		}
		return
	}
	for _, v := range x {
		if v > acc[0] {
			acc[0] = v
		}
	}
}

// smallest keeps a NaN in acc and ignores NaNs in x.
func smallest[C number](acc, x []C) {
	if len(acc) > 1 {
		for i, v := range x {
			if v < acc[i] {
				acc[i] = v
			}
		}
		return
	}
	for _, v := range x {
		if v < acc[0] {
			acc[0] = v
		}
	}
}

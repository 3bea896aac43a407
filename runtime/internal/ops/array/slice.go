package array

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Slice takes every step-th element of a range along some axes.
type Slice struct {
	attrs        bool // starts, ends and axes are attributes, steps are 1
	starts, ends []int
	axes         []int // nil for the first axes
}

func newSlice(n *op.Node) (op.Op, error) {
	if n.Since >= 10 {
		return &Slice{}, nil
	}
	return &Slice{attrs: true, starts: n.Ints("starts"), ends: n.Ints("ends"), axes: n.Ints("axes")}, nil
}

// cut is a range of one axis. A step of 0 keeps the whole axis.
type cut struct{ start, end, step int }

// span returns the first index and the number of elements of a cut of n elements.
func (k cut) span(n int) (first, count int) {
	if n == 0 {
		return 0, 0
	}
	start, end, step := k.start, k.end, min(max(k.step, -n-1), n+1)
	if start < 0 {
		start += n
	}
	if end < 0 {
		end += n
	}
	if step > 0 {
		start, end = min(max(start, 0), n), min(max(end, 0), n)
		if end <= start {
			return 0, 0
		}
		return start, (end-start-1)/step + 1
	}
	start, end = min(max(start, 0), n-1), min(max(end, -1), n-1)
	if end >= start {
		return 0, 0
	}
	return start, (start-end-1)/-step + 1
}

// cuts returns the cut of each of rank axes.
func (o *Slice) cuts(rank int, starts, ends, axes, steps []int) ([]cut, error) {
	list := make([]cut, rank)
	axes, err := o.axesOf(rank, len(starts), axes)
	if err != nil {
		return nil, err
	}
	if len(starts) != len(axes) || len(ends) != len(axes) || steps != nil && len(steps) != len(axes) {
		return nil, graph.Errorf(graph.ErrShape, "starts %v, ends %v, axes %v, steps %v differ in length", starts, ends,
			axes, steps)
	}
	for i, a := range axes {
		list[a] = cut{starts[i], ends[i], 1}
		if steps != nil {
			list[a].step = steps[i]
		}
		if list[a].step == 0 {
			return nil, graph.Errorf(graph.ErrShape, "step %d is 0", i)
		}
	}
	return list, nil
}

func (o *Slice) axesOf(rank, n int, axes []int) ([]int, error) {
	if axes != nil {
		return kit.NormAxes(axes, rank)
	}
	if n > rank {
		return nil, graph.Errorf(graph.ErrShape, "%d starts for %d axes", n, rank)
	}
	axes = make([]int, n)
	for i := range axes {
		axes[i] = i
	}
	return axes, nil
}

func (o *Slice) Infer(c *op.Infer) error {
	in := c.In[0]
	rank, ok := in.Rank()
	c.Set(0, in.DType, nil)
	if !ok {
		return nil
	}
	c.Set(0, in.DType, graph.UnknownDims(rank))
	starts, ends, axes, steps, ok, err := o.limits(c, rank)
	if err != nil || !ok {
		return err
	}
	out := slices.Clone(in.Dims)
	for i, a := range axes {
		if steps[i].Is(0) {
			return graph.Errorf(graph.ErrShape, "step %d is 0", i)
		}
		out[a] = cutDim(out[a], starts[i], ends[i], steps[i])
	}
	c.Set(0, in.DType, out)
	if list, ok := in.IntVec(); ok && rank == 1 && len(axes) == 1 {
		start, ok1 := starts[0].Value()
		end, ok2 := ends[0].Value()
		step, ok3 := steps[0].Value()
		if ok1 && ok2 && ok3 {
			first, count := cut{start, end, step}.span(len(list))
			part := make([]graph.Dim, count)
			for i := range part {
				part[i] = list[first+i*step]
			}
			c.SetInts(0, part)
		}
	}
	return nil
}

// limits returns the starts, ends, axes and steps as far as they are known, one of each per axis
// that is cut. If the axes are unknown, ok is false.
func (o *Slice) limits(
	c *op.Infer, rank int,
) (starts, ends graph.Dims, axes []int, steps graph.Dims, ok bool, err error) {
	if o.attrs {
		axes, err = o.axesOf(rank, len(o.starts), o.axes)
		starts, ends = graph.DimsOf(o.starts), graph.DimsOf(o.ends)
	} else {
		if starts, err = c.In[1].Extents(); err != nil {
			return
		}
		if ends, err = c.In[2].Extents(); err != nil {
			return
		}
		known := true
		if c.Has(3) {
			if axes, known, err = c.In[3].KnownAxes(); err != nil {
				return
			}
		}
		if starts == nil && axes != nil {
			starts = graph.UnknownDims(len(axes))
		}
		if !known || starts == nil {
			return
		}
		axes, err = o.axesOf(rank, len(starts), axes)
	}
	if err != nil {
		return
	}
	if ends == nil {
		ends = graph.UnknownDims(len(axes))
	}
	steps = slices.Repeat(graph.Dims{graph.Known(1)}, len(axes))
	if c.Has(4) && !o.attrs {
		if steps, err = c.In[4].Extents(); err != nil {
			return
		}
		if steps == nil {
			steps = graph.UnknownDims(len(axes))
		}
	}
	if len(starts) != len(axes) || len(ends) != len(axes) || len(steps) != len(axes) {
		err = graph.Errorf(graph.ErrShape, "starts %v, ends %v, axes %v, steps %v differ in length", starts, ends, axes,
			steps)
	}
	return starts, ends, axes, steps, true, err
}

// farIndex is beyond any extent. Writers use such ends for "to the last".
const farIndex = math.MaxInt32 / 2

// cutDim returns the extent of a cut of an axis of extent d.
func cutDim(d, start, end, step graph.Dim) graph.Dim {
	n, ok := d.Value()
	s, okS := start.Value()
	e, okE := end.Value()
	k, okK := step.Value()
	if ok && okS && okE && okK {
		_, count := cut{s, e, k}.span(n)
		return graph.Known(count)
	}
	if !okS || !okK || d.IsUnknown() {
		if k == 1 && within(start, end) && within(end, d) {
			return end.Sub(start)
		}
		return graph.Unknown()
	}
	if s == 0 && k == 1 && kit.IsSymbol(end) {
		switch {
		case ok:
			return end.Cap(n)
		case within(end, d):
			return end
		}
	}
	whole := okE && e >= farIndex || d.Same(end)
	switch {
	case k == -1 && okE && e <= -farIndex && (s == -1 || s >= farIndex):
		return d
	case k == 1 && s <= -farIndex && whole:
		return d
	case k == 1 && s < 0 && whole:
		return d.Cap(-s)
	case k != 1 || s < 0:
		return graph.Unknown()
	case whole:
		return d.Sub(start)
	case okE && e < 0:
		return d.Add(end).Sub(start)
	}
	return graph.Unknown()
}

// within reports whether 0 <= d <= e is known to hold.
func within(d, e graph.Dim) bool { return d.NonNegative() && e.Sub(d).NonNegative() }

// Copies cuts the axes.
func (o *Slice) Copies(c *op.Infer) ([]Copy, error) {
	in, err := shapeIn(c, 0)
	if err != nil {
		return nil, err
	}
	cuts, err := o.given(c, len(in))
	if err != nil {
		return nil, err
	}
	from := in.Strides()
	shape := in.Clone()
	axes := make([]CopyAxis, len(in))
	at := 0
	for i, k := range cuts {
		step := from[i]
		if k.step != 0 {
			var first int
			first, shape[i] = k.span(in[i])
			step *= min(max(k.step, -in[i]-1), in[i]+1)
			at += first * from[i]
		}
		axes[i] = CopyAxis{N: graph.Known(shape[i]), From: graph.Known(step)}
	}
	for i, to := range shape.Strides() {
		axes[i].To = graph.Known(to)
	}
	return []Copy{{From: graph.Known(at), Axes: axes}}, wantDims(c, 0, graph.DimsOf(shape))
}

// Run computes the output in Go.
func (o *Slice) Run(c *op.Run) error { return runCopies(o, c) }

// Limits returns starts, ends and axes if they are attributes; ok is false if they are inputs. Nil
// axes mean the first ones.
func (o *Slice) Limits() (starts, ends, axes []int, ok bool) {
	return o.starts, o.ends, o.axes, o.attrs
}

// given returns the cuts in the attributes or inputs.
func (o *Slice) given(c *op.Infer, rank int) ([]cut, error) {
	if o.attrs {
		return o.cuts(rank, o.starts, o.ends, o.axes, nil)
	}
	var lists [5][]int
	for i := 1; i < len(lists); i++ {
		if !c.Has(i) {
			continue
		}
		var err error
		if lists[i], err = intsOf(c, i); err != nil {
			return nil, err
		}
	}
	return o.cuts(rank, lists[1], lists[2], lists[3], lists[4])
}

var sliceRows = []op.Row{
	{Name: "Slice", Since: []int{1, 10, 11, 13}, In: [2]int{1, 1}, Later: []op.Arity{{Since: 10, In: [2]int{3, 5}}}, Out: [2]int{1, 1}, Selects: true, Items: itemsOfSlice, New: newSlice},
}

package array

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Pad adds elements before and after some axes; a negative count removes elements. The added
// elements are a constant or, by mode, copies of the remaining elements.
type Pad struct {
	mode  string
	attrs bool    // counts and value are attributes
	list  []int   // the counts, if attrs
	value float32 // the constant, if attrs
}

func newPad(n *op.Node) (op.Op, error) {
	o := &Pad{mode: n.Str("mode", "constant"), attrs: n.Since < 11}
	// Version 19 added wrap; exporters write it into older versions too.
	modes := []string{"constant", "reflect", "edge", "wrap"}
	if !slices.Contains(modes, o.mode) {
		return nil, graph.Errorf(graph.ErrFormat, "mode %q is not one of %q", o.mode, modes)
	}
	switch {
	case n.Since == 1:
		o.list = append([]int{}, n.Ints("paddings")...)
	case o.attrs:
		o.list = append([]int{}, n.Ints("pads")...)
	}
	if o.attrs {
		o.value = n.Float("value", 0)
	}
	return o, nil
}

// maxPad limits a count, so that sums of a few fit an int.
const maxPad = min(1<<40, math.MaxInt>>2)

// counts returns the number of elements to add before and after each of rank axes.
func (o *Pad) counts(rank int, list, axes []int) (before, after []int, err error) {
	if axes == nil {
		axes = make([]int, rank)
		for i := range axes {
			axes[i] = i
		}
	}
	if axes, err = kit.NormAxes(axes, rank); err != nil {
		return nil, nil, err
	}
	if len(list) != 2*len(axes) {
		return nil, nil, graph.Errorf(graph.ErrShape, "%d pads for %d axes: each needs one before and one after", len(list),
			len(axes))
	}
	before, after = make([]int, rank), make([]int, rank)
	for i, a := range axes {
		before[a], after[a] = list[i], list[len(axes)+i]
		if max(before[a], after[a]) > maxPad || min(before[a], after[a]) < -maxPad {
			return nil, nil, graph.Errorf(graph.ErrShape, "pads %v are beyond any extent", list)
		}
	}
	return before, after, nil
}

func (o *Pad) Infer(c *op.Infer) error {
	in := c.In[0]
	c.Set(0, in.DType, nil)
	rank, ok := in.Rank()
	if !ok {
		return nil
	}
	if c.Has(2) && c.In[2].DType != in.DType {
		return graph.Errorf(graph.ErrShape, "constant_value is %v, the input %v", c.In[2].DType, in.DType)
	}
	list, known := o.list, o.attrs
	var axes []int
	var err error
	if !o.attrs {
		list, known, err = c.In[1].KnownAxes()
	}
	if c.Has(3) && known {
		axes, known, err = c.In[3].KnownAxes()
	}
	if err != nil {
		return err
	}
	if !known {
		c.Set(0, in.DType, graph.UnknownDims(rank))
		return nil
	}
	before, after, err := o.counts(rank, list, axes)
	if err != nil {
		return err
	}
	out := make(graph.Dims, rank)
	for i, d := range in.Dims {
		out[i] = d.Add(graph.Known(before[i] + after[i]))
		if n, ok := d.Value(); ok {
			if err := o.check(n, before[i], after[i]); err != nil {
				return err
			}
		}
	}
	c.Set(0, in.DType, out)
	return nil
}

// segment is a range of output indices along an axis. The first is a copy of index src of the
// input, the next of src+step and so on, unless all are the constant.
type segment struct {
	n, src   graph.Dim
	step     int
	constant bool
}

// check returns an error if the counts do not suit an axis of n elements.
func (o *Pad) check(n, before, after int) error {
	left := n + min(before, 0) + min(after, 0)
	if left < 0 {
		return graph.Errorf(graph.ErrShape, "pads %d and %d remove more than the %d elements of an axis", before, after, n)
	}
	if left == 0 && max(before, after) > 0 && o.mode != "constant" {
		return graph.Errorf(graph.ErrShape, "pads %d and %d in mode %s from an axis without elements", before, after, o.mode)
	}
	return nil
}

// segments returns the segments of an axis of d elements after padding. More than most segments are
// an error.
func (o *Pad) segments(d graph.Dim, before, after, most int) ([]segment, error) {
	n, known := d.Value()
	if known {
		if err := o.check(n, before, after); err != nil {
			return nil, err
		}
	}
	low := max(0, -before)
	lo, hi := graph.Known(low), d.Sub(graph.Known(max(0, -after)))
	left := hi.Sub(lo)
	before, after = max(before, 0), max(after, 0)
	switch {
	case o.mode == "constant":
		return []segment{{n: graph.Known(before), constant: true}, {left, lo, 1, false},
			{n: graph.Known(after), constant: true}}, nil
	case o.mode == "edge":
		return []segment{{graph.Known(before), lo, 0, false}, {left, lo, 1, false},
			{graph.Known(after), hi.Sub(graph.Known(1)), 0, false}}, nil
	case !known:
		return nil, ErrSymbolic
	}
	n, _ = left.Value()
	return o.periodic(n, before, before+n+after, low, most)
}

// periodic returns the segments of total elements. The n elements from index lo on begin at output
// index before. The other segments repeat them, mirrored in mode reflect.
func (o *Pad) periodic(n, before, total, lo, most int) ([]segment, error) {
	var list []segment
	period := n
	if o.mode == "reflect" {
		period = max(2*(n-1), 1)
	}
	for at := 0; at < total; {
		if len(list) == most {
			return nil, graph.Errorf(graph.ErrUnsupported,
				"pads in mode %s continue an axis of %d elements more than %d times", o.mode, n, most)
		}
		pos := (at - before) % period
		if pos < 0 {
			pos += period
		}
		var count, src, step int
		switch {
		case n == 1:
			count, src = total, lo
		case o.mode == "wrap":
			count, src, step = n-pos, lo+pos, 1
		case pos < n-1:
			count, src, step = n-1-pos, lo+pos, 1
		default:
			count, src, step = period-pos, lo+period-pos, -1
		}
		count = min(count, total-at)
		list = append(list, segment{n: graph.Known(count), src: graph.Known(src), step: step})
		at += count
	}
	return list, nil
}

// Limits of the copies for one output on a device, and of the segments of an axis in Go. No memory
// limit counts them.
const (
	maxPadCopies   = 1024
	maxPadSegments = 1 << 20
)

// Copies returns one copy for every combination of the segments of all axes.
func (o *Pad) Copies(c *op.Infer) ([]Copy, error) {
	p, err := o.padding(c, maxPadCopies)
	if err != nil {
		return nil, err
	}
	count := 1
	for _, runs := range p.runs {
		if count *= max(len(runs), 1); count > maxPadCopies {
			return nil, graph.Errorf(graph.ErrUnsupported, "the pads take more than %d copies", maxPadCopies)
		}
	}
	var list []Copy
	p.emit = func(x Copy) { list = append(list, x) }
	p.walk(0, graph.Dim{}, graph.Dim{}, nil)
	return list, nil
}

// Run computes the output in Go.
func (o *Pad) Run(c *op.Run) error {
	p, err := o.padding(&op.Infer{In: kit.Values(c.In), Out: kit.Values(c.Out)}, maxPadSegments)
	if err != nil {
		return err
	}
	pace := c.Pace()
	p.emit = func(x Copy) { kit.CopyStrided(pace, x.of(c)) }
	p.walk(0, graph.Dim{}, graph.Dim{}, nil)
	return nil
}

// padding reads the counts of a node. It returns an error if an axis needs more than most segments.
func (o *Pad) padding(c *op.Infer, most int) (p *padding, err error) {
	list, axes := o.list, []int(nil)
	if !o.attrs {
		if list, err = intsOf(c, 1); err != nil {
			return nil, err
		}
	}
	if c.Has(3) {
		if axes, err = intsOf(c, 3); err != nil {
			return nil, err
		}
	}
	in := c.In[0].Dims
	before, after, err := o.counts(len(in), list, axes)
	if err != nil {
		return nil, err
	}
	shape := slices.Clone(in)
	for i := range shape {
		shape[i] = shape[i].Add(graph.Known(before[i] + after[i]))
	}
	if err := wantDims(c, 0, shape); err != nil {
		return nil, err
	}
	p = &padding{from: kit.StridesOf(in), to: kit.StridesOf(shape), shape: shape}
	if p.value, err = o.constant(c); err != nil {
		return nil, err
	}
	for i, n := range in {
		runs, err := o.segments(n, before[i], after[i], most)
		if err != nil {
			return nil, err
		}
		p.runs = append(p.runs, runs)
	}
	return p, nil
}

// constant returns a copy with the constant as source.
func (o *Pad) constant(c *op.Infer) (x Copy, err error) {
	d := c.In[0].DType
	if c.Has(2) {
		if !c.In[2].Dims.Len().Is(1) {
			return x, graph.Errorf(graph.ErrShape, "constant_value is %v, not one element", c.In[2].Type)
		}
		return Copy{In: 2}, nil
	}
	switch {
	case o.value == 0:
		x.Value = tensor.New(d, 1)
	case op.Floats.Has(d):
		x.Value = tensor.New(d, 1)
		elements.Put(x.Value, 0, []float32{o.value})
	default:
		err = graph.Errorf(graph.ErrUnsupported, "attribute value %g for elements of type %v", o.value, d)
	}
	return x, err
}

// padding is the output of a pad as the product of the segments of all axes.
type padding struct {
	value    Copy // from the constant
	from, to []graph.Dim
	shape    graph.Dims
	runs     [][]segment
	emit     func(x Copy)
}

// walk emits the copies for the axes from a on, given the axes before.
func (p *padding) walk(a int, src, dst graph.Dim, axes []CopyAxis) {
	if a == len(p.runs) {
		p.emit(Copy{From: src, To: dst, Axes: slices.Clone(axes)})
		return
	}
	for _, s := range p.runs[a] {
		switch {
		case s.n.Is(0):
		case s.constant:
			x := p.value
			x.To = dst
			for _, y := range append(axes[:len(axes):len(axes)], CopyAxis{N: s.n, To: p.to[a]}) {
				x.Axes = append(x.Axes, CopyAxis{N: y.N, To: y.To})
			}
			x.Axes = append(x.Axes, CopyAxis{N: p.shape[a+1:].Len(), To: graph.Known(1)})
			p.emit(x)
		default:
			next := append(axes[:len(axes):len(axes)], CopyAxis{s.n, graph.Known(s.step).Mul(p.from[a]), p.to[a]})
			p.walk(a+1, src.Add(s.src.Mul(p.from[a])), dst, next)
		}
		dst = dst.Add(s.n.Mul(p.to[a]))
	}
}

var padRows = []op.Row{
	{Name: "Pad", Since: []int{1, 2, 11, 13, 18, 19, 21, 23, 24, 25}, In: [2]int{1, 1}, Later: []op.Arity{{Since: 11, In: [2]int{2, 3}}, {Since: 18, In: [2]int{2, 4}}}, Out: [2]int{1, 1}, Items: itemsOfPad, New: newPad},
	{Domain: kit.Microsoft, Name: "Pad", Since: []int{1}, In: [2]int{2, 3}, Out: [2]int{1, 1}, Types: op.Floats, New: kit.AtVersion(13, newPad)},
}

package op

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// pad adds elements before and after those of some axes, or where a count is
// negative removes them. What it adds is a constant or, by mode, made from the
// elements that are left.
type pad struct {
	mover
	mode  string
	attrs bool    // counts and value are attributes
	list  []int   // the counts, if so
	value float32 // the constant, if so
}

func newPad(n *Node) (Op, error) {
	o := &pad{mode: n.Str("mode", "constant"), attrs: n.Since < 11}
	modes := []string{"constant", "reflect", "edge"}
	if n.Since >= 19 {
		modes = append(modes, "wrap")
	}
	if !slices.Contains(modes, o.mode) {
		return nil, graph.Mark(graph.ErrFormat, "mode %q is not one of %q", o.mode, modes)
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

// maxPad bounds a count, so that sums of a few fit an int.
const maxPad = min(1<<40, math.MaxInt>>2)

// counts returns how many elements come before and after each of rank axes.
func (o *pad) counts(rank int, list, axes []int) (before, after []int, err error) {
	if axes == nil {
		axes = make([]int, rank)
		for i := range axes {
			axes[i] = i
		}
	}
	if axes, err = normAxes(axes, rank); err != nil {
		return nil, nil, err
	}
	if len(list) != 2*len(axes) {
		return nil, nil, graph.Mark(graph.ErrShape, "%d pads for %d axes: each needs one before and one after", len(list), len(axes))
	}
	before, after = make([]int, rank), make([]int, rank)
	for i, a := range axes {
		before[a], after[a] = list[i], list[len(axes)+i]
		if max(before[a], after[a]) > maxPad || min(before[a], after[a]) < -maxPad {
			return nil, nil, graph.Mark(graph.ErrShape, "pads %v are beyond any extent", list)
		}
	}
	return before, after, nil
}

func (o *pad) Infer(c *Infer) error {
	in := c.In[0]
	c.Set(0, in.DType, nil)
	rank, ok := in.Rank()
	if !ok {
		return nil
	}
	if c.Has(2) && c.In[2].DType != in.DType {
		return graph.Mark(graph.ErrShape, "constant_value is %v, the input %v", c.In[2].DType, in.DType)
	}
	list, known := o.list, o.attrs
	var axes []int
	var err error
	if !o.attrs {
		list, known, err = c.In[1].axesIn()
	}
	if c.Has(3) && known {
		axes, known, err = c.In[3].axesIn()
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

// segment is a run of output indices along an axis: the first comes from index
// src of the input, the next from src+step, unless all are the constant.
type segment struct {
	n, src, step int
	constant     bool
}

// check reports counts that an axis of n elements cannot have.
func (o *pad) check(n, before, after int) error {
	left := n + min(before, 0) + min(after, 0)
	if left < 0 {
		return graph.Mark(graph.ErrShape, "pads %d and %d remove more than the %d elements of an axis", before, after, n)
	}
	if left == 0 && max(before, after) > 0 && o.mode != "constant" {
		return graph.Mark(graph.ErrShape, "pads %d and %d in mode %s from an axis without elements", before, after, o.mode)
	}
	return nil
}

// segments returns what an axis of n elements becomes.
func (o *pad) segments(n, before, after int) ([]segment, error) {
	if err := o.check(n, before, after); err != nil {
		return nil, err
	}
	lo, hi := max(0, -before), n-max(0, -after)
	before, after, n = max(before, 0), max(after, 0), hi-lo
	switch o.mode {
	case "constant":
		return []segment{{n: before, constant: true}, {n, lo, 1, false}, {n: after, constant: true}}, nil
	case "edge":
		return []segment{{before, lo, 0, false}, {n, lo, 1, false}, {after, hi - 1, 0, false}}, nil
	}
	return o.periodic(n, before, before+n+after, lo), nil
}

// periodic returns the runs of total elements, of which those from before on are
// the n elements from index lo on, and the others their continuation.
func (o *pad) periodic(n, before, total, lo int) []segment {
	var list []segment
	period := n
	if o.mode == "reflect" {
		period = max(2*(n-1), 1)
	}
	for at := 0; at < total; {
		pos := (at - before) % period
		if pos < 0 {
			pos += period
		}
		var s segment
		switch {
		case n == 1:
			s = segment{n: total, src: lo}
		case o.mode == "wrap":
			s = segment{n - pos, lo + pos, 1, false}
		case pos < n-1:
			s = segment{n - 1 - pos, lo + pos, 1, false}
		default:
			s = segment{period - pos, lo + period - pos, -1, false}
		}
		s.n = min(s.n, total-at)
		list = append(list, s)
		at += s.n
	}
	return list
}

func (o *pad) Run(c *Run) error {
	in := c.In[0].Shape()
	list, axes := o.list, []int(nil)
	var err error
	if !o.attrs {
		if list, err = Ints(c.In[1]); err != nil {
			return err
		}
	}
	if c.Has(3) {
		if axes, err = Ints(c.In[3]); err != nil {
			return err
		}
	}
	before, after, err := o.counts(len(in), list, axes)
	if err != nil {
		return err
	}
	value, err := o.constant(c)
	if err != nil {
		return err
	}
	shape := in.Clone()
	for i := range shape {
		shape[i] += before[i] + after[i]
	}
	if err := wantShape(c.Out[0], shape); err != nil || shape.Len() == 0 {
		return err
	}
	p := &padding{c: c, op: o, value: value, from: in.Strides(), to: shape.Strides(), shape: shape}
	for i, n := range in {
		runs, err := o.segments(n, before[i], after[i])
		if err != nil {
			return err
		}
		p.runs = append(p.runs, runs)
	}
	p.walk(0, 0, 0, make([]boxAxis, 0, len(in)))
	o.move(c, p.list...)
	return nil
}

// constant returns a tensor whose first element is the constant.
func (o *pad) constant(c *Run) (*tensor.Tensor, error) {
	d := c.In[0].DType()
	switch {
	case c.Has(2) && c.In[2].Len() != 1:
		return nil, graph.Mark(graph.ErrShape, "constant_value is %v, not one element", c.In[2])
	case c.Has(2):
		return c.In[2], nil
	case o.value == 0:
		return tensor.New(d, 1), nil
	}
	switch d {
	case tensor.F32:
		return tensor.From([]float32{o.value}, 1)
	case tensor.F64:
		return tensor.From([]float64{float64(o.value)}, 1)
	case tensor.F16:
		return tensor.From([]packed.F16{packed.ToF16(o.value)}, 1)
	}
	return nil, graph.Mark(graph.ErrUnsupported, "attribute value %g for elements of type %v", o.value, d)
}

// padding is one Run of a pad: the product of the runs of all axes, as boxes.
type padding struct {
	c        *Run
	op       *pad
	value    *tensor.Tensor
	from, to []int
	shape    tensor.Shape
	runs     [][]segment
	list     []box
}

// maxBoxes bounds the list, which is handed on when it is full.
const maxBoxes = 1024

// walk adds the boxes of the axes from a on, where those before are done.
func (p *padding) walk(a, src, dst int, axes []boxAxis) {
	if a == len(p.runs) {
		p.add(box{src: p.c.In[0], dst: p.c.Out[0], srcAt: src, dstAt: dst, axes: slices.Clone(axes)})
		return
	}
	for _, s := range p.runs[a] {
		switch {
		case s.n == 0:
		case s.constant:
			rest := append(slices.Clone(axes), boxAxis{s.n, 0, p.to[a]})
			for i := range rest {
				rest[i].from = 0
			}
			rest = append(rest, boxAxis{p.shape[a+1:].Len(), 0, 1})
			p.add(box{src: p.value, dst: p.c.Out[0], dstAt: dst, axes: rest})
		default:
			p.walk(a+1, src+s.src*p.from[a], dst, append(axes, boxAxis{s.n, s.step * p.from[a], p.to[a]}))
		}
		dst += s.n * p.to[a]
	}
}

func (p *padding) add(b box) {
	if len(p.list) == maxBoxes {
		p.op.move(p.c, p.list...)
		p.list = p.list[:0]
	}
	p.list = append(p.list, b)
}

var padRows = []Row{
	{Name: "Pad", Since: []int{1, 2, 11, 13, 18, 19, 21, 23, 24, 25}, In: [2]int{1, 1}, Later: []Arity{{Since: 11, In: [2]int{2, 3}}, {Since: 18, In: [2]int{2, 4}}}, Out: [2]int{1, 1}, New: newPad},
	{Domain: microsoft, Name: "Pad", Since: []int{1}, In: [2]int{2, 3}, Out: [2]int{1, 1}, Types: floats, New: standard(13, newPad)},
}

package openinfer

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Arg finds where along an axis the largest or smallest element is. A NaN that comes
// first stays; others are passed over.
type Arg struct {
	Largest, Last bool // of equal elements the last counts
	keep          bool
	axis          int
}

var argRows = []op.Row{
	{Domain: Domain, Name: "argmax_axis", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: numberTypes, New: newArg(true)},
	{Domain: Domain, Name: "argmin_axis", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: numberTypes, New: newArg(false)},
}

func newArg(largest bool) func(n *op.Node) (op.Op, error) {
	return func(n *op.Node) (op.Op, error) {
		axes := n.Ints("axes")
		if len(axes) != 1 {
			return nil, graph.Errorf(graph.ErrFormat, "attribute axes is %v; it must name one axis", axes)
		}
		return &Arg{Largest: largest, Last: !n.Bool("select_first", true), keep: n.Bool("keepdims", false), axis: axes[0]}, nil
	}
}

// Infer drops the axis, or makes it 1.
func (o *Arg) Infer(c *op.Infer) error { return inferReduced(c, tensor.I64, []int{o.axis}, o.keep) }

// Axis returns the axis of a value of that shape.
func (o *Arg) Axis(x tensor.Shape) (int, error) { return op.NormAxis(o.axis, len(x)) }

// Run computes the output.
func (o *Arg) Run(c *op.Run) error {
	axis, err := o.Axis(c.In[0].Shape())
	if err != nil {
		return err
	}
	s, out := op.ViewAlong(c.In[0].Shape(), axis), tensor.View[int64](c.Out[0])
	if s.N == 0 && len(out) > 0 {
		return graph.Errorf(graph.ErrShape, "axis %d is empty", o.axis)
	}
	switch d := c.In[0].DType(); {
	case d == tensor.F64:
		return find[float64](c, o, s, out)
	case d.IsFloat():
		return find[float32](c, o, s, out)
	case d.Kind() == tensor.Signed:
		return find[int64](c, o, s, out)
	}
	return find[uint64](c, o, s, out)
}

// find keeps the best element of each of a block of results.
func find[C number](c *op.Run, o *Arg, s op.AxisView, out []int64) error {
	t, best, x := c.In[0].Aligned(), make([]C, block), make([]C, block)
	for outer := range s.Outer {
		for inner := 0; inner < s.Inner; inner += block {
			n := min(block, s.Inner-inner)
			where := out[outer*s.Inner+inner:][:n]
			clear(where)
			for k := range s.N {
				if c.Stopped() {
					return op.ErrStopped
				}
				if k == 0 {
					load(best[:n], t, outer*s.N*s.Inner+inner)
					continue
				}
				load(x[:n], t, (outer*s.N+k)*s.Inner+inner)
				better(o, int64(k), x[:n], best, where)
			}
		}
	}
	return nil
}

// better puts the elements that are beyond the best so far, or, if the last is wanted, as
// good, in their place.
func better[C number](o *Arg, k int64, x, best []C, where []int64) {
	for i, v := range x {
		b := best[i]
		if o.Largest && v > b || !o.Largest && v < b || o.Last && v == b {
			best[i], where[i] = v, k
		}
	}
}

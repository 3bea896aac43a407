package openinfer

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Arg finds the index of the largest or smallest element along an axis. A NaN at index 0 stays the
// result; other NaNs are ignored.
type Arg struct {
	Largest, Last bool // Last: the last of equal elements counts
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
		return &Arg{Largest: largest, Last: !n.Bool("select_first", true), keep: n.Bool("keepdims", false), axis: axes[0]},
			nil
	}
}

// Infer drops the axis, or sets its extent to 1.
func (o *Arg) Infer(c *op.Infer) error { return inferReduced(c, tensor.I64, []int{o.axis}, o.keep) }

// Axis returns the axis of a value of shape x.
func (o *Arg) Axis(x tensor.Shape) (int, error) { return op.NormAxis(o.axis, len(x)) }

// Run computes the indices.
func (o *Arg) Run(c *op.Run) error {
	axis, err := o.Axis(c.In[0].Shape())
	if err != nil {
		return err
	}
	s, out := kit.ViewAlong(c.In[0].Shape(), axis), tensor.View[int64](c.Out[0])
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

// find keeps the best element of each result, a block of results at a time.
func find[C number](c *op.Run, o *Arg, s kit.AxisView, out []int64) error {
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

// better replaces the best elements by better ones in x. If o.Last is set, it replaces equal ones
// too.
func better[C number](o *Arg, k int64, x, best []C, where []int64) {
	for i, v := range x {
		b := best[i]
		if o.Largest && v > b || !o.Largest && v < b || o.Last && v == b {
			best[i], where[i] = v, k
		}
	}
}

package openinfer

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func (c *call) keepAttr() *graph.Attr {
	return graph.IntAttr(keepAttr.name, int64(bit(c.flag(keepAttr.name, false))))
}

// empty reports whether the operand has no elements.
func (c *call) empty() bool { return slices.Contains(c.inputs[0].dims, 0) }

// reduction lowers to a standard operator. The maximum and minimum of floats are NaN only if the
// first element is.
func reduction(op string) func(*call) string {
	return func(c *call) string {
		extreme := op == "ReduceMax" || op == "ReduceMin"
		switch d := c.in(); {
		case c.given("acc"), c.empty():
			return ""
		case extreme && plainFloats.has(d):
			return c.firstNaN(c.reduce(op, c.withoutNaN(op == "ReduceMax")), c.keepsDims())
		case plainFloats.has(d), op != "ReduceMean" && wideInts.has(d):
			return c.reduce(op, c.x(0))
		}
		return ""
	}
}

func (c *call) reduce(op, x string) string {
	return c.b.Op(op, []string{x, c.b.Ints(c.axes()...)}, c.keepAttr())
}

func (c *call) keepsDims() bool { return c.flag(keepAttr.name, false) }

// withoutNaN returns the operand with each NaN replaced by an infinity that never wins.
func (c *call) withoutNaN(greatest bool) string {
	worst := math.Inf(1)
	if greatest {
		worst = math.Inf(-1)
	}
	return c.where(c.op("IsNaN", c.x(0)), c.number(worst), c.x(0))
}

// firstNaN returns result, or the first element where that is NaN.
func (c *call) firstNaN(result string, keep bool) string {
	first := c.first(keep)
	return c.where(c.op("IsNaN", first), first, result)
}

// first returns the first element along the reduced axes.
func (c *call) first(keep bool) string {
	axes := c.axes()
	zeros, ones := make([]int64, len(axes)), make([]int64, len(axes))
	for i := range ones {
		ones[i] = 1
	}
	first := c.b.Op("Slice", []string{c.x(0), c.b.Ints(zeros...), c.b.Ints(ones...), c.b.Ints(axes...)})
	if keep {
		return first
	}
	return c.op("Squeeze", first, c.b.Ints(axes...))
}

// lowerArg finds the index of the maximum or minimum. It skips NaNs, but if the first element is
// NaN, the index is 0.
func lowerArg(op, extreme string) func(*call) string {
	return func(c *call) string {
		last := !c.flag("select_first", true)
		attrs := []*graph.Attr{graph.IntAttr("axis", c.axes()[0]), c.keepAttr(), graph.IntAttr("select_last_index", int64(bit(last)))}
		switch d := c.in(); {
		case c.empty():
			return ""
		case integers.has(d):
			return c.b.Op(op, []string{c.x(0)}, attrs...)
		case !plainFloats.has(d):
			return ""
		}
		x, find := c.withoutNaN(extreme == "ReduceMax"), op
		if last {
			best := c.b.Op(extreme, []string{x, c.b.Ints(c.axes()...)}, graph.IntAttr("keepdims", 1))
			x, find = c.castTo(c.op("Equal", c.x(0), best), tensor.I32), "ArgMax"
		}
		found := c.b.Op(find, []string{x}, attrs...)
		return c.where(c.op("IsNaN", c.first(c.keepsDims())), constant(c.b, tensor.I64, int64(0)), found)
	}
}

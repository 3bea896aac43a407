package chelis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func transpose(n *node) string {
	rank := len(n.in[0].Dims)
	perm := n.ints("perm")
	if perm == nil {
		for k := rank - 1; k >= 0; k-- {
			perm = append(perm, k)
		}
	}
	return permute(n.args[0], perm)
}

func permute(x string, perm []int) string {
	args := []string{x}
	for _, k := range perm {
		args = append(args, axisOf(k))
	}
	if slices.IsSorted(perm) {
		return x
	}
	return call("permute", args...)
}

func concat(n *node) string {
	if len(n.args) == 1 {
		return n.args[0]
	}
	return call("concat", "["+strings.Join(n.args, ", ")+"]", axisOf(n.axis(n.int("axis", 0), len(n.in[0].Dims))))
}

// cut returns the elements from index from to index to - 1 along an axis.
func (n *node) cut(x string, dims graph.Dims, axis, from, to int) string {
	parts := make([]string, len(dims))
	for k, d := range dims {
		parts[k] = "[0i64, " + n.size(d) + "]"
	}
	parts[axis] = fmt.Sprintf("[%di64, %di64]", from, to)
	return call("shrink", x, "["+strings.Join(parts, ", ")+"]")
}

func split(n *node) []string {
	dims := n.in[0].Dims
	axis := n.axis(n.int("axis", 0), len(dims))
	var list []string
	from := 0
	for _, f := range n.out {
		rows := 0
		if f.Dims != nil {
			rows = n.extent(f.Dims[axis])
		}
		list = append(list, n.cut(n.args[0], dims, axis, from, from+rows))
		from += rows
	}
	return list
}

func slice(n *node) string {
	dims := slices.Clone(n.in[0].Dims)
	starts, ends, axes, steps := n.constants(1), n.constants(2), n.constants(3), n.constants(4)
	if n.err != nil || len(starts) != len(ends) {
		return ""
	}
	x := n.args[0]
	strides := slices.Repeat([]int{1}, len(dims))
	for i := range starts {
		axis, step := i, 1
		if axes != nil {
			axis = n.axis(axes[i], len(dims))
		}
		if steps != nil {
			step = steps[i]
		}
		size := n.extent(dims[axis])
		if step < 1 {
			rows := n.reversed(size, starts[i], ends[i], step)
			x = call("gather", x, "to_tensor(["+strings.Join(rows, ", ")+"])", axisOf(axis))
			dims[axis] = graph.Known(len(rows))
			continue
		}
		within := func(k int) int {
			if k < 0 {
				k += size
			}
			return min(max(k, 0), size)
		}
		from, to := within(starts[i]), within(ends[i])
		if n.err != nil || from >= to {
			return n.refuse(ErrUnsupportedShape, "the slice is empty")
		}
		if from != 0 || to != size {
			x = n.cut(x, dims, axis, from, to)
			dims[axis] = graph.Known(to - from)
		}
		strides[axis] = step
	}
	if slices.Max(append(strides, 1)) == 1 {
		return x
	}
	args := []string{x}
	for _, s := range strides {
		args = append(args, fmt.Sprintf("%di64", s))
	}
	return call("stride", args...)
}

// reversed returns the indices of a slice with a negative step.
func (n *node) reversed(size, start, end, step int) (list []string) {
	if step == 0 || size > widest {
		n.refuse(ErrUnsupportedShape, "step %d over %d elements; backward steps over at most %d can be emitted", step, size, widest)
		return nil
	}
	within := func(k, low int) int {
		if k < 0 {
			k += size
		}
		return min(max(k, low), size-1)
	}
	for k := within(start, 0); size > 0 && k > within(end, -1); k += step {
		list = append(list, fmt.Sprintf("%di64", k))
	}
	if len(list) == 0 {
		n.refuse(ErrUnsupportedShape, "the slice is empty")
	}
	return list
}

func gather(n *node) string {
	data, index := n.in[0], n.in[1]
	axis := n.axis(n.int("axis", 0), len(data.Dims))
	i := n.args[1]
	if least(index.Const) < 0 {
		size := float64(n.extent(data.Dims[axis]))
		fill := func(v float64) string { return n.fill(index.DType, v, index.Dims) }
		i = n.let("index", i)
		i = call("where", call("cmplt", i, fill(0)), call("add", i, fill(size)), i)
	}
	if len(index.Dims) == 1 {
		return call("gather", n.args[0], i, axisOf(axis))
	}
	i = call("reshape", i, n.sizes(graph.Dims{index.Dims.Len()}))
	return call("reshape", call("gather", n.args[0], i, axisOf(axis)), n.sizes(n.out[0].Dims))
}

// least returns the least element or 0, whichever is smaller. If the values are unknown, it returns
// -1.
func least(t *tensor.Tensor) float64 {
	if t == nil {
		return -1
	}
	low := 0.0
	at := tensor.Numbers(t)
	for i := range t.Len() {
		low = min(low, at(i))
	}
	return low
}

// axes returns the axes of a reduction, from input 1 or the attribute, ascending. Without either,
// it returns all axes, unless noop_with_empty_axes is set.
func (n *node) axes() []int {
	rank := len(n.in[0].Dims)
	list := n.ints("axes")
	if n.has(1) {
		list = n.constants(1)
	}
	if len(list) == 0 && n.int("noop_with_empty_axes", 0) == 0 {
		for k := range rank {
			list = append(list, k)
		}
		return list
	}
	for i, k := range list {
		list[i] = n.axis(k, rank)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// reducible reports whether Chelis has this reduction for the type of input 0.
func (n *node) reducible() bool {
	d := n.in[0].DType
	ok := isFloat(d) || d != tensor.Bool && n.Op != "ReduceMean" && n.Op != "ReduceL2"
	if !ok {
		n.refuse(ErrUnsupportedDtype, "%s of %v", n.Op, d)
	}
	return ok
}

func reduction(name string) func(n *node) string {
	return func(n *node) string {
		x, axes := n.args[0], n.axes()
		if n.err != nil || !n.reducible() {
			return ""
		}
		for _, k := range axes {
			if n.in[0].Dims[k].Is(0) {
				return n.refuse(ErrUnsupportedShape, "axis %d has no elements", k)
			}
		}
		switch n.Op {
		case "ReduceL1":
			x = abs(n)
		case "ReduceL2":
			x = call("mul", x, x)
		}
		x = reduce(name, x, axes)
		if n.Op == "ReduceL2" {
			x = call("sqrt", x)
		}
		if n.int("keepdims", 1) == 1 && len(axes) > 0 {
			return call("reshape", x, n.sizes(n.out[0].Dims))
		}
		return x
	}
}

func argReduction(name string) func(n *node) string {
	return func(n *node) string {
		if n.int("select_last_index", 0) != 0 {
			return n.refuse(ErrUnsupportedShape, "select_last_index, and the first one can be emitted")
		}
		x := call(name, n.args[0], axisOf(n.axis(n.int("axis", 0), len(n.in[0].Dims))))
		if n.int("keepdims", 1) == 1 {
			return call("reshape", x, n.sizes(n.out[0].Dims))
		}
		return x
	}
}

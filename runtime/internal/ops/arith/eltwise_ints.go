package arith

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// inferInts sets the elements of output 0 of an elementwise operator if it is an integer scalar or
// vector and the elements of all inputs are known, at least as expressions.
func inferInts(c *op.Infer, f func([]graph.Dim) graph.Dim) {
	out := c.Out[0]
	if out.Dims == nil || len(out.Dims) > 1 {
		return
	}
	n, ok := out.Dims.Len().Value()
	if !ok || n > op.MaxInts || n < 0 || out.DType != tensor.I64 && out.DType != tensor.I32 {
		return
	}
	lists := make([][]graph.Dim, len(c.In))
	for i, v := range c.In {
		if lists[i], ok = v.IntVec(); !ok || len(lists[i]) != n && len(lists[i]) != 1 {
			return
		}
	}
	out.Ints = make([]graph.Dim, n)
	args := make([]graph.Dim, len(lists))
	for i := range out.Ints {
		for k, l := range lists {
			args[k] = l[min(i, len(l)-1)]
		}
		out.Ints[i] = fits(out.DType, f(args))
	}
}

// fits returns d, or unknown if d is a number that wraps around in type t.
func fits(t tensor.DType, d graph.Dim) graph.Dim {
	if n, ok := d.Value(); ok && t == tensor.I32 && int(int32(n)) != n {
		return graph.Unknown()
	}
	return d
}

// small reports whether a sum or product of d and another small number cannot overflow.
func small(d graph.Dim) bool {
	n, ok := d.Value()
	return !ok || n > -math.MaxInt32 && n < math.MaxInt32
}

func addDims(a, b graph.Dim) graph.Dim {
	if !small(a) || !small(b) {
		return graph.Unknown()
	}
	return a.Add(b)
}

func subDims(a, b graph.Dim) graph.Dim {
	if !small(a) || !small(b) {
		return graph.Unknown()
	}
	return a.Sub(b)
}

func mulDims(a, b graph.Dim) graph.Dim {
	if !small(a) || !small(b) {
		return graph.Unknown()
	}
	return a.Mul(b)
}

// divDims rounds numbers towards zero. It assumes that an expression over extents divided by a
// positive number is not negative.
func divDims(a, b graph.Dim) graph.Dim {
	x, known := a.Value()
	y, ok := b.Value()
	switch {
	case ok && y == 0:
		return graph.Unknown()
	case known && ok:
		return graph.Known(x / y)
	case ok && y < 0, known && x < 0:
		return graph.Unknown()
	}
	return a.Div(b)
}

package kit

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// ItemCount is the number of items of a batch, as Items sees it in extents.
var ItemCount = graph.Symbol("#items")

// CountsItems reports whether an extent depends on the number of items.
func CountsItems(d graph.Dim) bool { return slices.Contains(d.Symbols(), ItemCount.String()) }

// ItemsFirst returns an Items of operators that compute each element of the first axis of the given
// inputs on its own, with outputs that have it as their first axis. The other inputs are the same for
// every item. Inputs left out do not matter.
func ItemsFirst(inputs ...int) op.Items {
	return func(n *graph.Node, in []*op.Value, at []int, _ []*op.Value) []int {
		for i, axis := range at {
			want := op.Shared
			if slices.Contains(inputs, i) && in[i] != nil {
				want = 0
			}
			if axis != want {
				return nil
			}
		}
		return slices.Repeat([]int{0}, len(n.Outputs))
	}
}

// ItemsFirstOnly is ItemsFirst for nodes with output 0 alone. The operator's further outputs mix
// items.
func ItemsFirstOnly(inputs ...int) op.Items {
	first := ItemsFirst(inputs...)
	return func(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
		if len(n.Outputs) != 1 {
			return nil
		}
		return first(n, in, at, out)
	}
}

// ItemsOfRows is ItemsFirst of input 0 for operators of matrices. A vector would be one row.
func ItemsOfRows(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	if rank, ok := in[0].Rank(); !ok || rank < 2 {
		return nil
	}
	return ItemsFirst(0)(n, in, at, out)
}

// ItemsKept is the Items of operators with an output like input 0, of which they compute every
// element on its own. The other inputs are the same for every item.
func ItemsKept(n *graph.Node, in []*op.Value, at []int, _ []*op.Value) []int {
	if at[0] < 0 || !AllShared(at[1:]) {
		return nil
	}
	return slices.Repeat(at[:1], len(n.Outputs))
}

// ItemsBeside returns an Items of operators that compute along attribute axis, by default def, and
// keep the other axes of input 0.
func ItemsBeside(def int) op.Items {
	return func(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
		rank, ok := in[0].Rank()
		if !ok || Axis((&op.Node{Node: n}).Int("axis", def), rank) == at[0] {
			return nil
		}
		return ItemsKept(n, in, at, out)
	}
}

// Axis returns an axis of a value counted from its first axis.
func Axis(axis, rank int) int {
	if axis < 0 {
		return axis + rank
	}
	return axis
}

// AllShared reports whether inputs are the same for every item.
func AllShared(at []int) bool {
	return !slices.ContainsFunc(at, func(axis int) bool { return axis != op.Shared })
}

// NoItems reports whether no input has items.
func NoItems(at []int) bool {
	return !slices.ContainsFunc(at, func(axis int) bool { return axis >= 0 })
}

// ItemsBroadcast returns the axis of items of a value of this rank that operands are broadcast to: the
// last axes fit. ok is false if operands with items have them along several axes or in parts of
// several sizes, or if another operand may have more than one element along the axis.
func ItemsBroadcast(in []*op.Value, at []int, rank int) (axis int, ok bool) {
	axis = -1
	var extent graph.Dim
	for i, v := range in {
		if v == nil || at[i] < 0 {
			continue
		}
		own, known := v.Rank()
		if !known || own > rank {
			return 0, false
		}
		here := at[i] + rank - own
		if axis >= 0 && (here != axis || !v.Dims[at[i]].Same(extent)) {
			return 0, false
		}
		axis, extent = here, v.Dims[at[i]]
	}
	if axis < 0 {
		return 0, false
	}
	for i, v := range in {
		switch {
		case v == nil || at[i] >= 0:
		case at[i] == op.Sized:
			return 0, false
		default:
			own, known := v.Rank()
			if k := axis - (rank - own); !known || k >= 0 && !v.Dims[k].Is(1) {
				return 0, false
			}
		}
	}
	return axis, true
}

// ItemsElementwise is the Items of operators that broadcast their inputs and compute every element
// on its own.
func ItemsElementwise(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	rank, ok := out[0].Rank()
	if !ok || len(in) > 1 && n.Domain == "" && n.Version < 7 {
		return nil // before version 7 the second operand may be aligned with the first axes
	}
	axis, ok := ItemsBroadcast(in, at, rank)
	if !ok {
		return nil
	}
	return slices.Repeat([]int{axis}, len(n.Outputs))
}

// ItemsOf returns the Items of a row: ItemsElementwise for an elementwise operator without one of its
// own.
func ItemsOf(row *op.Row) op.Items {
	if row.Items == nil && row.Elementwise {
		return func(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
			if len(n.Outputs) > 1 {
				return nil // the column speaks of output 0
			}
			return ItemsElementwise(n, in, at, out)
		}
	}
	return row.Items
}

// ItemsReshaped returns the axis of items of a value that has the elements of x, with items along
// axis at, in the same order. ok is false if there is none.
func ItemsReshaped(x *op.Value, at int, y *op.Value) (axis int, ok bool) {
	if _, known := x.Rank(); !known {
		return 0, false
	}
	if _, known := y.Rank(); !known {
		return 0, false
	}
	before, after := volume(x.Dims[:at]), volume(x.Dims[at:])
	for k := range y.Dims {
		// Ahead of the axis are as many elements, and an extent of 1 is no axis of several items.
		if volume(y.Dims[:k]).Same(before) && volume(y.Dims[k:]).Same(after) && !y.Dims[k].Is(1) {
			return k, true
		}
	}
	return 0, false
}

// volume returns the product of extents.
func volume(dims graph.Dims) graph.Dim {
	n := graph.Known(1)
	for _, d := range dims {
		n = n.Mul(d)
	}
	return n
}

// FitsItems reports whether an operand, nil if it is left out, fits items along an axis of a value with
// this many axes: it has items of this extent there, or one element for all.
func FitsItems(v *op.Value, at, rank, axis int, extent graph.Dim) bool {
	if v == nil {
		return true
	}
	own, ok := v.Rank()
	if !ok || own > rank || at == op.Sized {
		return false
	}
	k := axis - (rank - own)
	if at >= 0 {
		return at == k && v.Dims[at].Same(extent)
	}
	return k < 0 || v.Dims[k].Is(1)
}

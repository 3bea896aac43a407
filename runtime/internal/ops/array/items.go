package array

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// itemsOfView is the Items of operators that give the elements of input 0 other extents.
func itemsOfView(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	if at[0] < 0 || !kit.NoItems(at[1:]) {
		return nil
	}
	axis, ok := kit.ItemsReshaped(in[0], at[0], out[0])
	if !ok {
		return nil
	}
	return []int{axis}
}

func itemsOfTranspose(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	rank, ok := in[0].Rank()
	if !ok || at[0] < 0 {
		return nil
	}
	perm := (&op.Node{Node: n}).Ints("perm")
	if perm == nil {
		return []int{rank - 1 - at[0]}
	}
	if axis := slices.Index(perm, at[0]); axis >= 0 {
		return []int{axis}
	}
	return nil
}

// itemsOfConcat is the Items of Concat along another axis. All inputs must have items.
func itemsOfConcat(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	rank, ok := in[0].Rank()
	if !ok || at[0] < 0 || kit.Axis((&op.Node{Node: n}).Int("axis", 1), rank) == at[0] {
		return nil
	}
	for i, v := range in {
		own, ok := v.Rank()
		if !ok || own != rank || at[i] != at[0] || !v.Dims[at[0]].Same(in[0].Dims[at[0]]) {
			return nil
		}
	}
	return at[:1]
}

// itemsOfSplit is the Items of Split along another axis.
func itemsOfSplit(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	return kit.ItemsBeside(0)(n, in, at, out)
}

// itemsOfSlice is the Items of Slice along other axes.
func itemsOfSlice(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	rank, ok := in[0].Rank()
	if !ok || at[0] < 0 || !kit.NoItems(at[1:]) {
		return nil
	}
	a := &op.Node{Node: n}
	axes, count := a.Ints("axes"), len(a.Ints("starts"))
	if n.Version >= 10 {
		if d := in[1].Dims; len(d) != 1 || !d[0].IsKnown() {
			return nil
		}
		count, _ = in[1].Dims[0].Value()
		if axes = nil; len(in) > 3 && in[3] != nil {
			if axes, ok = constants(in[3]); !ok {
				return nil
			}
		}
	}
	if axes == nil && at[0] < count {
		return nil
	}
	if slices.ContainsFunc(axes, func(axis int) bool { return kit.Axis(axis, rank) == at[0] }) {
		return nil
	}
	return at[:1]
}

// constants returns the elements of a constant vector of integers.
func constants(v *op.Value) ([]int, bool) {
	list, ok := v.IntVec()
	if !ok {
		return nil, false
	}
	out := make([]int, len(list))
	for i, d := range list {
		if out[i], ok = d.Value(); !ok {
			return nil, false
		}
	}
	return out, true
}

// itemsOfPad is the Items of Pad that adds nothing along the axis of items.
func itemsOfPad(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	rank, ok := in[0].Rank()
	if !ok || at[0] < 0 || n.Version < 11 || !kit.AllShared(at[1:]) {
		return nil
	}
	pads, ok := constants(in[1])
	if !ok {
		return nil
	}
	axes := make([]int, rank)
	for k := range axes {
		axes[k] = k
	}
	if len(in) > 3 && in[3] != nil {
		if axes, ok = constants(in[3]); !ok {
			return nil
		}
	}
	if len(pads) != 2*len(axes) {
		return nil
	}
	for k, axis := range axes {
		if kit.Axis(axis, rank) == at[0] && (pads[k] != 0 || pads[k+len(axes)] != 0) {
			return nil
		}
	}
	return at[:1]
}

// itemsOfGather is the Items of Gather of items from data that all share, and of Gather along another
// axis of data with items.
func itemsOfGather(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	rank, ok := in[0].Rank()
	picks, known := in[1].Rank()
	if !ok || !known {
		return nil
	}
	axis := kit.Axis((&op.Node{Node: n}).Int("axis", 0), rank)
	switch {
	case at[0] == op.Shared && at[1] >= 0:
		return []int{axis + at[1]}
	case at[1] != op.Shared || at[0] < 0 || at[0] == axis:
		return nil
	case at[0] < axis:
		return at[:1]
	}
	return []int{at[0] + picks - 1}
}

// itemsOfElements returns an Items of operators that move elements along attribute axis, with
// operands that all have items along another axis.
func itemsOfElements(def int) op.Items {
	return func(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
		rank, ok := in[0].Rank()
		if !ok || at[0] < 0 || kit.Axis((&op.Node{Node: n}).Int("axis", def), rank) == at[0] {
			return nil
		}
		for i, v := range in {
			own, ok := v.Rank()
			if !ok || own != rank || at[i] != at[0] || !v.Dims[at[0]].Same(in[0].Dims[at[0]]) {
				return nil
			}
		}
		return at[:1]
	}
}

// itemsOfGatherND is the Items of GatherND with items in its first batch dimension.
func itemsOfGatherND(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	if (&op.Node{Node: n}).Int("batch_dims", 0) < 1 {
		return nil
	}
	return kit.ItemsFirst(0, 1)(n, in, at, out)
}

// itemsOfExpand is the Items of Expand and Tile: of items that do not repeat, and of a value that all
// items share and that repeats for each.
func itemsOfExpand(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	own, ok := in[0].Rank()
	rank, known := out[0].Rank()
	if !ok || !known || !kit.NoItems(at[1:]) {
		return nil
	}
	if at[0] < 0 {
		return itemsOfSize(n, in, at, out)
	}
	axis := at[0] + rank - own
	if !out[0].Dims[axis].Same(in[0].Dims[at[0]]) {
		return nil
	}
	return []int{axis}
}

// itemsOfSize is the Items of operators that repeat the same elements along the one axis that varies
// with the number of items.
func itemsOfSize(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	if at[0] == op.Sized && len(in) > 1 {
		return nil
	}
	for k, d := range out[0].Dims {
		if kit.CountsItems(d) {
			return []int{k}
		}
	}
	return nil
}

// itemsOfTrilu is the Items of Trilu, which cuts the last two axes.
func itemsOfTrilu(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	if rank, ok := in[0].Rank(); !ok || at[0] >= rank-2 {
		return nil
	}
	return kit.ItemsKept(n, in, at, out)
}

func itemsOfOneHot(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	rank, ok := in[0].Rank()
	if !ok || at[0] < 0 || !kit.AllShared(at[1:]) {
		return nil
	}
	if axis := kit.Axis((&op.Node{Node: n}).Int("axis", -1), rank+1); axis <= at[0] {
		return []int{at[0] + 1}
	}
	return at[:1]
}

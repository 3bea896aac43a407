package arith

import (
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// ItemsOfProduct returns an Items of products of the matrices in inputs a and b. Inputs from added on
// are added to the product; 0 for none. The others are the same for every item.
func ItemsOfProduct(a, b, added int) op.Items {
	return func(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
		attrs := &op.Node{Node: n}
		axis, extent, ok := productAxis(
			factor{in[a], at[a], AxisOrder{attrs.Bool("transA", false), attrs.Bool("transBatchA", false)}},
			factor{in[b], at[b], AxisOrder{attrs.Bool("transB", false), attrs.Bool("transBatchB", false)}}, len(out[0].Dims))
		if !ok {
			return nil
		}
		for i, v := range in {
			switch {
			case i == a || i == b:
			case added == 0 || i < added:
				if at[i] != op.Shared {
					return nil
				}
			case !kit.FitsItems(v, at[i], len(out[0].Dims), axis, extent):
				return nil
			}
		}
		return []int{axis}
	}
}

// factor is an operand of a product, with the axis of its items.
type factor struct {
	v     *op.Value
	at    int
	order AxisOrder
}

// axis returns the rank and the axis of items once the axes are reordered; the axis is negative if
// there are none.
func (f factor) axis() (rank, axis int, ok bool) {
	rank, known := f.v.Rank()
	if !known || rank < 2 || f.at == op.Sized {
		return 0, 0, false
	}
	places := make([]graph.Dim, rank)
	for k := range places {
		places[k] = graph.Known(k)
	}
	return rank, slices.IndexFunc(f.order.Apply(places), func(d graph.Dim) bool { return d.Is(f.at) }), true
}

// productAxis returns the axis of items of a product with this many axes, and its extent.
func productAxis(a, b factor, rank int) (axis int, extent graph.Dim, ok bool) {
	ra, pa, knownA := a.axis()
	rb, pb, knownB := b.axis()
	if !knownA || !knownB || pa == ra-1 || pb >= 0 && pb == rb-2 || pa < 0 && pb < 0 {
		return 0, extent, false
	}
	if pa >= 0 {
		axis, extent = pa+rank-ra, a.v.Dims[a.at]
	}
	if pb >= 0 {
		if pa >= 0 && (pb+rank-rb != axis || !b.v.Dims[b.at].Same(extent)) {
			return 0, extent, false
		}
		axis, extent = pb+rank-rb, b.v.Dims[b.at]
	}
	if axis >= rank-2 { // rows of A or columns of B
		return axis, extent, pa < 0 || pb < 0
	}
	return axis, extent, (pa >= 0 || alone(b, rank, axis)) && (pb >= 0 || alone(a, rank, axis))
}

// alone reports whether a factor without items has one matrix along an axis of the product.
func alone(f factor, rank, axis int) bool {
	dims := f.order.Apply(f.v.Dims)
	k := axis - (rank - len(dims))
	return k < 0 || dims[k].Is(1)
}

// itemsOfGemm is the Items of Gemm with items in the rows of A.
func itemsOfGemm(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	rows := 0
	if (&op.Node{Node: n}).Bool("transA", false) {
		rows = 1
	}
	if at[0] != rows || at[1] != op.Shared {
		return nil
	}
	if len(in) > 2 && !kit.FitsItems(in[2], at[2], 2, 0, in[0].Dims[at[0]]) {
		return nil
	}
	return []int{0}
}

// itemsOfReduce is the Items of reductions along other axes.
func itemsOfReduce(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	rank, ok := in[0].Rank()
	if !ok || at[0] < 0 || !kit.AllShared(at[1:]) {
		return nil
	}
	attrs := &op.Node{Node: n}
	axes := attrs.Ints("axes")
	if len(in) > 1 && in[1] != nil {
		list, ok := in[1].IntVec()
		if !ok {
			return nil
		}
		for _, d := range list {
			axis, ok := d.Value()
			if !ok {
				return nil
			}
			axes = append(axes, axis)
		}
	}
	if len(axes) == 0 {
		if attrs.Bool("noop_with_empty_axes", false) {
			return at[:1]
		}
		return nil
	}
	return reduced(axes, at[0], rank, attrs.Bool("keepdims", true))
}

// reduced returns the place of an axis after others are reduced.
func reduced(axes []int, at, rank int, keep bool) []int {
	to := at
	for _, axis := range axes {
		switch axis = kit.Axis(axis, rank); {
		case axis == at:
			return nil
		case axis < at && !keep:
			to--
		}
	}
	return []int{to}
}

// itemsOfArg is the Items of ArgMax and ArgMin along another axis.
func itemsOfArg(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	rank, ok := in[0].Rank()
	if !ok || at[0] < 0 {
		return nil
	}
	attrs := &op.Node{Node: n}
	return reduced([]int{attrs.Int("axis", 0)}, at[0], rank, attrs.Bool("keepdims", true))
}

// itemsOfCumulate is the Items of operators that accumulate along the constant axis in input 1.
func itemsOfCumulate(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	rank, ok := in[0].Rank()
	list, known := in[1].IntVec()
	if !ok || !known || len(list) != 1 {
		return nil
	}
	axis, known := list[0].Value()
	if !known || kit.Axis(axis, rank) == at[0] {
		return nil
	}
	return kit.ItemsKept(n, in, at, out)
}

// itemsOfMatrix is the Items of operators that compute each matrix of the last two axes on its own, and
// drop these axes or keep them.
func itemsOfMatrix(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	if rank, ok := in[0].Rank(); !ok || at[0] >= rank-2 {
		return nil
	}
	return kit.ItemsKept(n, in, at, out)
}

// itemsOfEinsum is the Items of an equation that keeps the letter of items. It does not sum over the
// letter, and all operands that have it have items.
func itemsOfEinsum(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	equation := strings.ReplaceAll((&op.Node{Node: n}).Str("equation", ""), " ", "")
	left, right, ok := strings.Cut(equation, "->")
	terms := strings.Split(left, ",")
	if !ok || strings.Contains(equation, ".") || len(terms) != len(in) {
		return nil
	}
	letter, extent := "", graph.Dim{}
	for i, term := range terms {
		if rank, ok := in[i].Rank(); !ok || rank != len(term) || at[i] == op.Sized {
			return nil
		}
		if at[i] < 0 {
			continue
		}
		own := term[at[i]:][:1]
		if letter != "" && (own != letter || !in[i].Dims[at[i]].Same(extent)) {
			return nil
		}
		letter, extent = own, in[i].Dims[at[i]]
	}
	if letter == "" {
		return nil
	}
	for i, term := range terms {
		if has := strings.Count(term, letter); at[i] < 0 && has > 0 || at[i] >= 0 && has > 1 {
			return nil // another operand, or another axis, has the letter
		}
	}
	if strings.Count(right, letter) != 1 {
		return nil
	}
	return []int{strings.Index(right, letter)}
}

package quant

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// itemsOfLinear is the Items of QuantizeLinear and DequantizeLinear with scales for all elements, or for
// the elements along another axis.
func itemsOfLinear(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	rank, ok := in[0].Rank()
	scales, known := in[1].Rank()
	if !ok || !known || scales > 1 || scales == 1 && kit.Axis((&op.Node{Node: n}).Int("axis", 1), rank) == at[0] {
		return nil
	}
	return kit.ItemsKept(n, in, at, out)
}

// itemsOfCodes returns an Items of products of codes in inputs a and b. The scales and zero points of a
// factor with items, in inputs ofA or ofB, are for all of its codes.
func itemsOfCodes(a, b int, ofA, ofB []int) op.Items {
	return func(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
		for i, v := range in {
			if v == nil || !(slices.Contains(ofA, i) && at[a] >= 0) && !(slices.Contains(ofB, i) && at[b] >= 0) {
				continue
			}
			if rank, ok := v.Rank(); !ok || rank > 0 && !v.Dims.Len().Is(1) {
				return nil
			}
		}
		return arith.ItemsOfProduct(a, b, 0)(n, in, at, out)
	}
}

// itemsOfPair is the Items of operators that broadcast the codes in inputs QLinearPairA and
// QLinearPairB.
func itemsOfPair(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	for i, axis := range at {
		if i != QLinearPairA && i != QLinearPairB && axis != op.Shared {
			return nil
		}
	}
	operands := []*op.Value{in[QLinearPairA], in[QLinearPairB]}
	axis, ok := kit.ItemsBroadcast(operands, []int{at[QLinearPairA], at[QLinearPairB]}, len(out[0].Dims))
	if !ok {
		return nil
	}
	return []int{axis}
}

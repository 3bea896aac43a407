package attention

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// itemsOf returns the Items of attention over batches of queries in input 0. Inputs each have an item
// for each query's, biases one or the same for all, masks one for each. The others are the same for
// every item. Inputs of none must be left out.
func itemsOf(each, biases, masks, none []int) op.Items {
	return func(n *graph.Node, in []*op.Value, at []int, _ []*op.Value) []int {
		if at[0] != 0 {
			return nil
		}
		batch := in[0].Dims[0]
		for i, v := range in {
			fits := v == nil || at[i] == op.Shared
			switch {
			case slices.Contains(each, i):
				fits = v == nil || at[i] == 0 && v.Dims[0].Same(batch)
			case slices.Contains(biases, i):
				fits = kit.FitsItems(v, at[i], 4, 0, batch)
			case slices.Contains(masks, i):
				// A vector of another extent lists the batch twice or more.
				fits = v == nil || at[i] == 0 && v.Dims[0].Same(batch)
			case slices.Contains(none, i):
				fits = v == nil
			}
			if !fits {
				return nil
			}
		}
		return slices.Repeat([]int{0}, len(n.Outputs))
	}
}

var (
	itemsOfAttention = itemsOf([]int{Query, Key, Value, PastKey, PastValue, Lengths}, []int{Mask}, nil, nil)
	itemsOfMultiHead = itemsOf([]int{0, 1, 2, 6, 7}, []int{5}, []int{4}, []int{8, 9})
	itemsOfGrouped   = itemsOf([]int{0, 1, 2, 3, 4, 5, 9}, nil, nil, []int{10, 11, 12, 13, 14, 15})
)

// itemsOfProjected is the Items of Microsoft's Attention without a past, which has the batch as its
// second axis.
func itemsOfProjected(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	if len(n.Outputs) != 1 {
		return nil
	}
	return itemsOf([]int{0}, []int{5}, []int{3}, []int{4, 6})(n, in, at, out)
}

// itemsOfRotary returns the Items of a rotation by caches in these inputs. Without positions the caches
// have items.
func itemsOfRotary(positions, cos, sin int) op.Items {
	return func(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
		if positions < len(in) && in[positions] != nil {
			if at[positions] == op.Shared && len(in[positions].Dims) < 2 {
				return kit.ItemsFirst(0)(n, in, at, out)
			}
			return kit.ItemsFirst(0, positions)(n, in, at, out)
		}
		return kit.ItemsFirst(0, cos, sin)(n, in, at, out)
	}
}

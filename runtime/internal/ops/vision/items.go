package vision

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// itemsOfResize is the Items of Resize and Upsample that keep the first axis. Sizes may count items.
func itemsOfResize(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	const cropping = "tf_crop_and_resize"
	if at[0] != 0 || !kit.NoItems(at[1:]) || (&op.Node{Node: n}).Str("coordinate_transformation_mode", "") == cropping ||
		len(out[0].Dims) == 0 || !out[0].Dims[0].Same(in[0].Dims[0]) {
		return nil
	}
	return []int{0}
}

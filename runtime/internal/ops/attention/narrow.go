package attention

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Narrow selects attention with a cache of another element type than the keys and values: floats,
// or int8. Without a past, keys and values themselves may be int8. A row of int8 has one code for
// each element of the head, then the bytes of a scale for each block of 32 elements, a bfloat16. An
// element is its code times the scale of its block: the largest magnitude of the block / 127,
// rounded up.
type Narrow bool

// has reports whether attention with narrow caches takes element type d.
func (n Narrow) has(d tensor.DType) bool {
	return bool(n) && (d == tensor.I8 || kit.ComputedInF32.Has(d))
}

// takesCodes reports whether input i, keys or values, is of int8 and may be. The pasts are in inputs
// past and past+1.
func (n Narrow) takesCodes(c *op.Infer, i, past int) bool {
	return bool(n) && c.Has(i) && c.In[i].DType == tensor.I8 && !c.Has(past) && !c.Has(past+1)
}

// cacheType returns the element type of the cache in input past; x if the node lacks that input.
func (n Narrow) cacheType(c *op.Infer, past int, x tensor.DType) (tensor.DType, error) {
	if !c.Has(past) {
		return x, nil
	}
	d := c.In[past].DType
	if d == x || n.has(d) {
		return d, nil
	}
	return d, graph.Errorf(graph.ErrShape, "the past in input %d has element type %v, keys and values %v", past, d, x)
}

// cacheDims returns the extents of a cache of type d for the keys or values of x.
func cacheDims(d tensor.DType, x HeadRows) graph.Dims {
	x.Size = kit.CacheWidth(d, x.Size)
	return x.Dims()
}

// narrowed returns a constructor that makes attention with a narrow cache.
func narrowed[T any](make func(n *op.Node) (op.Op, error), narrow func(o *T)) func(n *op.Node) (op.Op, error) {
	return func(n *op.Node) (op.Op, error) {
		o, err := make(n)
		if err != nil {
			return nil, err
		}
		narrow(any(o).(*T))
		return o, nil
	}
}

var narrowRows = []op.Row{
	{Domain: kit.Internal, Name: "NarrowAttention", Since: []int{23, 24, 25}, In: [2]int{3, 7}, Out: [2]int{1, 4},
		Types: kit.ComputedInF32, New: narrowed(newAttention, func(o *Attention) { o.Narrow = true })},
	{Domain: kit.Internal, Name: "NarrowMultiHeadAttention", Since: []int{1}, In: [2]int{1, 9}, Out: [2]int{1, 4},
		Types: kit.ComputedInF32, New: narrowed(newMultiHead, func(o *MultiHeadAttention) { o.Narrow = true })},
	{Domain: kit.Internal, Name: "NarrowGroupQueryAttention", Since: []int{1}, In: [2]int{7, 16},
		Optional: kit.Inputs(1, 2, 3, 4), Out: [2]int{1, 4}, Types: kit.ComputedInF32,
		New: narrowed(newGroupQueryAttention, func(o *GroupQueryAttention) { o.Narrow = true })},
}

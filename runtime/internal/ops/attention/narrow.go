package attention

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Narrow selects attention with a cache of floats of another type than the keys and values.
// GroupQueryAttention always takes such a cache.
type Narrow bool

// cacheType returns the element type of the cache in input past; x if the node lacks that input.
func (n Narrow) cacheType(c *op.Infer, past int, x tensor.DType) (tensor.DType, error) {
	if !c.Has(past) {
		return x, nil
	}
	d := c.In[past].DType
	if d != x && !(bool(n) && kit.ComputedInF32.Has(d)) {
		return d, graph.Errorf(graph.ErrShape, "the past in input %d has element type %v, keys and values %v", past, d, x)
	}
	return d, nil
}

func newNarrow(n *op.Node) (op.Op, error) {
	o, err := newAttention(n)
	if err == nil {
		o.(*Attention).Narrow = true
	}
	return o, err
}

func newNarrowMultiHead(n *op.Node) (op.Op, error) {
	o, err := newMultiHead(n)
	if err == nil {
		o.(*MultiHeadAttention).Narrow = true
	}
	return o, err
}

var narrowRows = []op.Row{
	{Domain: kit.Internal, Name: "NarrowAttention", Since: []int{23, 24, 25}, In: [2]int{3, 7}, Out: [2]int{1, 4}, Types: op.Types{tensor.F32},
		New: newNarrow},
	{Domain: kit.Internal, Name: "NarrowMultiHeadAttention", Since: []int{1}, In: [2]int{1, 9}, Out: [2]int{1, 4}, Types: op.Types{tensor.F32},
		New: newNarrowMultiHead},
}

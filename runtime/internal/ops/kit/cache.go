package kit

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// The scales of a row of int8 in a cache: one for each block of elements, a bfloat16.
const (
	cacheBlock = 32
	scaleBytes = 2
)

// CacheWidth returns the elements of a row of a cache of keys or values of type d for heads of that
// size. A row of int8 ends with the bytes of its scales.
func CacheWidth(d tensor.DType, size graph.Dim) graph.Dim {
	if d == tensor.I8 {
		blocks := size.Add(graph.Known(cacheBlock - 1)).Div(graph.Known(cacheBlock))
		return size.Add(blocks.Mul(graph.Known(scaleBytes)))
	}
	return size
}

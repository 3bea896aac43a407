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
		return size.Add(cacheBlocks(size, cacheBlock).Mul(graph.Known(scaleBytes)))
	}
	return size
}

// CacheSize returns the size of the heads of a cache of type d with rows of that width.
func CacheSize(d tensor.DType, width graph.Dim) graph.Dim {
	if d == tensor.I8 {
		return width.Sub(cacheBlocks(width, cacheBlock+scaleBytes).Mul(graph.Known(scaleBytes)))
	}
	return width
}

// cacheBlocks returns the number of blocks of n, the last one of which may be shorter.
func cacheBlocks(d graph.Dim, n int) graph.Dim {
	return d.Add(graph.Known(n - 1)).Div(graph.Known(n))
}

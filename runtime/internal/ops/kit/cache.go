package kit

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// scaleBytes is the size of the scale of a row of int8 in a cache, a float32.
const scaleBytes = 4

// CacheWidth returns the elements of a row of a cache of keys or values of type d for heads of that
// size. A row of int8 ends with the bytes of its scale.
func CacheWidth(d tensor.DType, size graph.Dim) graph.Dim {
	if d == tensor.I8 {
		return size.Add(graph.Known(scaleBytes))
	}
	return size
}

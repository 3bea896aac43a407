package ml

import (
	"iter"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// inferFeatures sets output 0 to the input's extents and element type d. Each count is the length
// of a list of parameters: one for all features, or one per feature of the last axis.
func inferFeatures(c *op.Infer, d tensor.DType, counts ...int) error {
	x := c.In[0]
	for _, count := range counts {
		if rank, ok := x.Rank(); ok && count != 1 && (rank == 0 || x.Dims[rank-1].IsKnown() && !x.Dims[rank-1].Is(count)) {
			return graph.Errorf(graph.ErrShape, "input is %v and numbers for %d features are given", x.Type, count)
		}
	}
	c.Set(0, d, x.Dims)
	return nil
}

// featureCount returns the extent of the input's last axis, checked against counts as in
// inferFeatures.
func featureCount(c *op.Run, counts ...int) (int, error) {
	s, n := c.In[0].Shape(), 1
	if len(s) > 0 {
		n = s[len(s)-1]
	}
	for _, count := range counts {
		if count != 1 && count != n {
			return 0, graph.Errorf(graph.ErrShape, "input is %v and numbers for %d features are given", c.In[0], count)
		}
	}
	return n, nil
}

// perFeature returns list if it has n elements, or its only element n times.
func perFeature[T any](list []T, n int) []T {
	if len(list) == n {
		return list
	}
	long := make([]T, n)
	for i := range long {
		long[i] = list[0]
	}
	return long
}

// blocksOf yields the elements of x as N: some at a time, with the index of the first. The next
// block overwrites the memory.
func blocksOf[N float32 | float64 | int64](x *tensor.Tensor) iter.Seq2[int, []N] {
	return func(yield func(int, []N) bool) {
		block := make([]N, min(x.Len(), 512))
		for at := 0; at < x.Len(); at += len(block) {
			list := block[:min(len(block), x.Len()-at)]
			elements.Get(list, x, at)
			if !yield(at, list) {
				return
			}
		}
	}
}

// number lists the Go types of numberTypes.
type number interface {
	float32 | float64 | int64 | int32
}

// overInput lets the output reuse the input's memory.
func overInput(row op.Row) op.Row {
	row.InPlace = []int{0}
	return row
}

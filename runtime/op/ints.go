package op

import (
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Ints returns the elements of an integer tensor of any rank.
func Ints(t *tensor.Tensor) ([]int, error) { return appendInts(make([]int, 0, t.Len()), t) }

// appendInts appends the elements of an integer tensor of any rank to list.
func appendInts(list []int, t *tensor.Tensor) ([]int, error) {
	if d := t.DType(); d.Layout() != nil || d.Kind() != tensor.Signed && d != tensor.U8 {
		return nil, fmt.Errorf("%v where integers are needed", t)
	}
	n := len(list)
	list = slices.Grow(list, t.Len())[:n+t.Len()]
	elements.Get(list[n:], t.Aligned(), 0)
	return list, nil
}

// ScalarInt returns the only element of an integer tensor.
func ScalarInt(t *tensor.Tensor, name string) (int, error) {
	var one [1]int
	list, err := appendInts(one[:0], t)
	if err != nil {
		return 0, graph.Errorf(graph.ErrShape, "%s is %w", name, err)
	}
	if len(list) != 1 {
		return 0, graph.Errorf(graph.ErrShape, "%s is %v, not one element", name, t)
	}
	return list[0], nil
}

// ScalarDim returns the only element of input i, an integer, as an extent; it is unknown if the
// element is.
func (c *Infer) ScalarDim(i int, name string) (graph.Dim, error) {
	v := c.In[i]
	if n, ok := v.Dims.Len().Value(); ok && v.Dims != nil && n != 1 {
		return graph.Dim{}, graph.Errorf(graph.ErrShape, "%s is %v, not one element", name, v.Type)
	}
	if !v.DType.IsInteger() {
		return graph.Dim{}, graph.Errorf(graph.ErrShape, "%s is %v, not an integer", name, v.Type)
	}
	if list, ok := v.IntVec(); ok && len(list) == 1 {
		return list[0], nil
	}
	return graph.Unknown(), nil
}

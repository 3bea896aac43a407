package kit

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// extentsUnder returns the extents of y and then of each input, aligned at the last axis, as the
// broadcasting kernels take them.
func extentsUnder(y tensor.Shape, inputs ...tensor.Shape) ([]int, error) {
	rank := len(y)
	dims := append(make([]int, 0, rank*(1+len(inputs))), y...)
	for _, s := range inputs {
		for axis := range y {
			n := 1
			if k := axis - rank + len(s); k >= 0 {
				n = s[k]
			}
			if n != 1 && n != y[axis] {
				return nil, graph.Errorf(graph.ErrShape, "shape %v does not stretch to %v", s, y)
			}
			dims = append(dims, n)
		}
		if len(s) > rank {
			return nil, graph.Errorf(graph.ErrShape, "shape %v does not stretch to %v", s, y)
		}
	}
	return dims, nil
}

// Walker steps through the elements of a result in order and tracks the index of the matching
// element in each input that broadcasts to it.
type Walker struct {
	At     []int // index of the current element of each input
	index  []int
	shape  tensor.Shape
	stride [][]int // by axis, then input
}

// NewWalker returns a walker at the first element of a result of shape y.
func NewWalker(y tensor.Shape, inputs ...tensor.Shape) (*Walker, error) {
	dims, err := extentsUnder(y, inputs...)
	if err != nil {
		return nil, err
	}
	rank := len(y)
	w := &Walker{At: make([]int, len(inputs)), index: make([]int, rank), shape: y, stride: make([][]int, rank)}
	for axis := range w.stride {
		w.stride[axis] = make([]int, len(inputs))
	}
	for k := range inputs {
		run := 1
		for axis := rank - 1; axis >= 0; axis-- {
			if n := dims[(k+1)*rank+axis]; n != 1 {
				w.stride[axis][k] = run
				run *= n
			}
		}
	}
	return w, nil
}

// Next moves to the next element.
func (w *Walker) Next() {
	for axis := len(w.shape) - 1; axis >= 0; axis-- {
		w.index[axis]++
		for k, s := range w.stride[axis] {
			w.At[k] += s
		}
		if w.index[axis] < w.shape[axis] {
			return
		}
		w.index[axis] = 0
		for k, s := range w.stride[axis] {
			w.At[k] -= s * w.shape[axis]
		}
	}
}

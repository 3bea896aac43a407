package op

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Broadcast returns the extents of the result of an elementwise operation on operands with extents
// a and b, aligned at the last axis. Axes of extent 1 stretch. If the rank of either is unknown, it
// returns nil. If two extents can never be equal and neither can be 1, it returns an error.
func Broadcast(a, b graph.Dims) (graph.Dims, error) {
	if a == nil || b == nil {
		return nil, nil
	}
	long, short := a, b
	if len(long) < len(short) {
		long, short = short, long
	}
	out := make(graph.Dims, len(long))
	lead := copy(out, long[:len(long)-len(short)])
	for i, d := range short {
		e, ok := BroadcastDim(long[lead+i], d)
		if !ok {
			return nil, graph.Errorf(graph.ErrShape, "shapes %v and %v do not broadcast: axes of %v and %v elements", a, b, long[lead+i], d)
		}
		out[lead+i] = e
	}
	return out, nil
}

// BroadcastDim is Broadcast for one axis. A symbolic extent is either 1 or equal to its partner, so
// a number other than 1 decides.
func BroadcastDim(d, e graph.Dim) (graph.Dim, bool) {
	switch {
	case d.Is(1):
		return e, true
	case e.Is(1), d.Same(e):
		return d, true
	case capOf(e, d):
		return d, true
	case capOf(d, e):
		return e, true
	case d.IsKnown() && e.IsKnown():
		return graph.Dim{}, false
	case d.IsKnown():
		return d, true
	case e.IsKnown():
		return e, true
	}
	return graph.Unknown(), true
}

// capOf reports whether d is e limited to a number of 2 or more, such as the used part of a table
// of positions. The two broadcast only if they are equal, because d cannot be 1 if e exceeds the
// limit.
func capOf(d, e graph.Dim) bool {
	n, ok := d.CapOf(e)
	return ok && n > 1
}

// BroadcastAll is Broadcast for one or more operands.
func BroadcastAll(list ...graph.Dims) (graph.Dims, error) {
	out := list[0]
	for _, d := range list[1:] {
		var err error
		if out, err = Broadcast(out, d); err != nil {
			return nil, err
		}
	}
	return out, nil
}

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

package openinfer

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// spread is an input that broadcasts to the shape of a result.
type spread struct {
	t    *tensor.Tensor
	axes []spreadAxis // outermost first, neighbours merged
}

// spreadAxis is an axis of the result and the input's step along it.
type spreadAxis struct{ n, step int }

// spreadTo returns t broadcast to shape.
func spreadTo(t *tensor.Tensor, shape tensor.Shape) (s spread, err error) {
	s.t = t.Aligned()
	in := t.Shape()
	if len(in) > len(shape) {
		return s, graph.Errorf(graph.ErrShape, "shape %v does not stretch to %v", in, shape)
	}
	steps, run := make([]int, len(shape)), 1
	for axis := len(shape) - 1; axis >= len(shape)-len(in); axis-- {
		switch n := in[axis-len(shape)+len(in)]; {
		case n == shape[axis] && n != 1:
			steps[axis] = run
			run *= n
		case n != 1:
			return s, graph.Errorf(graph.ErrShape, "shape %v does not stretch to %v", in, shape)
		}
	}
	for axis, n := range shape {
		last := len(s.axes) - 1
		switch {
		case n == 1:
		case last >= 0 && s.axes[last].step == steps[axis]*n:
			s.axes[last] = spreadAxis{s.axes[last].n * n, steps[axis]}
		default:
			s.axes = append(s.axes, spreadAxis{n, steps[axis]})
		}
	}
	if len(s.axes) == 0 {
		s.axes = []spreadAxis{{1, 0}}
	}
	return s, nil
}

// loadSpread stores the elements that the result reads from element at on.
func loadSpread[C number](dst []C, s *spread, at int) {
	inner := s.axes[len(s.axes)-1]
	for len(dst) > 0 {
		from, row := 0, at/inner.n
		for i := len(s.axes) - 2; i >= 0; i-- {
			from += row % s.axes[i].n * s.axes[i].step
			row /= s.axes[i].n
		}
		n := min(len(dst), inner.n-at%inner.n)
		if inner.step != 0 {
			load(dst[:n], s.t, from+at%inner.n)
		} else {
			load(dst[:1], s.t, from)
			for i := range dst[:n] {
				dst[i] = dst[0]
			}
		}
		dst, at = dst[n:], at+n
	}
}

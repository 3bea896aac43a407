package op

import (
	"github.com/nacre-ml/nacre/runtime/graph"
)

// broadcast returns the extents of the result of an elementwise operation on
// operands with extents a and b, aligned at the last axis; axes of extent 1
// stretch. It returns nil when the number of axes of either is unknown, and an
// error when two extents can never go together.
func broadcast(a, b graph.Dims) (graph.Dims, error) {
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
		e, ok := broadcastDim(long[lead+i], d)
		if !ok {
			return nil, graph.Errorf(graph.ErrShape, "shapes %v and %v do not broadcast: axes of %v and %v elements", a, b, long[lead+i], d)
		}
		out[lead+i] = e
	}
	return out, nil
}

// broadcastDim is the rule for one axis. An extent that is not a number is
// either 1 or equal to its partner, so a number other than 1 decides.
func broadcastDim(d, e graph.Dim) (graph.Dim, bool) {
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

// capOf reports whether d is e up to a limit, such as the part of a table of
// positions. Both go together only where they are equal: a limit of 2 or more is
// not 1 where e exceeds it.
func capOf(d, e graph.Dim) bool {
	n, ok := d.CapOf(e)
	return ok && n > 1
}

// broadcastAll is broadcast over any number of operands, at least one.
func broadcastAll(list ...graph.Dims) (graph.Dims, error) {
	out := list[0]
	for _, d := range list[1:] {
		var err error
		if out, err = broadcast(out, d); err != nil {
			return nil, err
		}
	}
	return out, nil
}

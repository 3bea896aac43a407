package op

import "github.com/nacre-ml/nacre/runtime/graph"

// Broadcast returns the extents of the result of an elementwise operation on operands with the
// given extents, aligned at the last axis. Axes of extent 1 stretch. If a rank is unknown, it
// returns nil. If two extents can never be equal and neither can be 1, it returns an error.
func Broadcast(list ...graph.Dims) (graph.Dims, error) {
	if len(list) == 0 {
		return graph.Dims{}, nil
	}
	out := list[0]
	for _, d := range list[1:] {
		var err error
		if out, err = broadcast(out, d); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// broadcast is Broadcast for two operands.
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
			return nil, graph.Errorf(graph.ErrShape, "shapes %v and %v do not broadcast: axes of %v and %v elements", a, b,
				long[lead+i], d)
		}
		out[lead+i] = e
	}
	return out, nil
}

// broadcastDim is broadcast for one axis. A symbolic extent is either 1 or equal to its partner, so
// a number other than 1 decides.
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

// capOf reports whether d is e limited to a number of 2 or more, such as the used part of a table
// of positions. The two broadcast only if they are equal, because d cannot be 1 if e exceeds the
// limit.
func capOf(d, e graph.Dim) bool {
	n, ok := d.CapOf(e)
	return ok && n > 1
}

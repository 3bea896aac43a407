package optimize

import "github.com/nacre-ml/nacre/runtime/graph"

// classes partitions extents into classes of equal extents. It maps the text of an extent to
// another extent of its class. Numbers and representatives have no entry.
type classes map[string]graph.Dim

// learn joins the extents that must be equal for a node to run.
func (c classes) learn(s *Scope, n *graph.Node) {
	switch {
	case is(n, "Concat") && n.Attr("axis") != nil:
		first := s.dims(n.Inputs[0])
		axis := int(intOr(n, "axis", 0))
		if axis < 0 {
			axis += len(first)
		}
		for _, name := range n.Inputs[1:] {
			for i, d := range s.dims(name) {
				if i != axis && i < len(first) {
					c.join(first[i], d)
				}
			}
		}
	case is(n, "MatMul"):
		a, b := s.dims(n.Inputs[0]), s.dims(n.Inputs[1])
		if len(a) > 1 && len(b) > 1 {
			c.join(a[len(a)-1], b[len(b)-2])
		}
	}
}

// join merges the classes of two extents. A number stays the representative.
func (c classes) join(d, e graph.Dim) {
	d, e = c.find(d), c.find(e)
	switch {
	case d.Same(e), d.IsUnknown(), e.IsUnknown(), d.IsKnown() && e.IsKnown():
	case d.IsKnown():
		c[e.String()] = d
	default:
		c[d.String()] = e
	}
}

// find returns the representative of the class of an extent.
func (c classes) find(d graph.Dim) graph.Dim {
	for !d.IsKnown() {
		e, ok := c[d.String()]
		if !ok {
			break
		}
		d = e
	}
	return d
}

// equal reports whether two extents are known to be equal.
func (c classes) equal(d, e graph.Dim) bool { return d.Same(e) || c.find(d).Same(c.find(e)) }

package optimize

import "github.com/nacre-ml/nacre/runtime/graph"

// cut is a part of a value along its last axis: every step-th element from start to end-1.
type cut struct {
	of                       string
	extent, start, end, step int
	node                     *graph.Node
}

// isHalf reports whether the cut is half i of the axis or, if interleaved, element i
// of every pair of neighbours.
func (c cut) isHalf(i int, interleaved bool) bool {
	if interleaved {
		return c.step == 2 && c.start == i && c.end == c.extent
	}
	return c.step == 1 && c.start == i*c.extent/2 && c.end == (i+1)*c.extent/2
}

// cutOf matches a cut of a, if accept accepts it.
func cutOf(a pattern, accept func(m *match, c cut, next func() bool) bool) formula {
	f := formula{roots: []string{"Slice", "Split"}, needs: needsOf(a)}
	f.find = func(m *match, value string, next func() bool) bool {
		c, ok := m.cut(value)
		return ok && m.through(c.node, func() bool {
			return accept(m, c, func() bool { return a.match(m, c.of, next) })
		})
	}
	return f
}

// part matches half i of the last axis of a or, if interleaved, element i of every
// pair of neighbours.
func part(a pattern, i int, interleaved bool) formula {
	return cutOf(a, func(_ *match, c cut, next func() bool) bool {
		return c.extent%2 == 0 && c.isHalf(i, interleaved) && next()
	})
}

// width is the number of elements that head matches.
const width parameter = "width"

// head matches the first elements of the last axis of a.
func head(a pattern) formula {
	return cutOf(a, func(m *match, c cut, next func() bool) bool {
		return c.start == 0 && c.step == 1 && width.accept(m, float64(c.end), c.of, next)
	})
}

// tail matches the elements of the last axis of a after head.
func tail(a pattern) formula {
	return cutOf(a, func(m *match, c cut, next func() bool) bool {
		return c.step == 1 && c.end == c.extent && width.accept(m, float64(c.start), c.of, next)
	})
}

// cut returns the Slice or the Split along the last axis that computes a value.
func (m *matcher) cut(name string) (c cut, ok bool) {
	n := m.maker(m.canonical(name))
	if !m.bound[n] || !is(n, "Slice", "Split") {
		return c, false
	}
	c.of, c.node, c.step = n.Inputs[0], n, 1
	d := m.dims(c.of)
	if len(d) == 0 {
		return c, false
	}
	if c.extent, ok = d[len(d)-1].Value(); !ok {
		return c, false
	}
	if n.Op == "Split" {
		return c, m.onLastAxis(n, c.of) && m.cutBySplit(&c, name)
	}
	return c, m.cutBySlice(&c, len(d)-1)
}

// cutBySlice sets the range of a cut by a Slice of the last axis only.
func (m *matcher) cutBySlice(c *cut, last int) bool {
	starts, ok1 := m.ints(c.node, "starts", 1)
	ends, ok2 := m.ints(c.node, "ends", 2)
	axes, ok3 := m.ints(c.node, "axes", 3)
	steps, ok4 := m.ints(c.node, "steps", 4)
	if !ok1 || !ok2 || !ok3 || !ok4 || len(starts) != 1 || len(ends) != 1 || len(axes) != 1 ||
		axes[0] != -1 && axes[0] != last {
		return false
	}
	if len(steps) == 1 {
		c.step = steps[0]
	}
	clamp := func(i int) int {
		if i < 0 {
			i += c.extent
		}
		return min(max(i, 0), c.extent)
	}
	c.start, c.end = clamp(starts[0]), clamp(ends[0])
	return c.step > 0
}

// cutBySplit sets the range of a cut by a Split.
func (m *matcher) cutBySplit(c *cut, name string) bool {
	for _, out := range c.node.Outputs {
		d := m.dims(out)
		if len(d) == 0 {
			return false
		}
		n, ok := d[len(d)-1].Value()
		if !ok {
			return false
		}
		c.start, c.end = c.end, c.end+n
		if m.same(out, name) {
			return true
		}
	}
	return false
}

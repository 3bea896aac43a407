package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// scores describes the operand of the softmax in attention: the capped products of
// queries and keys, and masks.
type scores struct {
	q, k     *heads
	scale    float64
	cap      float64 // 0 for none
	mask     string  // floats to add; "" for none
	maskRank int
	extra    []*graph.Node // nodes, not yet in the graph, that compute the mask
	nodes    []*graph.Node
	matrix   graph.Dims // extents of the scores
}

// maxMasks bounds the nodes that apply masks.
const maxMasks = 4

// masked returns a value as scores with masks.
func (m *matcher) masked(name string, shared bool, depth int) (s scores, ok bool) {
	n := m.producer(name, "Add", "Where", "Cast")
	switch {
	case n == nil || depth > maxMasks:
		return m.capped(name, shared)
	case n.Op == "Cast":
		s, ok = m.masked(n.Inputs[0], shared, depth+1)
		ok = ok && m.dtype(name) == tensor.F32
	case n.Op == "Add":
		for i := 0; i < 2 && !ok; i++ {
			if s, ok = m.masked(n.Inputs[i], shared, depth+1); ok {
				ok = m.stretches(n.Inputs[1-i], s.matrix)
				m.added(&s, n.Inputs[1-i])
			}
		}
	default:
		for i := 1; i < 3 && !ok; i++ {
			if s, ok = m.masked(n.Inputs[i], shared, depth+1); ok {
				ok = m.chosen(&s, n, i)
			}
		}
	}
	s.nodes = append(slices.Clone(s.nodes), n)
	return s, ok
}

// lowest is a number that stays the same in float32 if a score below 1e22 is added.
const lowest = -1e30

// chosen adds a Where node to the scores in its input i as a mask. The other input must be -Inf, or
// so low that adding it has the same effect as choosing it.
func (m *matcher) chosen(s *scores, n *graph.Node, i int) bool {
	low := n.Inputs[3-i]
	c, ok := m.number(low, len(s.matrix))
	if !ok || c > lowest || !m.stretches(n.Inputs[0], s.matrix) {
		return false
	}
	t := m.constant(low)
	inputs := slices.Clone(n.Inputs)
	if inputs[i] = s.mask; s.mask == "" {
		inputs[i] = m.add("zero", tensor.New(t.DType(), t.Shape()...))
	}
	m.computed(s, "Where", 16, inputs...)
	s.maskRank = max(s.maskRank, len(m.dims(n.Inputs[0])), len(t.Shape()))
	return true
}

// added adds a value to the mask.
func (m *matcher) added(s *scores, name string) {
	s.maskRank = max(s.maskRank, len(m.dims(name)))
	if s.mask == "" {
		s.mask = name
		return
	}
	m.computed(s, "Add", 14, s.mask, name)
}

// computed adds a new node that computes the mask.
func (m *matcher) computed(s *scores, op string, version int, inputs ...string) {
	s.mask = m.fresh("mask")
	s.extra = append(slices.Clone(s.extra),
		&graph.Node{Name: s.mask, Op: op, Version: version, Inputs: inputs, Outputs: []string{s.mask}})
}

// stretches reports whether a value broadcasts to extents to without extending them. If an extent
// is the smaller of the wanted one and a number above 1, it counts as the wanted one, because
// otherwise the sum fails.
func (m *matcher) stretches(name string, to graph.Dims) bool {
	d := m.dims(name)
	if d == nil || len(d) > len(to) {
		return false
	}
	for i, x := range d {
		e := to[len(to)-len(d)+i]
		if n, ok := x.CapOf(e); !x.Is(1) && !m.equal(x, e) && (!ok || n < 2) {
			return false
		}
	}
	return true
}

// capped returns a value as scores, or as c·tanh(scores/c).
func (m *matcher) capped(name string, shared bool) (s scores, ok bool) {
	of, c, n := m.scaled(name)
	tanh := m.producer(of, "Tanh")
	if n == nil || tanh == nil || c <= 0 {
		return m.products(name, shared)
	}
	if s, ok = m.products(tanh.Inputs[0], shared); ok {
		s.cap = c
		s.scale *= c
		s.nodes = append(s.nodes, tanh, n)
	}
	return s, ok
}

// products returns a value as the scaled products of queries and keys.
func (m *matcher) products(name string, shared bool) (s scores, ok bool) {
	s.scale = 1
	name, nodes := m.unscaled(name, &s.scale)
	product := m.producer(name, "MatMul")
	if product == nil {
		return s, false
	}
	s.nodes, s.matrix = append(nodes, product), m.dims(name)
	q, _ := m.unscaled(product.Inputs[0], &s.scale)
	k, _ := m.unscaled(product.Inputs[1], &s.scale)
	s.q = m.headed(q, false)
	if s.k = m.transposed(k, shared); s.k != nil && s.k.perm == nil {
		if of, nodes := m.unscaled(s.k.value, &s.scale); nodes != nil {
			s.k = m.headed(of, shared)
		}
	}
	return s, s.q != nil && s.k != nil
}

// unscaled returns the value before multiplications by numbers, and the nodes that multiply. It
// multiplies scale by the numbers.
func (m *matcher) unscaled(name string, scale *float64) (of string, nodes []*graph.Node) {
	for len(nodes) < maxProduct {
		of, c, n := m.scaled(name)
		if n == nil {
			break
		}
		*scale *= c
		name, nodes = of, append(nodes, n)
	}
	return name, nodes
}

package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// scores is what goes into the softmax of attention.
type scores struct {
	q, k   *heads
	scale  float64
	cap    float64       // 0 for none
	masks  []string      // floats to add
	extra  []*graph.Node // that make masks
	nodes  []*graph.Node
	matrix graph.Dims // of the scores
}

// maxMasks bounds the masks that are added one after the other.
const maxMasks = 4

// masked sees a value as scores with masks.
func (f *finder) masked(name string, shared bool, depth int) (s scores, ok bool) {
	n := f.from(name, "Add", "Where", "Cast")
	switch {
	case n == nil || depth > maxMasks:
		return f.capped(name, shared)
	case n.Op == "Cast":
		s, ok = f.masked(n.Inputs[0], shared, depth+1)
		ok = ok && f.dtype(name) == tensor.F32
	case n.Op == "Add":
		for i := 0; i < 2 && !ok; i++ {
			if s, ok = f.masked(n.Inputs[i], shared, depth+1); ok {
				ok = f.stretches(n.Inputs[1-i], s.matrix)
				s.masks = append(slices.Clone(s.masks), n.Inputs[1-i])
			}
		}
	default:
		for i := 1; i < 3 && !ok; i++ {
			if s, ok = f.masked(n.Inputs[i], shared, depth+1); ok {
				ok = f.chosen(&s, n, i)
			}
		}
	}
	s.nodes = append(slices.Clone(s.nodes), n)
	return s, ok
}

// lowest is a number to which float32 scores below 1e22 add nothing.
const lowest = -1e30

// chosen sees Where, whose input i is scores, as a mask: where the condition says
// so they are -Inf, or so low a number that it is the same as if it were added.
func (f *finder) chosen(s *scores, n *graph.Node, i int) bool {
	low := n.Inputs[3-i]
	c, ok := f.number(low, len(s.matrix))
	if !ok || c > lowest || !f.stretches(n.Inputs[0], s.matrix) {
		return false
	}
	t := f.constant(low)
	inputs := slices.Clone(n.Inputs)
	inputs[i] = f.add("zero", tensor.New(t.DType(), t.Shape()...))
	mask := f.fresh("mask")
	s.extra = append(slices.Clone(s.extra), &graph.Node{Name: mask, Op: "Where", Version: 16, Inputs: inputs, Outputs: []string{mask}})
	s.masks = append(slices.Clone(s.masks), mask)
	return true
}

// stretches reports whether a value broadcasts to these extents and does not
// stretch what has them. A part of a table that is as long as they are, if the
// table is, must be: the sum fails otherwise.
func (f *finder) stretches(name string, to graph.Dims) bool {
	d := f.dims(name)
	if d == nil || len(d) > len(to) {
		return false
	}
	for i, x := range d {
		e := to[len(to)-len(d)+i]
		if n, ok := x.CapOf(e); !x.Is(1) && !f.equal(x, e) && (!ok || n < 2) {
			return false
		}
	}
	return true
}

// capped sees a value as scores, or as c·tanh(scores/c).
func (f *finder) capped(name string, shared bool) (s scores, ok bool) {
	of, c, n := f.scaled(name)
	tanh := f.from(of, "Tanh")
	if n == nil || tanh == nil || c <= 0 {
		return f.products(name, shared)
	}
	if s, ok = f.products(tanh.Inputs[0], shared); ok {
		s.cap = c
		s.scale *= c
		s.nodes = append(s.nodes, tanh, n)
	}
	return s, ok
}

// products sees a value as the products of queries and keys, scaled.
func (f *finder) products(name string, shared bool) (s scores, ok bool) {
	s.scale = 1
	name, nodes := f.unscaled(name, &s.scale)
	product := f.from(name, "MatMul")
	if product == nil {
		return s, false
	}
	s.nodes, s.matrix = append(nodes, product), f.dims(name)
	q, _ := f.unscaled(product.Inputs[0], &s.scale)
	k, _ := f.unscaled(product.Inputs[1], &s.scale)
	s.q = f.headed(q, false)
	if s.k = f.turned(k, shared); s.k != nil && s.k.turn == nil {
		if of, nodes := f.unscaled(s.k.value, &s.scale); nodes != nil {
			s.k = f.headed(of, shared)
		}
	}
	return s, s.q != nil && s.k != nil
}

// unscaled takes the numbers that a value was multiplied by into scale and returns
// what it is of, and the nodes that multiply.
func (f *finder) unscaled(name string, scale *float64) (of string, nodes []*graph.Node) {
	for len(nodes) < maxFactors {
		of, c, n := f.scaled(name)
		if n == nil {
			break
		}
		*scale *= c
		name, nodes = of, append(nodes, n)
	}
	return name, nodes
}

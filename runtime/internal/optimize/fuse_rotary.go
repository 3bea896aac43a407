package optimize

import (
	"github.com/nacre-ml/nacre/runtime/graph"
)

// fuseRotary replaces rotary position embeddings by RotaryEmbedding: x·cos + swap(x)·sin, where
// swap exchanges the halves of the last axis, or each pair of neighbours, and negates the second.
// Only the head of the axis may rotate. Cosines and sines as wide as x must hold each number twice;
// the operator gets it once. The Reshape and Transpose that split heads move after the operator, so
// that fuseAttention finds them.
func fuseRotary() run {
	forms := rotaryForms()
	return func(s *Scope) (*Edit, error) {
		w := &rotaryWriter{builder: builder{matcher: newMatcher(s)}, caches: map[string]string{}}
		for _, form := range forms {
			for _, n := range w.candidates(form.pattern) {
				w.find(form.pattern, n, func(found *match) bool {
					r := found.rotation(form)
					return w.private(found.nodes, n) && w.isRotation(&r) && w.write(found, r)
				})
			}
		}
		return w.result()
	}
}

// Variables of rotations.
const (
	cos     variable = "cos"
	sin     variable = "sin"
	rotated variable = "rotated" // x, or the head of it that rotates
)

// rotaryForm is a way to write a rotation.
type rotaryForm struct {
	pattern     pattern
	interleaved bool // pairs are neighbours, not elements of two halves
	halved      bool // cosines and sines hold each number once
}

// rotaryForms returns the forms in order of precedence.
func rotaryForms() []rotaryForm {
	partial := rotations(head(x))
	for i, r := range partial {
		partial[i].pattern = concatenated(r.pattern, tail(x))
	}
	return append(partial, rotations(x)...)
}

// rotations returns the forms of a rotation of all elements of a.
func rotations(a pattern) []rotaryForm {
	a = as(rotated, a)
	first, second := part(a, 0, false), part(a, 1, false)
	even, odd := part(a, 0, true), part(a, 1, true)
	swap := like(rotated, concatenated(apply("Neg", second), first))
	swapPairs := like(rotated, apply("Reshape", concatenated(unsqueezed(apply("Neg", odd)), unsqueezed(even))))
	return []rotaryForm{
		{pattern: add(mul(swap, sin), mul(rotated, cos))},
		{pattern: add(mul(swapPairs, sin), mul(rotated, cos)), interleaved: true},
		{pattern: concatenated(sub(mul(first, cos), mul(second, sin)), add(mul(second, cos), mul(first, sin))), halved: true},
	}
}

// like matches p, if its value has the extents of v.
func like(v variable, p pattern) formula {
	return where(p, func(m *match, n *graph.Node) bool { return m.hasDims(n.Outputs[0], m.dims(m.values[v])) })
}

// concatenated matches the concatenation of a and b along the last axis.
func concatenated(a, b pattern) formula {
	return where(apply("Concat", a, b), func(m *match, n *graph.Node) bool {
		return len(n.Inputs) == 2 && m.onLastAxis(n, n.Inputs[0])
	})
}

// unsqueezed matches a with a last axis of extent 1 appended.
func unsqueezed(a pattern) formula {
	return where(apply("Unsqueeze", a), func(m *match, n *graph.Node) bool {
		axes, ok := m.ints(n, "axes", 1)
		return ok && len(axes) == 1 && (axes[0] == -1 || axes[0] == len(m.dims(n.Outputs[0]))-1)
	})
}

// rotation is a match of a rotary form.
type rotation struct {
	rotaryForm
	x        string
	cos, sin string
	size     int // number of elements of each head that rotate
}

// rotation returns the rotation that a match of the form has found.
func (m *match) rotation(form rotaryForm) rotation {
	r := rotation{rotaryForm: form, x: m.values[x], cos: m.values[cos], sin: m.values[sin]}
	if d := m.dims(m.values[rotated]); len(d) > 0 {
		r.size, _ = d[len(d)-1].Value()
	}
	return r
}

// isRotation reports whether cosines and sines hold the same number for both
// elements of each pair.
func (m *matcher) isRotation(r *rotation) bool {
	return r.size > 0 && (r.halved || m.repeats(r.cos, r.interleaved, 0) && m.repeats(r.sin, r.interleaved, 0))
}

package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/fold"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Parameters of the formulas of normalizations.
const (
	axes    parameter = "axes" // number of normalized axes, the last ones
	epsilon parameter = "epsilon"
)

// inverseRoot matches 1/√a.
func inverseRoot(a pattern) formula {
	return either(apply("Reciprocal", sqrt(a)), over(exact(1), sqrt(a)), power(a, exact(-0.5)))
}

// mean matches the mean of a over its last axes. These axes stay with extent 1.
func mean(a pattern) formula {
	f := formula{roots: []string{"ReduceMean"}, needs: append(needsOf(a), "ReduceMean")}
	f.find = func(m *match, value string, next func() bool) bool {
		n := m.producer(value, "ReduceMean")
		if n == nil || intOr(n, "keepdims", 1) != 1 {
			return false
		}
		count := m.lastAxes(n)
		return count > 0 && m.through(n, func() bool {
			return axes.accept(m, float64(count), value, func() bool { return a.match(m, n.Inputs[0], next) })
		})
	}
	return f
}

// lastAxes returns the number of axes that a node reduces. If they are not the last axes of its
// operand, it returns 0.
func (s *Scope) lastAxes(n *graph.Node) int {
	given, _ := s.ints(n, "axes", 1)
	rank, known := s.rank(n.Inputs[0])
	list := slices.Clone(given)
	for i, a := range list {
		if a >= 0 {
			if !known || rank == 0 {
				return 0
			}
			list[i] = a - rank
		}
	}
	slices.Sort(list)
	for i, a := range list {
		if a != i-len(list) {
			return 0
		}
	}
	return len(list)
}

// variance matches the mean of a² and epsilon.
func variance(a pattern) formula {
	return plus(epsilon, mean(either(mul(a, a), power(a, exact(2)))))
}

// normalized matches a over the root of the mean of a² and epsilon.
func normalized(a pattern) formula {
	return either(div(a, sqrt(variance(a))), mul(a, inverseRoot(variance(a))))
}

// centred matches a less its mean.
func centred(a pattern) formula { return sub(a, mean(a)) }

// widened matches a cast to float32 or float64.
func widened(a pattern) formula {
	return where(apply("Cast", a), func(m *match, n *graph.Node) bool {
		return m.ofType(n.Outputs[0], []tensor.DType{tensor.F32, tensor.F64})
	})
}

// backToX matches a cast to the element type of x.
func backToX(a pattern) formula {
	return where(apply("Cast", a), func(m *match, n *graph.Node) bool {
		return m.dtype(n.Outputs[0]) == m.dtype(m.values[x])
	})
}

// norm is a normalization found in a graph, with the scale and the bias that follow it.
type norm struct {
	x           string
	axes        int
	epsilon     float64
	scale, bias string // "" for none
	nodes       []*graph.Node
	end         *graph.Node // computes the result
}

// norm returns the normalization that a match has found.
func (m *match) norm() norm {
	return norm{
		x: m.values[x], axes: int(m.numbers[axes]), epsilon: m.numbers[epsilon],
		scale: m.values[scale], bias: m.values[bias], nodes: slices.Clone(m.nodes), end: m.root,
	}
}

// fuseNorms returns a pass that replaces matches of the patterns by the operator. Earlier
// patterns take precedence. A scale and, if biased, a bias that follow become its operands.
func fuseNorms(op string, version int, biased bool, patterns ...pattern) run {
	return func(s *Scope) (*Edit, error) {
		m := newMatcher(s)
		for _, p := range patterns {
			for _, n := range m.candidates(p) {
				m.find(p, n, func(found *match) bool {
					s := found.norm()
					return m.ofType(s.x, narrowFloats) && m.normalize(m.withParameters(s, biased), op, version)
				})
			}
		}
		return m.result()
	}
}

// maxNorms bounds the normalizations with nodes in common.
const maxNorms = 8

// withParameters returns the normalization with the parameters that follow it, unless it already
// has a bias. If every consumer applies parameters, it returns one normalization for each.
func (m *matcher) withParameters(s norm, biased bool) []norm {
	name := m.canonical(s.end.Outputs[0])
	if n := len(m.consumers[name]); s.bias != "" || m.escaping[name] || n == 0 || n > maxNorms {
		return []norm{s}
	}
	var list []norm
	for _, n := range m.consumers[name] {
		each := s
		each.scale = m.parameter(&each, n, "Mul", m.isParameter)
		if biased {
			next := n
			if each.scale != "" {
				next = m.consumer(each.end)
			}
			each.bias = m.parameter(&each, next, "Add", m.isParameter)
		}
		if each.scale == "" && each.bias == "" && (!biased || !m.ofRows(&each, n)) {
			return []norm{s}
		}
		list = append(list, each)
	}
	return list
}

// ofRows extends the normalization by a scale and a bias, n and the node after it, that all elements of a
// row share. It reports whether both follow.
func (m *matcher) ofRows(s *norm, n *graph.Node) bool {
	each := *s
	if each.scale = m.parameter(&each, n, "Mul", m.isRowParameter); each.scale == "" {
		return false
	}
	each.bias = m.parameter(&each, m.consumer(each.end), "Add", m.isRowParameter)
	if each.bias == "" {
		return false
	}
	*s = each
	return true
}

// parameter extends the normalization by a node of operator op with a parameter, as accept says, as its
// other operand, and returns the parameter. If the node is another, it returns "".
func (m *matcher) parameter(s *norm, n *graph.Node, op string, accept func(string, *norm) bool) string {
	if !m.bound[n] || !is(n, op) || len(n.Inputs) != 2 {
		return ""
	}
	for i, name := range n.Inputs {
		if m.same(n.Inputs[1-i], s.end.Outputs[0]) && accept(name, s) {
			s.nodes, s.end = append(slices.Clone(s.nodes), s.end), n
			return name
		}
	}
	return ""
}

// isParameter reports whether a value has one element for each normalized element.
func (m *matcher) isParameter(name string, s *norm) bool {
	x, p := m.dims(s.x), m.dims(name)
	if m.dtype(name) != m.dtype(s.x) || len(x) < s.axes || p == nil {
		return false
	}
	for len(p) > s.axes && p[0].Is(1) {
		p = p[1:]
	}
	return slices.EqualFunc(x[len(x)-s.axes:], p, m.equal)
}

// isRowParameter reports whether a value has one element for each row, or each row of a part of the leading
// axes.
func (m *matcher) isRowParameter(name string, s *norm) bool {
	x, p := m.dims(s.x), m.dims(name)
	if m.dtype(name) != m.dtype(s.x) || len(x) != len(p) || len(x) <= s.axes {
		return false
	}
	rows := len(x) - s.axes
	for i := range rows {
		if !p[i].Is(1) && !m.equal(x[i], p[i]) {
			return false
		}
	}
	return !slices.ContainsFunc(p[rows:], func(d graph.Dim) bool { return !d.Is(1) })
}

// normalize replaces normalizations if only they use their nodes. It reports whether it replaced
// one.
func (m *matcher) normalize(list []norm, op string, version int) bool {
	var ends, nodes []*graph.Node
	for _, s := range list {
		ends, nodes = append(ends, s.end), append(nodes, s.nodes...)
	}
	if !m.private(nodes, ends...) {
		return false
	}
	done := false
	for _, s := range list {
		if s.scale == "" {
			s.scale = m.ones(&s)
		}
		if s.scale == "" {
			continue
		}
		in := []string{s.x, s.scale}
		if s.bias != "" {
			in = append(in, s.bias)
		}
		by := instead(s.end, "", op, version, in, intAttr("axis", int64(-s.axes)), floatAttr("epsilon", s.epsilon))
		if m.replace(s.end, by) {
			done = true
			m.retire(s.nodes...)
		}
	}
	return done
}

// ones adds a scale of ones and returns its name. If the normalized extents are unknown or too
// large, or the budget lacks the memory, it returns "".
func (m *matcher) ones(s *norm) string {
	x := m.dims(s.x)
	if len(x) < s.axes {
		return ""
	}
	shape, ok := x[len(x)-s.axes:].Concrete()
	if !ok || shape.Len() > fold.Constants.Growth || m.take(tensor.SizeOf(m.dtype(s.x), shape)) != nil {
		return ""
	}
	t := tensor.New(m.dtype(s.x), shape...)
	kit.SetNumbers(t, slices.Repeat([]float64{1}, t.Len()))
	return m.add("ones", t)
}

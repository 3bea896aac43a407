package optimize

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// pattern is a formula over values of a graph. Patterns are written as the formulas that they find:
//
//	mul(x, apply("Sigmoid", product(alpha, x)))
//
// Matching backtracks over the orders of commutative operands, the alternatives of
// either and the groupings of product.
type pattern interface {
	// match calls next once for every way in which the pattern describes the value,
	// until next returns true. Variables and parameters are bound during the call.
	// It reports whether a call returned true.
	match(m *match, value string, next func() bool) bool
}

// match holds the values that a pattern has found.
type match struct {
	*matcher
	root    *graph.Node
	values  map[variable]string
	numbers map[parameter]float64
	nodes   []*graph.Node // nodes that compute the formula
}

// variable matches any value and is bound to its canonical name. Its further occurrences match the
// same value only.
type variable string

func (v variable) match(m *match, value string, next func() bool) bool {
	value = m.canonical(value)
	if bound, ok := m.values[v]; ok {
		return bound == value && next()
	}
	if m.values == nil {
		m.values = map[variable]string{}
	}
	m.values[v] = value
	if next() {
		return true
	}
	delete(m.values, v)
	return false
}

// Variables of the formulas.
const (
	x     variable = "x"
	y     variable = "y"
	scale variable = "scale"
	bias  variable = "bias"
)

// formula is a pattern given by its match method. If roots or needs exclude a graph, or a node, the
// matcher skips it.
type formula struct {
	find  func(m *match, value string, next func() bool) bool
	roots []string // operators that may compute a matching value; nil for any
	needs []string // operators that a graph must have, all of them
}

func (f formula) match(m *match, value string, next func() bool) bool { return f.find(m, value, next) }

// limits returns the roots and needs of a pattern.
func limits(p pattern) (roots, needs []string) {
	f, _ := p.(formula)
	return f.roots, f.needs
}

// needsOf returns the operators that any of several patterns needs.
func needsOf(list ...pattern) (needs []string) {
	for _, p := range list {
		_, n := limits(p)
		needs = append(needs, n...)
	}
	return needs
}

// apply matches the first output of an operator if its first operands match.
func apply(op string, operands ...pattern) formula { return applyAny([]string{op}, operands...) }

// applyAny is apply for any of several operators.
func applyAny(ops []string, operands ...pattern) formula {
	f := formula{roots: ops, needs: needsOf(operands...)}
	if len(ops) == 1 {
		f.needs = append(f.needs, ops[0])
	}
	f.find = func(m *match, value string, next func() bool) bool {
		n := m.producer(value, ops...)
		return n != nil && m.through(n, func() bool { return m.operands(n.Inputs, operands, next) })
	}
	return f
}

// through adds a node to the match while next runs.
func (m *match) through(n *graph.Node, next func() bool) bool {
	count := len(m.nodes)
	m.nodes = append(m.nodes, n)
	if next() {
		return true
	}
	m.nodes = m.nodes[:count]
	return false
}

// operands matches values with patterns, one by one.
func (m *match) operands(values []string, patterns []pattern, next func() bool) bool {
	if len(patterns) == 0 {
		return next()
	}
	return len(values) > 0 && values[0] != "" && patterns[0].match(m, values[0], func() bool {
		return m.operands(values[1:], patterns[1:], next)
	})
}

// add matches a + b with its operands in either order.
func add(a, b pattern) formula { return either(apply("Add", a, b), apply("Add", b, a)) }

// mul matches a · b with its operands in either order.
func mul(a, b pattern) formula { return either(apply("Mul", a, b), apply("Mul", b, a)) }

func sub(a, b pattern) formula { return apply("Sub", a, b) }

func div(a, b pattern) formula { return apply("Div", a, b) }

func sqrt(a pattern) formula { return apply("Sqrt", a) }

// either matches a value if one of several patterns does.
func either(list ...pattern) formula {
	var f formula
	for i, p := range list {
		roots, needs := limits(p)
		if i == 0 {
			f.roots, f.needs = roots, needs
			continue
		}
		if f.roots != nil && roots != nil {
			f.roots = slices.Concat(f.roots, roots)
		} else {
			f.roots = nil
		}
		f.needs = slices.DeleteFunc(slices.Clone(f.needs), func(op string) bool { return !slices.Contains(needs, op) })
	}
	f.find = func(m *match, value string, next func() bool) bool {
		return slices.ContainsFunc(list, func(p pattern) bool { return p.match(m, value, next) })
	}
	return f
}

// as binds a variable to the value that a pattern matches.
func as(v variable, p pattern) formula {
	roots, needs := limits(p)
	return formula{roots: roots, needs: needs, find: func(m *match, value string, next func() bool) bool {
		return p.match(m, value, func() bool { return v.match(m, value, next) })
	}}
}

// where matches like p, if the node that computes the value meets a condition.
func where(p pattern, condition func(m *match, n *graph.Node) bool) formula {
	roots, needs := limits(p)
	return formula{roots: roots, needs: needs, find: func(m *match, value string, next func() bool) bool {
		return p.match(m, value, func() bool { return condition(m, m.maker(m.canonical(value))) && next() })
	}}
}

// once matches like p, if the value is used once. Unlike a private value, it has no dead consumers
// and no Shape nodes either. The node that computes it is then certain to go.
func once(p pattern) formula {
	return where(p, func(m *match, n *graph.Node) bool { return m.uses(n.Outputs[0]) == 1 })
}

// numeral is a pattern of a number. The value like has the element type of the number's operation.
type numeral interface {
	accept(m *match, c float64, like string, next func() bool) bool
}

// exact accepts one number.
type exact float64

func (e exact) accept(_ *match, c float64, _ string, next func() bool) bool {
	return c == float64(e) && next()
}

// near accepts a number up to the precision of the element type.
type near float64

func (want near) accept(m *match, c float64, like string, next func() bool) bool {
	tolerance := 2e-6
	switch m.dtype(like) {
	case tensor.F16:
		tolerance = 1e-3
	case tensor.BF16:
		tolerance = 8e-3
	}
	return math.Abs(c-float64(want)) <= tolerance*math.Abs(float64(want)) && next()
}

// parameter accepts any number. Its further occurrences accept the same number only.
type parameter string

func (p parameter) accept(m *match, c float64, _ string, next func() bool) bool {
	if bound, ok := m.numbers[p]; ok {
		return bound == c && next()
	}
	if m.numbers == nil {
		m.numbers = map[parameter]float64{}
	}
	m.numbers[p] = c
	if next() {
		return true
	}
	delete(m.numbers, p)
	return false
}

// plus matches a + c with its operands in either order.
func plus(c numeral, a pattern) formula {
	f := formula{roots: []string{"Add"}, needs: append(needsOf(a), "Add")}
	f.find = func(m *match, value string, next func() bool) bool {
		n := m.producer(value, "Add")
		if n == nil {
			return false
		}
		other, number, ok := m.withNumber(n)
		return ok && m.through(n, func() bool {
			return c.accept(m, number, value, func() bool { return a.match(m, other, next) })
		})
	}
	return f
}

// over matches c / a.
func over(c numeral, a pattern) formula { return numeric("Div", 0, c, a) }

// power matches a ^ c.
func power(a pattern, c numeral) formula { return numeric("Pow", 1, c, a) }

// numeric matches a binary operator with the number c as operand i.
func numeric(op string, i int, c numeral, a pattern) formula {
	f := formula{roots: []string{op}, needs: append(needsOf(a), op)}
	f.find = func(m *match, value string, next func() bool) bool {
		n := m.producer(value, op)
		if n == nil {
			return false
		}
		number, ok := m.numericOperand(n, i)
		return ok && m.through(n, func() bool {
			return c.accept(m, number, value, func() bool { return a.match(m, n.Inputs[1-i], next) })
		})
	}
	return f
}

// product matches the product of a number and factors in any order and grouping. Quotients by
// numbers, squares and cubes are products too. If the graph has no number, the number is 1.
func product(c numeral, factors ...pattern) formula {
	f := formula{roots: products, needs: needsOf(factors...)}
	if len(factors) == 1 { // the factor may be all there is
		f.roots = either(formula{roots: products}, factors[0]).roots
	}
	f.find = func(m *match, value string, next func() bool) bool {
		return m.product([]string{value}, 1, factors, maxProduct,
			func(number float64) bool { return c.accept(m, number, value, next) })
	}
	return f
}

// products lists the operators of products.
var products = []string{"Mul", "Div", "Pow"}

// maxProduct bounds the nodes of a product.
const maxProduct = 6

// product matches number times values with factors. It splits at most depth values
// into their own factors.
func (m *match) product(
	values []string, number float64, factors []pattern, depth int, next func(number float64) bool,
) bool {
	if len(values) == 0 {
		return len(factors) == 0 && next(number)
	}
	if len(values) > len(factors) {
		return false
	}
	value, rest := values[0], values[1:]
	if len(rest) > 0 || len(factors) == 1 {
		for i, p := range factors {
			others := slices.Delete(slices.Clone(factors), i, i+1)
			if p.match(m, value, func() bool { return m.product(rest, number, others, depth, next) }) {
				return true
			}
		}
	}
	n := m.producer(value, products...)
	if n == nil || depth == 0 {
		return false
	}
	split, c := m.factorsOf(n)
	return split != nil && m.through(n, func() bool {
		return m.product(slices.Concat(split, rest), number*c, factors, depth-1, next)
	})
}

// factorsOf returns the values and the number that a node multiplies. If it computes no product,
// the values are nil.
func (m *matcher) factorsOf(n *graph.Node) (values []string, c float64) {
	if len(n.Inputs) != 2 {
		return nil, 0
	}
	a := n.Inputs[0]
	c, isNumber := m.numericOperand(n, 1)
	switch {
	case n.Op == "Pow" && isNumber && (c == 2 || c == 3):
		return slices.Repeat([]string{a}, int(c)), 1
	case n.Op == "Div" && isNumber && c != 0:
		return []string{a}, 1 / c
	case n.Op != "Mul":
		return nil, 0
	}
	if other, c, ok := m.withNumber(n); ok {
		return []string{other}, c
	}
	return n.Inputs, 1
}

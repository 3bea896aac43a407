package jinja

import (
	"math"
	"slices"
	"strings"
)

// comparisons are the operators that compare.
var comparisons = map[string]func(r *run, a, b any) bool{
	"==":     func(r *run, a, b any) bool { return r.equal(a, b) },
	"!=":     func(r *run, a, b any) bool { return !r.equal(a, b) },
	"<":      func(r *run, a, b any) bool { return r.less(a, b) },
	">":      func(r *run, a, b any) bool { return r.less(b, a) },
	"<=":     func(r *run, a, b any) bool { return !r.less(b, a) },
	">=":     func(r *run, a, b any) bool { return !r.less(a, b) },
	"in":     func(r *run, a, b any) bool { return r.contains(b, a) },
	"not in": func(r *run, a, b any) bool { return !r.contains(b, a) },
}

// compare returns the result of a comparison.
func (r *run) compare(name string, a, b any) bool {
	r.steps(1)
	return comparisons[name](r, a, b)
}

// comparison reads a chain such as a < b < c.
func (x *expressions) comparison() expression {
	first := x.sum()
	var names []string
	var values []expression
	for {
		name := x.comparator()
		if name == "" {
			break
		}
		names = append(names, name)
		values = append(values, x.sum())
	}
	if len(names) == 0 {
		return first
	}
	return func(r *run) any {
		left := first(r)
		for i, name := range names {
			right := values[i](r)
			if !r.compare(name, left, right) {
				return false
			}
			left = right
		}
		return true
	}
}

// comparator takes an operator that compares, if one is next.
func (x *expressions) comparator() string {
	t := x.peek()
	switch {
	case t.kind == 'n' && t.text == "in", t.kind == 'o' && comparisons[t.text] != nil:
		x.list = x.list[1:]
		return t.text
	case t.kind == 'n' && t.text == "not" && len(x.list) > 1 && x.list[1] == token{'n', "in"}:
		x.list = x.list[2:]
		return "not in"
	}
	return ""
}

// binary reads a chain of operators of one rank, the left first.
func (x *expressions) binary(next func() expression, names ...string) expression {
	e := next()
	for {
		name := ""
		for _, n := range names {
			if name == "" && x.operator(n) {
				name = n
			}
		}
		if name == "" {
			return e
		}
		left, right := e, next()
		e = func(r *run) any { return r.compute(name, left(r), right(r)) }
	}
}

func (x *expressions) sum() expression    { return x.binary(x.concat, "+", "-") }
func (x *expressions) concat() expression { return x.binary(x.product, "~") }
func (x *expressions) product() expression {
	return x.binary(x.power, "*", "//", "/", "%")
}

// power reads a chain of **, the left first.
func (x *expressions) power() expression {
	return x.binary(func() expression { return x.unary(true) }, "**")
}

// unary reads a value with its signs. Filters apply to the value with its sign.
func (x *expressions) unary(filtered bool) expression {
	defer x.p.deeper()()
	var e expression
	switch {
	case x.operator("-"):
		of := x.unary(false)
		e = func(r *run) any { return r.compute("-", 0, of(r)) }
	case x.operator("+"):
		e = x.unary(false)
	default:
		e = x.primary()
	}
	e = x.postfix(e)
	if filtered {
		e = x.filters(e)
	}
	return e
}

// compute returns the result of an operator.
func (r *run) compute(name string, a, b any) any {
	r.steps(1)
	if name == "~" {
		left, right := r.text(a), r.text(b)
		r.makes(len(left) + len(right))
		return left + right
	}
	if s, ok := a.(string); ok {
		return r.computeText(name, s, b)
	}
	if l, ok := a.(*List); ok {
		if m, ok := b.(*List); ok && name == "+" {
			r.hold(itemBytes * (len(l.Items) + len(m.Items)))
			return r.list(slices.Concat(l.Items, m.Items))
		}
	}
	m, ok1 := a.(int)
	n, ok2 := b.(int)
	if ok1 && ok2 && name != "/" && name != "**" {
		return integers(name, m, n)
	}
	u, ok1 := number(a)
	v, ok2 := number(b)
	if !ok1 || !ok2 {
		if d, ok := a.(undefined); ok {
			fail("%q is not defined", d.name)
		}
		if d, ok := b.(undefined); ok {
			fail("%q is not defined", d.name)
		}
		fail("%s %s %s is not supported", kindOf(a), name, kindOf(b))
	}
	return floats(name, u, v, a, b)
}

func (r *run) computeText(name, s string, b any) any {
	switch v := b.(type) {
	case string:
		if name == "+" {
			r.makes(len(s) + len(v))
			return s + v
		}
	case int:
		if name == "*" {
			n := max(v, 0)
			if len(s) > 0 && n > MaxText/len(s) {
				bounded(MaxText + 1)
			}
			r.makes(len(s) * n)
			return strings.Repeat(s, n)
		}
	}
	if name == "%" {
		return r.percent(s, b)
	}
	if d, ok := b.(undefined); ok {
		fail("%q is not defined", d.name)
	}
	fail("string %s %s is not supported", name, kindOf(b))
	return nil
}

func integers(name string, m, n int) any {
	switch name {
	case "+":
		return m + n
	case "-":
		return m - n
	case "*":
		return m * n
	}
	if n == 0 {
		fail("a division by 0")
	}
	q, rest := m/n, m%n
	if rest != 0 && (rest < 0) != (n < 0) {
		q, rest = q-1, rest+n
	}
	if name == "//" {
		return q
	}
	return rest
}

func floats(name string, u, v float64, a, b any) any {
	switch name {
	case "+":
		return u + v
	case "-":
		return u - v
	case "*":
		return u * v
	case "**":
		p := math.Pow(u, v)
		_, ok1 := a.(int)
		_, ok2 := b.(int)
		if ok1 && ok2 && v >= 0 && math.Abs(p) < 1<<53 {
			return int(p)
		}
		return p
	}
	if v == 0 {
		fail("a division by 0")
	}
	switch name {
	case "/":
		return u / v
	case "//":
		return math.Floor(u / v)
	}
	return u - v*math.Floor(u/v)
}

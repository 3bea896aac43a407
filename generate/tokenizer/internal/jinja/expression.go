package jinja

import (
	"math"
	"strings"
)

// comparisons are the operators that compare.
var comparisons = map[string]func(r *run, a, b any) bool{
	"==": func(r *run, a, b any) bool { r.charge(16 * weight(a)); return equal(a, b) },
	"!=": func(r *run, a, b any) bool { r.charge(16 * weight(a)); return !equal(a, b) },
	"<":  func(_ *run, a, b any) bool { return less(a, b) },
	">":  func(_ *run, a, b any) bool { return less(b, a) },
	"<=": func(_ *run, a, b any) bool { return !less(b, a) },
	">=": func(_ *run, a, b any) bool { return !less(a, b) },
	"in": func(r *run, a, b any) bool { r.charge(16 * weight(b)); return contains(b, a) },
	"not in": func(r *run, a, b any) bool {
		r.charge(16 * weight(b))
		return !contains(b, a)
	},
}

// comparison reads a chain such as a < b < c.
func (x *expressions) comparison() expression {
	first := x.sum()
	var tests []func(r *run, a, b any) bool
	var values []expression
	for {
		name := x.comparator()
		if name == "" {
			break
		}
		tests = append(tests, comparisons[name])
		values = append(values, x.sum())
	}
	if len(tests) == 0 {
		return first
	}
	return func(r *run) any {
		left := first(r)
		for i, test := range tests {
			right := values[i](r)
			if !test(r, left, right) {
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

// unary reads a value with its signs. Filters belong to the value with its sign.
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

// compute gives the value of an operator.
func (r *run) compute(name string, a, b any) any {
	if name == "~" {
		left, right := r.text(a), r.text(b)
		r.charge(len(left) + len(right))
		return left + right
	}
	if s, ok := a.(string); ok {
		return r.computeText(name, s, b)
	}
	if l, ok := a.(*List); ok {
		if m, ok := b.(*List); ok && name == "+" {
			r.charge(16 * (len(l.Items) + len(m.Items)))
			return NewList(append(append([]any{}, l.Items...), m.Items...))
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
			r.charge(len(s) + len(v))
			return s + v
		}
	case int:
		if name == "*" {
			n := max(v, 0)
			if len(s) > 0 && n > maxText/len(s) {
				fail("a text of more than %d bytes", maxText)
			}
			r.charge(len(s) * n)
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

// primary reads a value that has no operator.
func (x *expressions) primary() expression {
	t := x.peek()
	if t.kind == 0 {
		x.unexpected()
	}
	x.list = x.list[1:]
	switch t.kind {
	case 's':
		value := t.text
		for x.peek().kind == 's' {
			value += x.peek().text
			x.list = x.list[1:]
		}
		return constant(value)
	case 'i', 'f':
		return constant(literal(t))
	case 'n':
		return nameExpression(t.text)
	}
	switch t.text {
	case "(":
		if x.operator(")") {
			return listOf(nil, true)
		}
		e := x.group()
		x.must(")")
		return e
	case "[":
		return listOf(x.sequence("]"), false)
	case "{":
		return x.object()
	}
	fail("line %d: unexpected %.40q", x.p.line, t.text)
	return nil
}

func constant(v any) expression { return func(*run) any { return v } }

func nameExpression(name string) expression {
	switch name {
	case "true", "True":
		return constant(true)
	case "false", "False":
		return constant(false)
	case "none", "None":
		return constant(nil)
	}
	return func(r *run) any { return r.scope.get(name) }
}

// group reads what stands in round brackets.
func (x *expressions) group() expression {
	first := x.expression()
	if !x.operator(",") {
		return first
	}
	list := []expression{first}
	for x.peek() != (token{'o', ")"}) {
		list = append(list, x.expression())
		if !x.operator(",") {
			break
		}
	}
	return listOf(list, true)
}

// sequence reads expressions with commas between up to a bracket.
func (x *expressions) sequence(end string) []expression {
	var list []expression
	for !x.operator(end) {
		list = append(list, x.expression())
		if !x.operator(",") {
			x.must(end)
			break
		}
	}
	return list
}

func (x *expressions) object() expression {
	var keys, values []expression
	for !x.operator("}") {
		keys = append(keys, x.expression())
		x.must(":")
		values = append(values, x.expression())
		if !x.operator(",") {
			x.must("}")
			break
		}
	}
	return func(r *run) any {
		d := NewDict()
		for i := range keys {
			r.charge(16)
			d.Set(r.text(keys[i](r)), values[i](r))
		}
		return d
	}
}

// postfix reads the attributes, indices and calls behind a value.
func (x *expressions) postfix(e expression) expression {
	for {
		of := e
		switch {
		case x.operator("."):
			if t := x.peek(); t.kind == 'i' {
				at := literal(t)
				x.list = x.list[1:]
				e = func(r *run) any { return index(of(r), at) }
				continue
			}
			name := x.name()
			e = func(r *run) any { return attribute(of(r), name, false) }
		case x.operator("["):
			e = x.subscript(of)
		case x.operator("("):
			args := x.arguments()
			e = func(r *run) any { return r.call(of(r), args(r)) }
		default:
			return e
		}
	}
}

func (x *expressions) subscript(of expression) expression {
	var parts [3]expression
	n := 0
	for n < 3 {
		if t := x.peek(); t != (token{'o', ":"}) && t != (token{'o', "]"}) {
			parts[n] = x.expression()
		}
		if !x.operator(":") {
			break
		}
		n++
	}
	x.must("]")
	if n == 0 {
		if parts[0] == nil {
			x.unexpected()
		}
		at := parts[0]
		return func(r *run) any {
			v := of(r)
			if s, ok := v.(string); ok {
				r.charge(len(s))
			}
			return index(v, at(r))
		}
	}
	value := func(r *run, e expression) any {
		if e == nil {
			return nil
		}
		return e(r)
	}
	return func(r *run) any {
		v := of(r)
		r.charge(16 * weight(v))
		return slice(v, value(r, parts[0]), value(r, parts[1]), value(r, parts[2]))
	}
}

// Arguments are those of a call.
type arguments struct {
	list  []any
	names map[string]any
}

// arguments reads those of a call, whose bracket is open.
func (x *expressions) arguments() func(r *run) *arguments {
	var list []expression
	names := map[string]expression{}
	for !x.operator(")") {
		if len(x.list) > 1 && x.list[0].kind == 'n' && x.list[1] == (token{'o', "="}) {
			name := x.name()
			x.must("=")
			names[name] = x.expression()
		} else {
			list = append(list, x.expression())
		}
		if !x.operator(",") {
			x.must(")")
			break
		}
	}
	return func(r *run) *arguments {
		a := &arguments{names: map[string]any{}}
		for _, e := range list {
			a.list = append(a.list, e(r))
		}
		for name, e := range names {
			a.names[name] = e(r)
		}
		return a
	}
}

// call calls a function, a method or a macro.
func (r *run) call(f any, a *arguments) any {
	r.charge(16)
	switch f := f.(type) {
	case call:
		return f(r, a)
	case Function:
		v, err := f(a.list)
		if err != nil {
			panic(failure{err})
		}
		return v
	case undefined:
		fail("%q is not defined", f.name)
	}
	fail("%s is not a function", kindOf(f))
	return nil
}

// filters reads the filters and tests behind a value.
func (x *expressions) filters(e expression) expression {
	for {
		of := e
		switch {
		case x.operator("|"):
			name := x.name()
			f, ok := filters[name]
			if !ok {
				fail("line %d: the filter %q is not supported", x.p.line, name)
			}
			args := func(*run) *arguments { return &arguments{} }
			if x.operator("(") {
				args = x.arguments()
			}
			e = func(r *run) any {
				v := of(r)
				r.charge(16 * weight(v))
				return f(r, v, args(r))
			}
			e = x.postfix(e)
		case x.word("is"):
			e = x.test(of)
		default:
			return e
		}
	}
}

// test reads the test behind the word is.
func (x *expressions) test(of expression) expression {
	negated := x.word("not")
	name := x.name()
	test, ok := tests[name]
	if !ok {
		fail("line %d: the test %q is not supported", x.p.line, name)
	}
	args := func(*run) *arguments { return &arguments{} }
	if x.operator("(") {
		args = x.arguments()
	} else if t := x.peek(); t.kind == 's' || t.kind == 'i' || t.kind == 'f' || t.kind == 'o' && (t.text == "[" || t.text == "{") ||
		t.kind == 'n' && !keywords[t.text] {
		e := x.postfix(x.primary())
		args = func(r *run) *arguments { return &arguments{list: []any{e(r)}} }
	}
	return func(r *run) any { return test(r, of(r), args(r)) != negated }
}

// keywords are the names that end a test.
var keywords = map[string]bool{"and": true, "or": true, "not": true, "if": true, "else": true, "is": true, "in": true}

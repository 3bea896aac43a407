package jinja

import (
	"strconv"
	"strings"
)

// An expression computes a value.
type expression func(r *run) any

// expressions reads the inside of a tag.
type expressions struct {
	p    *parser
	list []token
}

func (p *parser) expressions(text string) *expressions {
	return &expressions{p, tokens(text, p.line)}
}

func (x *expressions) peek() token {
	if len(x.list) == 0 {
		return token{}
	}
	return x.list[0]
}

func (x *expressions) unexpected() {
	t := x.peek()
	if t.kind == 0 {
		fail("line %d: the tag ends too early", x.p.line)
	}
	fail("line %d: unexpected %.40q", x.p.line, t.text)
}

func (x *expressions) end() {
	if len(x.list) > 0 {
		x.unexpected()
	}
}

// operator takes an operator if it is next.
func (x *expressions) operator(text string) bool {
	if t := x.peek(); t.kind != 'o' || t.text != text {
		return false
	}
	x.list = x.list[1:]
	return true
}

// word takes a name if it is next.
func (x *expressions) word(text string) bool {
	if t := x.peek(); t.kind != 'n' || t.text != text {
		return false
	}
	x.list = x.list[1:]
	return true
}

func (x *expressions) must(text string) {
	if !x.operator(text) {
		x.unexpected()
	}
}

func (x *expressions) name() string {
	t := x.peek()
	if t.kind != 'n' {
		x.unexpected()
	}
	x.list = x.list[1:]
	return t.text
}

// targets reads the variables of a loop or an assignment.
func (x *expressions) targets() []string {
	open := x.operator("(")
	names := []string{x.name()}
	for x.operator(",") {
		names = append(names, x.name())
	}
	if open {
		x.must(")")
	}
	return names
}

// tuple reads an expression, or several with commas in between as a list.
func (x *expressions) tuple() expression {
	first := x.expression()
	if t := x.peek(); t.kind != 'o' || t.text != "," {
		return first
	}
	list := []expression{first}
	for x.operator(",") {
		if len(x.list) == 0 {
			break
		}
		list = append(list, x.expression())
	}
	return listOf(list, true)
}

func listOf(list []expression, tuple bool) expression {
	return func(r *run) any {
		r.hold(itemBytes * len(list))
		values := make([]any, len(list))
		for i, e := range list {
			values[i] = e(r)
		}
		l := r.list(values)
		l.tuple = tuple
		return l
	}
}

// expression reads a conditional: a value if a condition holds, else another.
func (x *expressions) expression() expression {
	defer x.p.deeper()()
	e := x.or()
	for x.word("if") {
		yes, condition := e, x.or()
		no := expression(func(*run) any { return undefined{"else"} })
		if x.word("else") {
			no = x.expression()
		}
		e = func(r *run) any {
			if truth(condition(r)) {
				return yes(r)
			}
			return no(r)
		}
	}
	return e
}

func (x *expressions) or() expression {
	e := x.and()
	for x.word("or") {
		left, right := e, x.and()
		e = func(r *run) any {
			if v := left(r); truth(v) {
				return v
			}
			return right(r)
		}
	}
	return e
}

func (x *expressions) and() expression {
	e := x.not()
	for x.word("and") {
		left, right := e, x.not()
		e = func(r *run) any {
			if v := left(r); !truth(v) {
				return v
			}
			return right(r)
		}
	}
	return e
}

func (x *expressions) not() expression {
	defer x.p.deeper()()
	if x.word("not") {
		e := x.not()
		return func(r *run) any { return !truth(e(r)) }
	}
	return x.comparison()
}

// literal reads a number.
func literal(t token) any {
	if t.kind == 'f' {
		v, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			fail("%.40q is not a number", t.text)
		}
		return v
	}
	v, err := strconv.Atoi(strings.TrimSpace(t.text))
	if err != nil {
		fail("%.40q is not an integer of 64 bits", t.text)
	}
	return v
}

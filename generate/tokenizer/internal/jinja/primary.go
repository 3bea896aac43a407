package jinja

import "strings"

// primary reads a value without operators.
func (x *expressions) primary() expression {
	t := x.peek()
	if t.kind == 0 {
		x.unexpected()
	}
	x.list = x.list[1:]
	switch t.kind {
	case 's':
		parts := []string{t.text}
		for x.peek().kind == 's' {
			parts = append(parts, x.peek().text)
			x.list = x.list[1:]
		}
		return constant(strings.Join(parts, ""))
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

func constant(v any) expression { return func(r *run) any { r.steps(1); return v } }

func nameExpression(name string) expression {
	switch name {
	case "true", "True":
		return constant(true)
	case "false", "False":
		return constant(false)
	case "none", "None":
		return constant(nil)
	}
	return func(r *run) any { return r.get(name) }
}

// group reads the inside of round brackets.
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

// sequence reads expressions with commas in between, up to a bracket.
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
		d := r.object()
		for i := range keys {
			r.set(d, r.text(keys[i](r)), values[i](r))
		}
		return d
	}
}

// postfix reads the attributes, indices and calls after a value.
func (x *expressions) postfix(e expression) expression {
	for {
		of := e
		switch {
		case x.operator("."):
			if t := x.peek(); t.kind == 'i' {
				at := literal(t)
				x.list = x.list[1:]
				e = func(r *run) any { return r.index(of(r), at) }
				continue
			}
			name := x.name()
			e = func(r *run) any { return r.attribute(of(r), name, false) }
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
		return func(r *run) any { return r.index(of(r), at(r)) }
	}
	value := func(r *run, e expression) any {
		if e == nil {
			return nil
		}
		return e(r)
	}
	return func(r *run) any {
		return r.slice(of(r), value(r, parts[0]), value(r, parts[1]), value(r, parts[2]))
	}
}

// arguments are the values that a call passes, in order and by name.
type arguments struct {
	list  []any
	names map[string]any
}

// arguments reads the arguments of a call after its open bracket.
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
	r.steps(1 + len(a.list) + len(a.names))
	switch f := f.(type) {
	case call:
		return f(r, a)
	case Function:
		v, err := f(a.list)
		if err != nil {
			panic(failure{err})
		}
		r.hold(16 * weight(v))
		return v
	case undefined:
		fail("%q is not defined", f.name)
	}
	fail("%s is not a function", kindOf(f))
	return nil
}

// filters reads the filters and tests after a value.
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
			e = func(r *run) any { return r.filter(f, of(r), args(r)) }
			e = x.postfix(e)
		case x.word("is"):
			e = x.test(of)
		default:
			return e
		}
	}
}

// test reads the test after the word is.
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
	return func(r *run) any { return r.test(test, of(r), args(r)) != negated }
}

// keywords are the names that end a test.
var keywords = map[string]bool{"and": true, "or": true, "not": true, "if": true, "else": true, "is": true, "in": true}

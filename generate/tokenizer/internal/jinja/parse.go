package jinja

import (
	"slices"
)

// A parser reads segments into statements.
type parser struct {
	segments []segment
	at       int
	line     int
	depth    int
}

// deeper counts how deep statements and expressions are nested.
func (p *parser) deeper() func() {
	p.depth++
	if p.depth > MaxDepth {
		fail("line %d: the template stands more than %d deep in itself", p.line, MaxDepth)
	}
	return func() { p.depth-- }
}

// body reads statements up to a tag with one of the names, or to the end of the template. It
// returns the tag's name.
func (p *parser) body(ends ...string) ([]statement, string) {
	list, end, rest := p.until(ends...)
	if end != "" && len(rest.list) > 0 {
		fail("line %d: unexpected text in %s", p.line, end)
	}
	return list, end
}

func (p *parser) until(ends ...string) ([]statement, string, *expressions) {
	defer p.deeper()()
	var list []statement
	for p.at < len(p.segments) {
		s := p.segments[p.at]
		p.at++
		p.line = s.line
		switch s.kind {
		case 't':
			list = append(list, func(r *run) leave { r.out.WriteString(s.text); return stay })
		case '{':
			x := p.expressions(s.text)
			e := x.tuple()
			x.end()
			list = append(list, func(r *run) leave { r.out.WriteString(r.text(e(r))); return stay })
		default:
			x := p.expressions(s.text)
			name := x.name()
			if slices.Contains(ends, name) {
				return list, name, x
			}
			read, ok := statements[name]
			if !ok {
				fail("line %d: the statement %q is not supported", p.line, name)
			}
			list = append(list, read(p, x))
		}
	}
	if len(ends) > 0 {
		fail("line %d: the template ends, and %s is missing", p.line, ends[len(ends)-1])
	}
	return list, "", nil
}

// statements are the known statements. They read the rest of their tag, and the template up to
// their end.
var statements map[string]func(p *parser, x *expressions) statement

func init() {
	statements = map[string]func(p *parser, x *expressions) statement{
		"if":         (*parser).ifStatement,
		"for":        (*parser).forStatement,
		"set":        (*parser).setStatement,
		"macro":      (*parser).macroStatement,
		"filter":     (*parser).filterStatement,
		"with":       (*parser).withStatement,
		"generation": (*parser).generationStatement,
		"do":         (*parser).doStatement,
		"break":      func(_ *parser, x *expressions) statement { x.end(); return func(*run) leave { return leaveLoop } },
		"continue":   func(_ *parser, x *expressions) statement { x.end(); return func(*run) leave { return leaveTurn } },
	}
}

func (p *parser) ifStatement(x *expressions) statement {
	condition := x.expression()
	x.end()
	yes, end, rest := p.until("elif", "else", "endif")
	var no []statement
	switch end {
	case "elif":
		no = []statement{p.ifStatement(rest)}
	case "else":
		rest.end()
		no, _ = p.body("endif")
	}
	return func(r *run) leave {
		if truth(condition(r)) {
			return r.all(yes)
		}
		return r.all(no)
	}
}

func (p *parser) forStatement(x *expressions) statement {
	targets := x.targets()
	if x.name() != "in" {
		fail("line %d: a loop needs the word in", p.line)
	}
	over := x.or()
	var only expression
	if x.word("if") {
		only = x.expression()
	}
	x.end()
	body, end, rest := p.until("else", "endfor")
	var none []statement
	if end == "else" {
		rest.end()
		none, _ = p.body("endfor")
	}
	return func(r *run) leave {
		list := r.filtered(r.items(over(r)), targets, only)
		if len(list) == 0 {
			return r.all(none)
		}
		r.loop(list, targets, body)
		return stay
	}
}

// filtered returns the items of a loop that meet its condition.
func (r *run) filtered(list []any, targets []string, only expression) []any {
	if only == nil {
		return list
	}
	var kept []any
	for _, item := range list {
		r.steps(1)
		r.within(map[string]any{}, func() {
			r.assign(targets, item)
			if truth(only(r)) {
				r.hold(itemBytes)
				kept = append(kept, item)
			}
		})
	}
	return kept
}

func (r *run) loop(list []any, targets []string, body []statement) {
	for i, item := range list {
		r.steps(1)
		var l leave
		r.within(map[string]any{"loop": &loop{list, i}}, func() {
			r.assign(targets, item)
			l = r.all(body)
		})
		if l == leaveLoop {
			return
		}
	}
}

// assign sets one variable, or several to the parts of a value.
func (r *run) assign(targets []string, v any) {
	if len(targets) == 1 {
		r.scope.vars[targets[0]] = v
		return
	}
	list := r.items(v)
	if len(list) != len(targets) {
		fail("%d values for %d variables", len(list), len(targets))
	}
	for i, name := range targets {
		r.scope.vars[name] = list[i]
	}
}

// A loop is the variable loop.
type loop struct {
	list []any
	at   int
}

func (l *loop) attribute(name string) any {
	n := len(l.list)
	switch name {
	case "index":
		return l.at + 1
	case "index0":
		return l.at
	case "revindex":
		return n - l.at
	case "revindex0":
		return n - l.at - 1
	case "first":
		return l.at == 0
	case "last":
		return l.at == n-1
	case "length":
		return n
	case "previtem":
		if l.at > 0 {
			return l.list[l.at-1]
		}
	case "nextitem":
		if l.at+1 < n {
			return l.list[l.at+1]
		}
	case "cycle":
		return call(func(_ *run, a *arguments) any {
			if len(a.list) == 0 {
				fail("cycle needs values")
			}
			return a.list[l.at%len(a.list)]
		})
	}
	return undefined{"loop." + name}
}

func (p *parser) setStatement(x *expressions) statement {
	targets := x.targets()
	field := ""
	if len(targets) == 1 && x.operator(".") {
		field = x.name()
	}
	if !x.operator("=") {
		x.end()
		body, _ := p.body("endset")
		return func(r *run) leave {
			r.store(targets, field, r.capture(body))
			return stay
		}
	}
	e := x.tuple()
	x.end()
	return func(r *run) leave {
		r.store(targets, field, e(r))
		return stay
	}
}

// store sets variables, or an attribute of a namespace.
func (r *run) store(targets []string, field string, v any) {
	if field == "" {
		r.assign(targets, v)
		return
	}
	space, ok := r.get(targets[0]).(namespace)
	if !ok {
		fail("%s is not a namespace: only those have attributes that change", targets[0])
	}
	r.set(space.Dict, field, v)
}

func (p *parser) macroStatement(x *expressions) statement {
	name := x.name()
	x.must("(")
	var names []string
	var defaults []expression
	for !x.operator(")") {
		names = append(names, x.name())
		var e expression
		if x.operator("=") {
			e = x.expression()
		}
		defaults = append(defaults, e)
		if !x.operator(",") {
			x.must(")")
			break
		}
	}
	x.end()
	body, _ := p.body("endmacro")
	return func(r *run) leave {
		above := r.scope
		for s := above; s != nil && !s.kept; s = s.above {
			s.kept = true
		}
		r.scope.vars[name] = call(func(r *run, a *arguments) any {
			return r.macro(name, above, names, defaults, a, body)
		})
		return stay
	}
}

// macro calls a macro in a scope within the scope of its definition.
func (r *run) macro(name string, above *scope, names []string, defaults []expression, a *arguments, body []statement) any {
	if len(a.list) > len(names) {
		fail("%s takes %d arguments, not %d", name, len(names), len(a.list))
	}
	r.depth++
	if r.depth > MaxDepth {
		fail("macros call each other more than %d deep", MaxDepth)
	}
	before := r.scope
	r.enter(map[string]any{}, above)
	for i, arg := range names {
		value, named := a.names[arg]
		switch {
		case i < len(a.list):
			value = a.list[i]
		case named:
		case defaults[i] != nil:
			value = defaults[i](r)
		default:
			value = undefined{arg}
		}
		r.scope.vars[arg] = value
	}
	text := r.capture(body)
	r.leave(before)
	r.depth--
	return text
}

func (p *parser) filterStatement(x *expressions) statement {
	x.list = append([]token{{'o', "|"}}, x.list...)
	e := x.filters(func(r *run) any { return r.get("\x00") })
	x.end()
	body, _ := p.body("endfilter")
	return func(r *run) leave {
		content := r.capture(body)
		r.within(map[string]any{"\x00": content}, func() { r.out.WriteString(r.text(e(r))) })
		return stay
	}
}

func (p *parser) withStatement(x *expressions) statement {
	var names []string
	var values []expression
	for len(x.list) > 0 {
		names = append(names, x.name())
		x.must("=")
		values = append(values, x.expression())
		if !x.operator(",") {
			break
		}
	}
	x.end()
	body, _ := p.body("endwith")
	return func(r *run) leave {
		vars := map[string]any{}
		for i, e := range values {
			vars[names[i]] = e(r)
		}
		var l leave
		r.within(vars, func() { l = r.all(body) })
		return l
	}
}

// generationStatement reads the statement around text of the model. It writes its inside.
func (p *parser) generationStatement(x *expressions) statement {
	x.end()
	body, _ := p.body("endgeneration")
	return func(r *run) leave {
		var l leave
		r.within(map[string]any{}, func() { l = r.all(body) })
		return l
	}
}

func (p *parser) doStatement(x *expressions) statement {
	e := x.expression()
	x.end()
	return func(r *run) leave { e(r); return stay }
}

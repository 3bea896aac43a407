package chelis

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The types below are a parser and printer for the subset of Chelis that modules use, written from
// the rules of its formatter, independently of the emitter.

type source struct {
	module  string
	exports []string
	imports []string // of Std.Io.Tensors
	types   []recordType
	defs    []definition
}

type recordType struct {
	name string
	dims []string
	body []parameter
}

type parameter struct {
	name string
	kind chType
}

// chType is a tensor, or a record if name is set.
type chType struct {
	name string
	args []string // extents, variables and, for a tensor, the element type at the end
}

type definition struct {
	name   string
	dims   []string
	params []parameter
	result chType
	io     bool
	lines  []let
	tail   expr
}

type let struct {
	name string
	kind chType // if declared
	expr expr
}

// expr is an expression. kind decides which fields count.
type expr struct {
	kind   byte // 'n'umber 's'tring 'i'dentifier 'c'all '['list '('tuple '{'record
	text   string
	args   []expr
	fields []string
}

var token = regexp.MustCompile(`^(?:\d+(?:\.\d+)?(?:e-?\d+)?(?:f32|f64|i32|i64)?|[A-Za-z_][A-Za-z0-9_]*|"[a-z0-9_]*"|->|[\[\](){}:,=.|!-]|\n *| +)`)

type parser struct {
	tokens []string
	at     int
}

func parse(text string) (s *source, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	p := &parser{}
	for rest := text; rest != ""; {
		t := token.FindString(rest)
		if t == "" {
			return nil, fmt.Errorf("no token at %.40q", rest)
		}
		rest = rest[len(t):]
		if strings.TrimSpace(t) != "" {
			p.tokens = append(p.tokens, t)
		}
	}
	return p.source(), nil
}

func (p *parser) peek() string {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return ""
}

func (p *parser) next() string {
	t := p.peek()
	if t == "" {
		panic("the text ends too early")
	}
	p.at++
	return t
}

func (p *parser) accept(t string) bool {
	if p.peek() == t {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(list ...string) {
	for _, t := range list {
		if got := p.next(); got != t {
			panic(fmt.Sprintf("%q where %q belongs, behind %q", got, t, p.tokens[max(0, p.at-6):p.at-1]))
		}
	}
}

func (p *parser) list(end string, item func()) {
	for !p.accept(end) {
		item()
		if !p.accept(",") {
			p.expect(end)
			return
		}
	}
}

func (p *parser) words(end string) (list []string) {
	p.list(end, func() { list = append(list, p.next()) })
	return list
}

func (p *parser) source() *source {
	s := &source{}
	p.expect("module")
	s.module = p.next()
	for p.accept(".") {
		s.module += "." + p.next()
	}
	p.expect("export", "(")
	s.exports = p.words(")")
	if p.accept("import") {
		p.expect("Std", ".", "Io", ".", "Tensors", "(")
		s.imports = p.words(")")
	}
	for p.peek() != "" {
		switch t := p.next(); t {
		case "type":
			r := recordType{name: p.next(), dims: p.dims()}
			p.expect("=", "|", r.name, "{")
			r.body = p.params("}")
			s.types = append(s.types, r)
		case "def":
			s.defs = append(s.defs, p.def())
		default:
			panic("no declaration begins with " + t)
		}
	}
	return s
}

func (p *parser) dims() []string {
	if p.accept("[") {
		return p.words("]")
	}
	return nil
}

func (p *parser) params(end string) (list []parameter) {
	p.list(end, func() {
		name := p.next()
		p.expect(":")
		list = append(list, parameter{name, p.chType()})
	})
	return list
}

func (p *parser) chType() chType { return chType{p.next(), p.dims()} }

func (p *parser) def() definition {
	d := definition{name: p.next(), dims: p.dims()}
	p.expect("(")
	d.params = p.params(")")
	p.expect("->")
	d.result = p.chType()
	if d.io = p.accept("!"); d.io {
		p.expect("{", "IO", "}")
	}
	p.expect("=")
	if !p.accept("{") {
		d.tail = p.expr()
		return d
	}
	for {
		e := p.expr()
		l := let{name: e.text}
		typed := e.kind == 'i' && p.accept(":")
		if typed {
			l.kind = p.chType()
		}
		if e.kind == 'i' && p.accept("=") {
			l.expr = p.expr()
			d.lines = append(d.lines, l)
			continue
		}
		if typed {
			panic("a type without a value")
		}
		d.tail = e
		p.expect("}")
		return d
	}
}

func (p *parser) expr() expr {
	t := p.next()
	switch {
	case t == "-":
		e := p.expr()
		e.text = "-" + e.text
		return e
	case t == "[" || t == "(":
		e := expr{kind: t[0]}
		p.list(map[string]string{"[": "]", "(": ")"}[t], func() { e.args = append(e.args, p.expr()) })
		return e
	case t[0] >= '0' && t[0] <= '9':
		return expr{kind: 'n', text: t}
	case t[0] == '"':
		return expr{kind: 's', text: t}
	}
	for p.accept(".") {
		t += "." + p.next()
	}
	e := expr{kind: 'i', text: t}
	switch {
	case p.accept("("):
		e.kind = 'c'
		p.list(")", func() { e.args = append(e.args, p.expr()) })
	case t[0] >= 'A' && t[0] <= 'Z' && p.accept("{"):
		e.kind = '{'
		p.list("}", func() {
			name := p.next()
			v := expr{kind: 'i', text: name}
			if p.accept(":") {
				v = p.expr()
			}
			e.fields, e.args = append(e.fields, name), append(e.args, v)
		})
	}
	return e
}

// canonical prints a module as the formatter of Chelis does.
func canonical(s *source) string {
	var b strings.Builder
	fmt.Fprintf(&b, "module %s\nexport (%s)\n", s.module, strings.Join(s.exports, ", "))
	if len(s.imports) > 0 {
		fmt.Fprintf(&b, "import Std.Io.Tensors (%s)\n", strings.Join(s.imports, ", "))
	}
	for _, t := range s.types {
		fmt.Fprintf(&b, "type %s%s =\n  | %s { %s }\n", t.name, bracketed(t.dims), t.name, printParams(t.body))
	}
	for _, d := range s.defs {
		effect := ""
		if d.io {
			effect = " ! { IO }"
		}
		fmt.Fprintf(&b, "def %s%s(%s) -> %s%s = ", d.name, bracketed(d.dims), printParams(d.params), d.result, effect)
		if len(d.lines) == 0 {
			b.WriteString(d.tail.String() + "\n")
			continue
		}
		b.WriteString("{\n")
		for _, l := range d.lines {
			kind := ""
			if l.kind.name != "" {
				kind = ": " + l.kind.String()
			}
			fmt.Fprintf(&b, "  %s%s = %s\n", l.name, kind, l.expr)
		}
		fmt.Fprintf(&b, "  %s\n}\n", d.tail)
	}
	return b.String()
}

func bracketed(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return "[" + strings.Join(list, ", ") + "]"
}

func printParams(list []parameter) string {
	parts := make([]string, len(list))
	for i, p := range list {
		parts[i] = p.name + ": " + p.kind.String()
	}
	return strings.Join(parts, ", ")
}

func (t chType) String() string { return t.name + bracketed(t.args) }

func (e expr) String() string {
	parts := make([]string, len(e.args))
	for i, a := range e.args {
		parts[i] = a.String()
		if e.kind == '{' && parts[i] != e.fields[i] {
			parts[i] = e.fields[i] + ": " + parts[i]
		}
	}
	all := strings.Join(parts, ", ")
	switch e.kind {
	case 'n':
		return printNumber(e.text)
	case '[':
		return "[" + all + "]"
	case '(':
		return "(" + all + ")"
	case '{':
		return e.text + " { " + all + " }"
	case 'c':
		return e.text + "(" + all + ")"
	}
	return e.text
}

// printNumber prints a literal from its value: floats in the shortest form, positional if p in
// 0.ddd * 10^p is in -4..16.
func printNumber(text string) string {
	body, suffix := text, ""
	for _, s := range []string{"f32", "f64", "i32", "i64"} {
		if b, ok := strings.CutSuffix(text, s); ok {
			body, suffix = b, s
		}
	}
	if !strings.ContainsAny(body, ".e") {
		v, err := strconv.ParseInt(body, 10, 64)
		if err != nil {
			panic(err)
		}
		return strconv.FormatInt(v, 10) + suffix
	}
	v, err := strconv.ParseFloat(body, 64)
	if err != nil {
		panic(err)
	}
	digits, power, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	p, _ := strconv.Atoi(power)
	p++
	if v == 0 {
		p = 0
	}
	if p < -4 || p > 16 {
		return digits + "e" + strconv.Itoa(p-1) + suffix
	}
	out := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(out, ".") {
		out += ".0"
	}
	return out + suffix
}

package graph

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of a text that ParseDim parses as an expression.
const (
	maxText  = 256
	maxDepth = 32
)

// ParseDim parses an expression as String or exporters of ONNX files write it:
// "past_sequence_length + 1", "batch_size * 2", "(height+1)/2". It supports the operators + - * **
// and / //, which both round down, and the functions min, max, floor and ceiling, in lower case or
// with an initial capital. Within floor and ceiling, / gives fractions. Any other text is a symbol
// of that name.
func ParseDim(text string) Dim {
	if len(text) > maxText || isWord(text) {
		return Symbol(text)
	}
	p := &dimParser{rest: text}
	f := p.sum()
	if p.space(); p.failed || p.rest != "" || f.by != 1 || f.of.IsUnknown() {
		return Symbol(text)
	}
	d := f.of
	if d.x != nil && d.String() != text {
		d.x = &sum{terms: d.x.terms, size: d.x.size, text: text, textN: d.n}
	}
	return d
}

// fraction is an extent divided by a positive number, exactly.
type fraction struct {
	of Dim
	by int
}

func wholeOf(d Dim) fraction { return fraction{d, 1} }

// dimParser parses an expression by recursive descent.
type dimParser struct {
	rest   string
	depth  int
	exact  bool // whether / gives fractions
	failed bool
}

func (p *dimParser) fail() fraction {
	p.failed = true
	return wholeOf(Unknown())
}

func (p *dimParser) space() { p.rest = strings.TrimLeft(p.rest, " \t") }

// take reports whether an operator comes next, and consumes it.
func (p *dimParser) take(op string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, op)
	if ok {
		p.rest = rest
	}
	return ok
}

// sum parses terms separated by + and -. The first may have a sign.
func (p *dimParser) sum() fraction {
	if p.depth++; p.depth > maxDepth {
		return p.fail()
	}
	defer func() { p.depth-- }()
	var f fraction
	if p.take("-") {
		f = p.plus(wholeOf(Known(0)), p.product(), -1)
	} else {
		f = p.product()
	}
	for !p.failed {
		switch {
		case p.take("+"):
			f = p.plus(f, p.product(), 1)
		case p.take("-"):
			f = p.plus(f, p.product(), -1)
		default:
			return f
		}
	}
	return f
}

// plus returns f + k·g.
func (p *dimParser) plus(f, g fraction, k int) fraction {
	by, ok := mulAdd(0, f.by, g.by)
	if !ok {
		return p.fail()
	}
	return fraction{f.of.Mul(Known(g.by)).Add(g.of.Mul(Known(f.by)).Mul(Known(k))), by}
}

// product parses powers separated by * and /.
func (p *dimParser) product() fraction {
	f := p.power()
	for !p.failed {
		switch {
		case p.take("//"):
			f = p.over(f, p.power())
		case p.take("/"):
			f = p.quotient(f, p.power())
		case p.take("*"):
			g := p.power()
			by, ok := mulAdd(0, f.by, g.by)
			if !ok {
				return p.fail()
			}
			f = fraction{f.of.Mul(g.of), by}
		default:
			return f
		}
	}
	return f
}

// over returns f/g rounded down.
func (p *dimParser) over(f, g fraction) fraction {
	return wholeOf(f.of.Mul(Known(g.by)).Div(g.of.Mul(Known(f.by))))
}

// quotient returns f/g: exact within floor and ceiling, else rounded down. Outside these, a
// fraction of numbers belongs to a sum that is whole only in total, and fails.
func (p *dimParser) quotient(f, g fraction) fraction {
	n, ok := g.of.Value()
	if !p.exact {
		q := p.over(f, g)
		if ok && f.of.IsKnown() && !q.of.Mul(g.of).Same(f.of) {
			return p.fail()
		}
		return q
	}
	by, fits := mulAdd(0, f.by, n)
	if !ok || !fits || n <= 0 || g.by != 1 {
		return p.fail()
	}
	return fraction{f.of, by}
}

// power parses an operand and its exponent, a number.
func (p *dimParser) power() fraction {
	f := p.operand()
	if p.failed || !p.take("**") {
		return f
	}
	p.space()
	n, ok := p.number()
	if !ok || n < 1 || n > maxFactors || f.by != 1 {
		return p.fail()
	}
	d := f.of
	for range n - 1 {
		d = d.Mul(f.of)
	}
	return wholeOf(d)
}

// number parses digits that no letter follows.
func (p *dimParser) number() (int, bool) {
	end := 0
	for end < len(p.rest) && isDigit(rune(p.rest[end])) {
		end++
	}
	n, err := strconv.Atoi(p.rest[:end])
	if r, _ := utf8.DecodeRuneInString(p.rest[end:]); err != nil || isLetter(r) {
		return 0, false
	}
	p.rest = p.rest[end:]
	return n, true
}

func (p *dimParser) operand() fraction {
	p.space()
	if p.take("(") {
		f := p.sum()
		if !p.take(")") {
			return p.fail()
		}
		return f
	}
	if quoted, err := strconv.QuotedPrefix(p.rest); err == nil && quoted[0] == '"' {
		p.rest = p.rest[len(quoted):]
		name, _ := strconv.Unquote(quoted)
		return wholeOf(Symbol(name))
	}
	if n, ok := p.number(); ok {
		return wholeOf(Known(n))
	}
	end := strings.IndexFunc(p.rest, func(r rune) bool { return !isLetter(r) && !isDigit(r) })
	if end < 0 {
		end = len(p.rest)
	}
	name := p.rest[:end]
	if p.rest = p.rest[end:]; p.take("(") {
		return p.call(name)
	}
	if !isWord(name) {
		return p.fail()
	}
	return wholeOf(Symbol(name))
}

// call parses the arguments of a function, after the opening bracket.
func (p *dimParser) call(name string) fraction {
	switch strings.ToLower(name[:min(len(name), 1)]) + name[min(len(name), 1):] {
	case "min":
		return p.extreme(Dim.Min)
	case "max":
		return p.extreme(Dim.Max)
	case "floor":
		f := p.fraction()
		return wholeOf(f.of.Div(Known(f.by)))
	case "ceiling":
		f := p.fraction()
		return wholeOf(f.of.Add(Known(f.by - 1)).Div(Known(f.by)))
	}
	return p.fail()
}

// fraction parses a sum in which / is exact, and the closing bracket.
func (p *dimParser) fraction() fraction {
	outer := p.exact
	p.exact = true
	f := p.sum()
	if p.exact = outer; !p.take(")") {
		return p.fail()
	}
	return f
}

// extreme parses the arguments of f, and the closing bracket.
func (p *dimParser) extreme(f func(d, e Dim) Dim) fraction {
	first := p.sum()
	d, by := first.of, first.by
	for !p.failed && p.take(",") {
		next := p.sum()
		d, by = f(d, next.of), max(by, next.by)
	}
	if by != 1 || !p.take(")") {
		return p.fail()
	}
	return wholeOf(d)
}

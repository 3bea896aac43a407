package graph

import (
	"strconv"
	"strings"
	"unicode"
)

// unknownText is the text of an unknown extent.
const unknownText = "?"

// String returns the number, the expression, or "?". Within expressions, symbols with names that
// are not words are quoted.
func (d Dim) String() string {
	if a := d.atom(); a != nil && a.kind == symbol {
		return a.name
	}
	return d.Key()
}

// Key returns a text that is equal for equal extents only: String, with a quoted name if a lone
// symbol's name is not a word. All unknown extents have the same Key.
func (d Dim) Key() string {
	switch {
	case d.IsKnown():
		return strconv.Itoa(d.n)
	case d.IsUnknown():
		return unknownText
	}
	return string(d.append(nil))
}

// Text returns the text that ParseDim parsed d from, or String for other extents.
func (d Dim) Text() string {
	if d.x != nil && d.x.text != "" && d.x.textN == d.n {
		return d.x.text
	}
	return d.String()
}

// atom returns d if it is one atom, else nil.
func (d Dim) atom() *atom {
	t := d.terms()
	if d.n != 0 || len(t) != 1 || t[0].k != 1 || len(t[0].of) != 1 {
		return nil
	}
	return t[0].of[0]
}

// append appends the text of d: added terms first, then subtracted ones.
func (d Dim) append(b []byte) []byte {
	start := len(b)
	for _, t := range d.terms() {
		if t.k > 0 {
			b = t.append(sign(b, start, '+'))
		}
	}
	only := len(b) == start
	if only && d.n > 0 || len(d.terms()) == 0 {
		b = strconv.AppendInt(b, int64(d.n), 10)
	}
	for _, t := range d.terms() {
		if t.k < 0 {
			b = t.append(append(b, '-'))
		}
	}
	switch {
	case len(d.terms()) == 0, only && d.n > 0:
	case d.n < 0:
		b = strconv.AppendInt(b, int64(d.n), 10)
	case d.n > 0:
		b = strconv.AppendInt(append(b, '+'), int64(d.n), 10)
	}
	return b
}

// sign appends an operator, unless b ends at start.
func sign(b []byte, start int, op byte) []byte {
	if len(b) == start {
		return b
	}
	return append(b, op)
}

// append appends the text of a term without its sign.
func (t term) append(b []byte) []byte {
	start := len(b)
	if t.k != 1 && t.k != -1 {
		b = strconv.AppendUint(b, magnitude(t.k), 10)
	}
	alone := len(b) == start && len(t.of) == 1
	for _, a := range t.of {
		b = sign(b, start, '*')
		if a.kind == quotient && !alone {
			b = append(a.append(append(b, '(')), ')')
		} else {
			b = a.append(b)
		}
	}
	return b
}

func magnitude(n int) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func (a *atom) append(b []byte) []byte {
	switch a.kind {
	case symbol:
		return appendName(b, a.name)
	case quotient:
		t := a.args[0].terms()
		b = a.args[0].operand(b, len(t) == 1 && t[0].k > 0 && a.args[0].n == 0)
		return a.args[1].operand(append(b, '/'), false)
	case minimum:
		b = append(b, "min("...)
	case maximum:
		b = append(b, "max("...)
	}
	for i, x := range a.args {
		if i > 0 {
			b = append(b, ',')
		}
		b = x.append(b)
	}
	return append(b, ')')
}

// operand appends an operand of a quotient. It adds brackets unless the operand is a number, an
// atom or, if product is true, a product.
func (d Dim) operand(b []byte, product bool) []byte {
	a := d.atom()
	if d.IsKnown() && d.n >= 0 || a != nil && a.kind != quotient || a == nil && product {
		return d.append(b)
	}
	return append(d.append(append(b, '(')), ')')
}

func appendName(b []byte, name string) []byte {
	if isWord(name) {
		return append(b, name...)
	}
	return strconv.AppendQuote(b, name)
}

// isWord reports whether a symbol's name needs no quotes.
func isWord(name string) bool {
	for i, r := range name {
		if !isLetter(r) && (i == 0 || !isDigit(r)) {
			return false
		}
	}
	return name != ""
}

// isLetter reports whether a symbol's name can begin with r.
func isLetter(r rune) bool {
	return unicode.IsLetter(r) || r == '_' || strings.ContainsRune("#$@.:", r)
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

package container

import (
	"fmt"

	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/mapped"
)

// MaxJSON bounds values of JSON within values.
const MaxJSON = 10000

// Valid checks that text is one value of JSON. It returns the offset and the reason if it is
// none, and the error of the context if that ends first. Pages of a mapped file that long
// strings are on are given back.
func Valid(b *budget.Budget, text []byte) (int, error) {
	v := validator{budget: b, text: text}
	for v.value(); v.err == nil && len(v.open) > 0; {
		v.next()
	}
	if v.blank(); v.err == nil && v.at < len(text) {
		v.fail("%q follows the value", text[v.at])
	}
	return min(v.at, len(text)), v.err
}

// validator walks JSON text.
type validator struct {
	budget *budget.Budget
	text   []byte
	at     int
	looked int    // where the context was asked last
	open   []byte // the brackets around
	err    error
}

func (v *validator) fail(format string, args ...any) {
	if v.err == nil {
		v.err = fmt.Errorf(format, args...)
	}
}

// look asks the context once for each piece of text.
func (v *validator) look() {
	if v.at-v.looked >= Piece {
		v.looked = v.at
		if v.err == nil {
			v.err = v.budget.Err()
		}
	}
}

// peek returns the next byte; 0 at the end and after a failure.
func (v *validator) peek() byte {
	if v.err != nil || v.at >= len(v.text) {
		return 0
	}
	return v.text[v.at]
}

// blank passes white space.
func (v *validator) blank() {
	for c := v.peek(); c == ' ' || c == '\n' || c == '\t' || c == '\r'; c = v.peek() {
		v.at++
		v.look()
	}
}

// take passes the byte c, which must be next.
func (v *validator) take(c byte) {
	switch {
	case v.err != nil:
	case v.at >= len(v.text):
		v.fail("the text ends where %q is due", c)
	case v.text[v.at] != c:
		v.fail("%q stands where %q is due", v.text[v.at], c)
	default:
		v.at++
	}
}

// value passes a value, or the bracket that begins one and what stands before the first
// value in it.
func (v *validator) value() {
	v.blank()
	v.look()
	switch c := v.peek(); c {
	case '{', '[':
		v.at++
		if v.blank(); v.peek() == c+2 {
			v.at++
			return
		}
		if v.open = append(v.open, c); len(v.open) > MaxJSON {
			v.fail("values are nested more than %d deep", MaxJSON)
		}
		if c == '{' {
			v.key()
		} else {
			v.value()
		}
	case '"':
		v.quoted()
	case 't':
		v.word("true")
	case 'f':
		v.word("false")
	case 'n':
		v.word("null")
	default:
		v.number()
	}
}

// next passes what stands behind a value in brackets, with the value after a comma.
func (v *validator) next() {
	v.blank()
	c := v.open[len(v.open)-1]
	if v.peek() != ',' {
		v.take(c + 2)
		v.open = v.open[:len(v.open)-1]
		return
	}
	v.at++
	if c == '{' {
		v.key()
	} else {
		v.value()
	}
}

// key passes the key of a member and its value.
func (v *validator) key() {
	v.blank()
	v.quoted()
	v.blank()
	v.take(':')
	v.value()
}

func (v *validator) word(word string) {
	for i := range len(word) {
		v.take(word[i])
	}
}

// quoted passes a string.
func (v *validator) quoted() {
	v.take('"')
	for v.err == nil {
		from := v.at
		end := min(from+Piece, len(v.text))
		n, part := 0, v.text[from:end]
		for n < len(part) && part[n] != '"' && part[n] != '\\' && part[n] >= ' ' {
			n++
		}
		v.at += n
		if v.at-from == Piece {
			mapped.Release(v.text[from:v.at])
			v.look()
			continue
		}
		switch c := v.peek(); {
		case v.at >= len(v.text):
			v.fail("the text ends in a string")
		case c == '"':
			v.at++
			return
		case c == '\\':
			v.escape()
		default:
			v.fail("a string has the control character %#02x", c)
		}
	}
}

// escape passes an escape of a string.
func (v *validator) escape() {
	v.at++
	switch c := v.peek(); c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		v.at++
	case 'u':
		v.at++
		for range 4 {
			if c := v.peek(); !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
				v.fail("a string has an escape that stands for nothing")
				return
			}
			v.at++
		}
	default:
		v.fail("a string has an escape that stands for nothing")
	}
	v.look()
}

// number passes a number.
func (v *validator) number() {
	if v.peek() == '-' {
		v.at++
	}
	if v.peek() == '0' {
		v.at++
	} else {
		v.digits()
	}
	if v.peek() == '.' {
		v.at++
		v.digits()
	}
	if c := v.peek(); c == 'e' || c == 'E' {
		v.at++
		if c := v.peek(); c == '+' || c == '-' {
			v.at++
		}
		v.digits()
	}
}

// digits passes one digit or more.
func (v *validator) digits() {
	from := v.at
	for c := v.peek(); '0' <= c && c <= '9'; c = v.peek() {
		v.at++
		v.look()
	}
	switch {
	case v.at > from || v.err != nil:
	case v.at >= len(v.text):
		v.fail("the text ends where a value is due")
	default:
		v.fail("%q stands where a value is due", v.text[v.at])
	}
}

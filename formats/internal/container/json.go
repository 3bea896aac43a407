package container

import (
	"fmt"

	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/mapped"
	"github.com/nacre-ml/nacre/internal/pieces"
)

// MaxJSON is the most nested values of JSON.
const MaxJSON = 10000

// Valid checks that text is one value of JSON. If it is not, Valid returns the offset and the
// reason. If the context ends first, Valid returns its error. Valid releases the pages of long
// strings in a mapped file.
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
	looked int    // offset of the last look at the context
	open   []byte // the open brackets
	err    error
}

func (v *validator) fail(format string, args ...any) {
	if v.err == nil {
		v.err = fmt.Errorf(format, args...)
	}
}

// look looks at the context once per pieces.Bytes of text.
func (v *validator) look() {
	if v.at-v.looked >= pieces.Bytes {
		v.looked = v.at
		if v.err == nil {
			v.err = v.budget.Err()
		}
	}
}

// peek returns the next byte. At the end and after a failure it is 0.
func (v *validator) peek() byte {
	if v.err != nil || v.at >= len(v.text) {
		return 0
	}
	return v.text[v.at]
}

// blank skips white space.
func (v *validator) blank() {
	for c := v.peek(); c == ' ' || c == '\n' || c == '\t' || c == '\r'; c = v.peek() {
		v.at++
		v.look()
	}
}

// take skips the byte c. If the next byte is another, it fails.
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

// value skips a value. Of an object or array that is not empty, it skips the text up to the end of
// the first value in it, and adds the bracket to open.
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

// next skips the text after a value in brackets: a comma and the next value, or the closing
// bracket.
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

// key skips the key and the value of a member.
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

// quoted skips a string.
func (v *validator) quoted() {
	v.take('"')
	for v.err == nil {
		from := v.at
		end := min(from+pieces.Bytes, len(v.text))
		n, part := 0, v.text[from:end]
		for n < len(part) && part[n] != '"' && part[n] != '\\' && part[n] >= ' ' {
			n++
		}
		v.at += n
		if v.at-from == pieces.Bytes {
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

// escape skips an escape sequence of a string.
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

// number skips a number.
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

// digits skips one digit or more.
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

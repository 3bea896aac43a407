package tokenizer

import (
	"fmt"
	"strings"
	"unicode"
)

// maxPattern bounds the bytes of a regular expression.
const maxPattern = 1 << 12

// compile returns a regular expression of a file, written for Oniguruma. White space, digits and
// words are Unicode's; ^ and $ match at lines; classes may be nested. Features that the regular
// expressions of Go lack are an error: looking around, references, possessive repetition.
func compile(w *work, text string) (*program, error) {
	out, err := translate(text)
	if err != nil {
		return nil, err
	}
	p, _, err := newProgram(w, out)
	return p, err
}

// translate returns a pattern of Oniguruma as one of Go, without capturing groups.
func translate(text string) (string, error) {
	if len(text) > maxPattern {
		return "", fmt.Errorf("a pattern of %d bytes is too long: at most %d are allowed", len(text), maxPattern)
	}
	t := translator{in: text}
	t.out.WriteString("(?m)")
	for t.at < len(text) && t.err == nil {
		t.step()
	}
	if t.err != nil {
		return "", fmt.Errorf("pattern %.80q: %w", text, t.err)
	}
	return t.out.String(), nil
}

// A translator rewrites a pattern.
type translator struct {
	in  string
	at  int
	out strings.Builder
	err error
}

func (t *translator) fail(what string) {
	if t.err == nil {
		t.err = fmt.Errorf("%s is not supported", what)
	}
	t.at = len(t.in)
}

const spaceClass = `\t\n\v\f\r\x{85}\p{Z}`

// inside are escapes with the same meaning inside and outside a class, as the inside of a class.
var inside = map[byte]string{
	's': spaceClass,
	'd': `\p{Nd}`,
	'w': `\p{L}\p{M}\p{Nd}\p{Pc}`,
	'S': complement(func(r rune) bool { return unicode.IsSpace(r) }),
	'D': `\P{Nd}`,
}

// complement returns the inside of a class of all characters that are not of a kind.
func complement(is func(rune) bool) string {
	var b strings.Builder
	from := rune(0)
	for r := rune(0); r <= 0x3001; r++ {
		if is(r) {
			if r > from {
				fmt.Fprintf(&b, `\x{%X}-\x{%X}`, from, r-1)
			}
			from = r + 1
		}
	}
	fmt.Fprintf(&b, `\x{%X}-\x{10FFFF}`, from)
	return b.String()
}

// step rewrites one part outside classes.
func (t *translator) step() {
	c := t.in[t.at]
	switch {
	case c == '\\':
		t.escape(false)
	case c == '[':
		t.class()
	case c == '(':
		t.group()
	case strings.IndexByte("*+?}", c) >= 0 && t.at+1 < len(t.in) && t.in[t.at+1] == '+':
		t.fail("possessive repetition")
	default:
		t.out.WriteByte(c)
		t.at++
	}
}

func (t *translator) group() {
	rest := t.in[t.at:]
	switch {
	case !strings.HasPrefix(rest, "(?"):
		t.out.WriteString("(?:")
		t.at++
	case strings.HasPrefix(rest, "(?:"), strings.HasPrefix(rest, "(?i:"):
		n := strings.IndexByte(rest, ':') + 1
		t.out.WriteString(rest[:n])
		t.at += n
	case strings.HasPrefix(rest, "(?i)"):
		t.out.WriteString(rest[:4])
		t.at += 4
	default:
		t.fail(fmt.Sprintf("%.4q", rest))
	}
}

// escape rewrites a backslash and the character after it.
func (t *translator) escape(class bool) {
	if t.at+1 >= len(t.in) {
		t.fail("a backslash at the end")
		return
	}
	c := t.in[t.at+1]
	in, ok := inside[c]
	switch {
	case ok && class:
		t.out.WriteString(in)
	case ok:
		t.out.WriteString("[" + in + "]")
	case c == 'W' && !class:
		t.out.WriteString("[^" + inside['w'] + "]")
	case c == 'p' || c == 'P':
		t.property()
		return
	case strings.IndexByte("tnvfrx", c) >= 0 || c == 'A' && !class:
		t.out.WriteString(t.in[t.at : t.at+2])
	case c == 'z' && !class:
		t.out.WriteString(`\z`)
	case c == '0' && (t.at+2 >= len(t.in) || t.in[t.at+2] < '0' || t.in[t.at+2] > '9'):
		t.out.WriteString(`\x00`)
	case c < 0x80 && !unicode.IsLetter(rune(c)) && !unicode.IsDigit(rune(c)):
		if c == ' ' {
			t.out.WriteByte(c)
			break
		}
		t.out.WriteString(t.in[t.at : t.at+2])
	default:
		t.fail(fmt.Sprintf("%q", t.in[t.at:t.at+2]))
		return
	}
	t.at += 2
}

// property copies \p{...}.
func (t *translator) property() {
	end := strings.IndexByte(t.in[t.at:], '}')
	if end < 0 {
		t.fail("an open \\p")
		return
	}
	t.out.WriteString(t.in[t.at : t.at+end+1])
	t.at += end + 1
}

// class rewrites a class. Classes in it become part of it.
func (t *translator) class() {
	t.out.WriteByte('[')
	t.at++
	if t.at < len(t.in) && t.in[t.at] == '^' {
		t.out.WriteByte('^')
		t.at++
	}
	for depth, first := 1, true; depth > 0; first = false {
		if t.at >= len(t.in) {
			t.fail("an open class")
			return
		}
		switch c := t.in[t.at]; {
		case c == '\\':
			t.escape(true)
			continue
		case c == ']' && first:
			t.out.WriteString(`\]`)
		case c == ']':
			depth--
		case c == '[' && strings.HasPrefix(t.in[t.at:], "[^"), strings.HasPrefix(t.in[t.at:], "[:"):
			t.fail("a class without characters in a class")
			return
		case c == '[':
			depth++
		case strings.HasPrefix(t.in[t.at:], "&&"):
			t.fail("an intersection of classes")
			return
		default:
			t.out.WriteByte(c)
		}
		t.at++
	}
	t.out.WriteByte(']')
}

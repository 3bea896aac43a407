package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A segment is a part of a template: text that is written as it is, or the inside of a tag.
type segment struct {
	kind byte // 't' for text, '{' for an expression, '%' for a statement
	text string
	line int
}

// segments divides a template into text and tags. It trims the text around statements and comments
// by the settings and the signs - and +.
func segments(source string) []segment {
	source = strings.ReplaceAll(source, "\r\n", "\n")
	source = strings.TrimSuffix(source, "\n")
	var list []segment
	line, fresh := 1, true // fresh: a line begins here
	for source != "" {
		at := tagAt(source)
		if at < 0 {
			return append(list, segment{'t', source, line})
		}
		text, kind, body, next := source[:at], source[at+1], source[at+2:], 0
		startLine := line + strings.Count(text, "\n")
		before, body := sign(body)
		text = trimBefore(text, kind, before, fresh)
		if text != "" {
			list = append(list, segment{'t', text, line})
		}
		inner, next := inside(body, kind, startLine)
		if kind == '%' && strings.TrimSpace(inner) == "raw" {
			var raw string
			body, next = body[next:], 0
			raw, next = rawText(body, startLine)
			list = append(list, segment{'t', raw, startLine})
			inner = ""
		} else if kind != '#' {
			list = append(list, segment{kind, inner, startLine})
		}
		rest := body[next:]
		after := byte(0)
		if last := len(inner) - 1; last >= 0 && (inner[last] == '-' || inner[last] == '+' && kind != '{') {
			after = inner[last]
			if kind != '#' {
				list[len(list)-1].text = inner[:last]
			}
		}
		cut := trimAfter(rest, kind, after)
		fresh = cut > 0 && rest[cut-1] == '\n'
		line += strings.Count(source[:len(source)-len(rest)+cut], "\n")
		source = rest[cut:]
	}
	return list
}

// tagAt returns where the next tag begins, or -1.
func tagAt(source string) int {
	for from := 0; ; {
		i := strings.IndexByte(source[from:], '{')
		if i < 0 || from+i+1 >= len(source) {
			return -1
		}
		from += i
		if strings.IndexByte("{%#", source[from+1]) >= 0 {
			return from
		}
		from++
	}
}

// sign takes the sign at the beginning of a tag.
func sign(body string) (byte, string) {
	if body != "" && (body[0] == '-' || body[0] == '+') {
		return body[0], body[1:]
	}
	return 0, body
}

func trimBefore(text string, kind, sign byte, fresh bool) string {
	if sign == '-' {
		return strings.TrimRightFunc(text, unicode.IsSpace)
	}
	if sign == '+' || kind == '{' {
		return text
	}
	from := strings.LastIndexByte(text, '\n') + 1
	if (from > 0 || fresh) && strings.TrimSpace(text[from:]) == "" {
		return text[:from]
	}
	return text
}

// trimAfter returns the length of the text after a tag that is left out.
func trimAfter(rest string, kind, sign byte) int {
	if sign == '-' {
		return len(rest) - len(strings.TrimLeftFunc(rest, unicode.IsSpace))
	}
	if sign != '+' && kind != '{' && strings.HasPrefix(rest, "\n") {
		return 1
	}
	return 0
}

// inside returns the inside of a tag, including its last sign, and where the text after it begins.
// An end in quotes does not count.
func inside(body string, kind byte, line int) (string, int) {
	end := string([]byte{kind, '}'})
	if kind == '{' {
		end = "}}"
	}
	quote, open := byte(0), 0
	for i := 0; i < len(body); i++ {
		c := body[i]
		switch {
		case kind == '#':
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
			continue
		case c == '"' || c == '\'':
			quote = c
			continue
		case c == '{':
			open++
			continue
		case c == '}' && open > 0:
			open--
			continue
		}
		if strings.HasPrefix(body[i:], end) {
			return body[:i], i + 2
		}
	}
	fail("line %d: a tag has no end %s", line, end)
	return "", 0
}

// rawText returns the text up to {% endraw %}.
func rawText(body string, line int) (string, int) {
	for from, end := 0, 0; ; {
		i := strings.Index(body[from:], "{%")
		if i < 0 {
			break
		}
		from += i
		inside := from + 2
		if end < inside {
			j := strings.Index(body[inside:], "%}")
			if j < 0 {
				break
			}
			end = inside + j
		}
		name := strings.TrimLeft(body[inside:end], "-+ \t\n")
		if rest, ok := strings.CutPrefix(name, "endraw"); ok && strings.Trim(rest, "-+ \t\n") == "" {
			return body[:from], end + 2
		}
		from = inside
	}
	fail("line %d: raw has no endraw", line)
	return "", 0
}

// A token is a part of the inside of a tag.
type token struct {
	kind byte // 'n' name, 's' text, 'i' integer, 'f' float, 'o' operator, 0 end
	text string
}

var operators = []string{"//", "**", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "<", ">", "=", "(", ")", "[", "]", "{", "}", ",", ".", ":", "|"}

// tokens divides the inside of a tag.
func tokens(text string, line int) []token {
	var list []token
	for {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
		if text == "" {
			return list
		}
		r, _ := utf8.DecodeRuneInString(text)
		t := token{}
		size := 0
		switch {
		case r == '_' || unicode.IsLetter(r):
			size = len(text) - len(strings.TrimLeftFunc(text, func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }))
			t = token{'n', text[:size]}
		case r >= '0' && r <= '9':
			t, size = numberToken(text)
		case r == '"' || r == '\'':
			t, size = textToken(text, line)
		default:
			for _, o := range operators {
				if strings.HasPrefix(text, o) {
					t, size = token{'o', o}, len(o)
					break
				}
			}
		}
		if size == 0 {
			fail("line %d: unexpected %.20q", line, text)
		}
		list = append(list, t)
		text = text[size:]
	}
}

func numberToken(text string) (token, int) {
	digits := func(from int) int {
		for from < len(text) && (text[from] >= '0' && text[from] <= '9' || text[from] == '_') {
			from++
		}
		return from
	}
	size := digits(0)
	kind := byte('i')
	if size+1 < len(text) && text[size] == '.' && text[size+1] >= '0' && text[size+1] <= '9' {
		kind, size = 'f', digits(size+1)
	}
	if size < len(text) && (text[size] == 'e' || text[size] == 'E') {
		from := size + 1
		if from < len(text) && (text[from] == '-' || text[from] == '+') {
			from++
		}
		if end := digits(from); end > from {
			kind, size = 'f', end
		}
	}
	return token{kind, strings.ReplaceAll(text[:size], "_", "")}, size
}

var escapes = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", '\\': "\\", '\'': "'", '"': "\"", 'b': "\b", 'f': "\f", 'v': "\v", 'a': "\a", '0': "\x00", '\n': ""}

// textToken reads a text in quotes.
func textToken(text string, line int) (token, int) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		c := text[i]
		if c == text[0] {
			return token{'s', b.String()}, i + 1
		}
		if c != '\\' || i+1 == len(text) {
			b.WriteByte(c)
			continue
		}
		i++
		if s, ok := escapes[text[i]]; ok {
			b.WriteString(s)
		} else if n := hexDigits[text[i]]; n > 0 && i+n < len(text) {
			b.WriteRune(hexRune(text[i+1:i+1+n], line))
			i += n
		} else {
			b.WriteByte('\\')
			b.WriteByte(text[i])
		}
	}
	fail("line %d: a text has no closing quote", line)
	return token{}, 0
}

var hexDigits = map[byte]int{'x': 2, 'u': 4, 'U': 8}

func hexRune(digits string, line int) rune {
	n := rune(0)
	for i := range len(digits) {
		d := strings.IndexByte("0123456789abcdef", digits[i]|0x20)
		if d < 0 || n > 0x10FFFF {
			fail("line %d: %.20q is not a character", line, digits)
		}
		n = n<<4 | rune(d)
	}
	return n
}

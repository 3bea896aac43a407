package safetensors

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/pieces"
)

// maxDepth is the most nested values in values that are skipped.
const maxDepth = 100

// lexer reads JSON more strictly than package encoding/json: text must be Unicode, keys must not
// repeat, and numbers must be of the expected kind. After the first error it reads no more.
type lexer struct {
	data []byte
	at   int
	base int // offset of data in the file
	err  error
	off  int // offset of the error in the file

	// goes counts memory, and reports whether reading goes on. If it is nil, nothing is counted.
	goes   func(bytes int) bool
	needed int // bytes that goes has not counted yet
}

// portion is the number of bytes that are counted at once.
const portion = 16 << 10

// newLexer returns a lexer of data, which begins at offset base of a file. Its memory is counted in
// the budget of p.
func newLexer(p *container.Problems, data []byte, base int) *lexer {
	l := &lexer{data: data, base: base, goes: func(bytes int) bool { return p.Take(base, bytes) }}
	if len(data) > maxHeader {
		l.fail(0, "the text is of %d bytes; at most %d are read", len(data), maxHeader)
		return l
	}
	if !utf8.Valid(data) {
		l.fail(invalid(data), "the text is not UTF-8")
	}
	return l
}

// invalid returns the offset where text stops being UTF-8.
func invalid(data []byte) int {
	at := 0
	for at < len(data) {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n <= 1 {
			break
		}
		at += n
	}
	return at
}

// fail ends reading with an error at an offset of data.
func (l *lexer) fail(at int, format string, args ...any) {
	if l.err == nil {
		l.err, l.off = fmt.Errorf(format, args...), l.base+at
	}
}

// room counts memory before it is allocated. It returns false if there is an error.
func (l *lexer) room(bytes int) bool {
	if l.needed += bytes; l.needed >= portion || bytes == 0 {
		l.countNeeded()
	}
	return l.err == nil
}

// countNeeded passes the bytes that are not counted yet to goes.
func (l *lexer) countNeeded() {
	if l.err == nil && l.goes != nil && !l.goes(l.needed) {
		l.fail(l.at, "the budget is spent")
	}
	l.needed = 0
}

// next returns the next byte that is not white space. At the end and after an error it returns 0.
func (l *lexer) next() byte {
	for l.err == nil && l.at < len(l.data) {
		c := l.data[l.at]
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
		l.at++
	}
	return 0
}

// take skips the byte c. If the next byte is another, take fails and returns false.
func (l *lexer) take(c byte) bool {
	got := l.next()
	switch {
	case l.err != nil:
	case got == c && l.at < len(l.data):
		l.at++
		return true
	case l.at >= len(l.data):
		l.fail(l.at, "the text ends where %q is due", c)
	default:
		l.fail(l.at, "%q stands where %q is due", got, c)
	}
	return false
}

// end fails if anything but white space is left.
func (l *lexer) end() {
	l.countNeeded()
	if l.next(); l.err == nil && l.at < len(l.data) {
		l.fail(l.at, "%q follows the end", l.data[l.at])
	}
}

// The bytes of memory that an item of a list takes, and those that a key of an object takes in
// addition.
const (
	itemBytes = 24
	keyBytes  = 64
)

// list reads a list in brackets, with commas between its items.
func (l *lexer) list(open, end byte, item func()) {
	if !l.take(open) {
		return
	}
	if l.next() == end {
		l.at++
		return
	}
	for l.room(itemBytes) {
		item()
		if l.next() != ',' {
			l.take(end)
			return
		}
		l.at++
	}
}

// object calls member at the value of every member of an object. member must skip the value; at is
// the offset of the key. Duplicate keys fail.
func (l *lexer) object(member func(key string, at int)) {
	met := map[string]bool{}
	l.list('{', '}', func() {
		l.next()
		at := l.at
		key := l.text()
		if l.room(keyBytes+2*len(key)) && l.take(':') {
			if met[key] {
				l.fail(at, "the key %q is there more than once", key)
				return
			}
			met[key] = true
			member(key, at)
		}
	})
}

// array calls element at every element. element must skip it.
func (l *lexer) array(element func()) { l.list('[', ']', element) }

// text skips a string and returns it.
func (l *lexer) text() string {
	raw, plain := l.quoted()
	if !l.room(len(raw)) {
		return ""
	}
	if plain {
		return string(raw)
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			continue
		}
		i++
		if raw[i] != 'u' {
			out = append(out, escapes[raw[i]])
			continue
		}
		r := hex4(raw[i+1:])
		i += 4
		if utf16.IsSurrogate(r) {
			r = utf16.DecodeRune(r, hex4(raw[i+3:]))
			i += 6
		}
		out = utf8.AppendRune(out, r)
	}
	return string(out)
}

// escapes has the byte for every letter after a backslash.
var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// quoted reads a string, and returns the bytes between the quotes. Their escapes are valid. plain
// is true if there are none.
func (l *lexer) quoted() (raw []byte, plain bool) {
	if !l.take('"') {
		return nil, true
	}
	begin := l.at
	plain = true
	for l.at < len(l.data) {
		switch c := l.data[l.at]; {
		case c == '"':
			l.at++
			return l.data[begin : l.at-1], plain
		case c < ' ':
			l.fail(l.at, "a string has the control character %#x", c)
			return nil, true
		case c == '\\':
			plain = false
			if n := escape(l.data[l.at:]); n > 0 {
				l.at += n
				continue
			}
			l.fail(l.at, "a string has an escape that stands for nothing")
			return nil, true
		}
		if l.at++; l.at%pieces.Bytes == 0 && !l.room(0) {
			return nil, true
		}
	}
	l.fail(l.at, "the text ends in a string")
	return nil, true
}

// escape returns the length of an escape sequence, or 0 if it is invalid. Half of a surrogate pair
// is invalid.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	if b[1] != 'u' {
		if _, ok := escapes[b[1]]; ok {
			return 2
		}
		return 0
	}
	r := hex4(b[2:])
	switch {
	case r < 0:
		return 0
	case !utf16.IsSurrogate(r):
		return 6
	case len(b) >= 8 && b[6] == '\\' && b[7] == 'u' && utf16.DecodeRune(r, hex4(b[8:])) != utf8.RuneError:
		return 12
	}
	return 0
}

// hex4 returns the number of four hexadecimal digits. It is negative if b does not begin with them.
func hex4(b []byte) rune {
	if len(b) < 4 || bytes.ContainsAny(b[:4], "+-_") {
		return -1
	}
	v, err := strconv.ParseUint(string(b[:4]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(v)
}

// number skips a number and returns its text.
func (l *lexer) number() []byte {
	l.next()
	begin := l.at
	digits := func() {
		from := l.at
		for l.at < len(l.data) && l.data[l.at] >= '0' && l.data[l.at] <= '9' {
			l.at++
		}
		if l.at == from {
			l.fail(l.at, "a number lacks digits")
		}
	}
	is := func(set string) bool {
		if l.err != nil || l.at >= len(l.data) || strings.IndexByte(set, l.data[l.at]) < 0 {
			return false
		}
		l.at++
		return true
	}
	is("-")
	first := l.at
	digits()
	if l.err == nil && l.data[first] == '0' && l.at > first+1 {
		l.fail(first, "a number begins with 0")
	}
	if is(".") {
		digits()
	}
	if is("eE") {
		is("+-")
		digits()
	}
	if l.err != nil {
		return nil
	}
	return l.data[begin:l.at]
}

// count skips a number without sign, fraction and exponent, and returns it.
func (l *lexer) count() uint64 {
	if c := l.next(); l.err == nil && c != '-' && (c < '0' || c > '9') {
		l.fail(l.at, "there is no number where a count is due")
		return 0
	}
	at := l.at
	raw := l.number()
	if l.err != nil {
		return 0
	}
	v := uint64(0)
	for _, c := range raw {
		if c < '0' || c > '9' {
			l.fail(at, "%.40s is no count", raw)
			return 0
		}
		d := uint64(c - '0')
		if v > (math.MaxUint64-d)/10 {
			l.fail(at, "%.40s is more than 64 bits hold", raw)
			return 0
		}
		v = 10*v + d
	}
	return v
}

// skip skips any value.
func (l *lexer) skip() { l.skipAt(0) }

func (l *lexer) skipAt(depth int) {
	if depth > maxDepth {
		l.fail(l.at, "values are nested more than %d deep", maxDepth)
		return
	}
	switch c := l.next(); {
	case l.err != nil:
	case c == '{':
		l.list('{', '}', func() {
			l.quoted()
			l.take(':')
			l.skipAt(depth + 1)
		})
	case c == '[':
		l.list('[', ']', func() { l.skipAt(depth + 1) })
	case c == '"':
		l.quoted()
	case c == '-' || c >= '0' && c <= '9':
		l.number()
	default:
		for _, word := range []string{"true", "false", "null"} {
			if bytes.HasPrefix(l.data[l.at:], []byte(word)) {
				l.at += len(word)
				return
			}
		}
		l.fail(l.at, "there is no value")
	}
}

// appendText appends a JSON string. It escapes only characters that need it.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\b':
			b = append(b, `\b`...)
		case c == '\f':
			b = append(b, `\f`...)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < ' ':
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// textual returns an error if a JSON string cannot hold s.
func textual(s string) error {
	if !utf8.ValidString(s) {
		return errors.New("is not UTF-8")
	}
	return nil
}

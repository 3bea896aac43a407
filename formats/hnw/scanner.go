package hnw

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nacre-ml/nacre/internal/pieces"
)

// Limits of the scanner.
const (
	maxNotes = 1000
	maxDepth = 64 // of values of unknown keys
)

// scanner reads canonical JSON only. A problem of a value is noted, and reading goes on after the
// value. Text that is not canonical JSON ends reading.
type scanner struct {
	data   []byte
	goes   func(bytes int) bool // counts memory, and reports whether reading goes on
	off    int
	path   []string // the keys around
	index  int      // of the tensor around; negative outside
	note   func(off int, kind error, format string, args ...any)
	minor  *int64 // version of the format, once it is read
	noted  int
	within int // problems noted in entries of tensors
	failed bool
}

// manifest reads the whole text. It reports whether everything outside the entries of tensors is
// present and valid.
func (s *scanner) manifest(m *manifest) bool {
	s.minor, s.index = &m.minor, -1
	if bytes.HasPrefix(s.data, []byte("\ufeff")) {
		s.fail(0, "it begins with a byte order mark")
		return false
	}
	if at := invalid(s.data); at >= 0 {
		s.fail(at, "it is no UTF-8")
		return false
	}
	s.value(m.fields())
	if !s.failed && s.off < len(s.data) {
		s.fail(s.off, "bytes follow the manifest's object")
	}
	return !s.failed && s.noted == s.within
}

// invalid returns the offset where text stops being UTF-8, or -1.
func invalid(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for at := 0; at < len(data); {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return -1
}

// fail ends reading.
func (s *scanner) fail(off int, format string, args ...any) {
	if !s.failed {
		s.noted++
		s.note(off, ErrMalformed, "the manifest is no canonical JSON: "+format, args...)
		s.failed = true
	}
}

// wrong notes a problem of the current value.
func (s *scanner) wrong(off int, kind error, format string, args ...any) {
	if s.failed {
		return
	}
	if s.noted++; s.noted > maxNotes {
		s.note(off, ErrMalformed, "the manifest has more than %d problems", maxNotes)
		s.failed = true
		return
	}
	where := "the manifest"
	if len(s.path) > 0 {
		where = strings.Join(s.path, ".")
	}
	s.note(off, kind, "%s "+format, append([]any{where}, args...)...)
}

// peek returns the next byte. At the end and after a failure it returns 0.
func (s *scanner) peek() byte {
	if s.failed || s.off == len(s.data) || s.off%pieces.Bytes == 0 && s.ended(0) {
		return 0
	}
	return s.data[s.off]
}

// take reads the byte c.
func (s *scanner) take(c byte) {
	switch {
	case s.peek() == c:
		s.off++
	case s.off == len(s.data):
		s.fail(s.off, "it ends where %q must stand", c)
	default:
		s.fail(s.off, "%q stands where %q must", s.data[s.off], c)
	}
}

// more reads a comma between members and returns true, or the bracket at their end and returns
// false.
func (s *scanner) more(end byte) bool {
	if s.peek() == ',' {
		s.off++
		return true
	}
	s.take(end)
	return false
}

// value reads the next value into the variable of a field.
func (s *scanner) value(value any) {
	at, c := s.off, s.peek()
	want := ""
	switch v := value.(type) {
	case *int64:
		if c == '-' || '0' <= c && c <= '9' {
			*v = s.integer()
			return
		}
		want = "an integer"
	case *string:
		if c == '"' {
			*v = s.text()
			return
		}
		want = "a string"
	case *digest:
		if c == '"' {
			if err := v.parse(s.text()); err != nil {
				s.wrong(at, ErrMalformed, "%w", err)
			}
			return
		}
		want = "a string"
	case *[]int64:
		if c == '[' {
			s.list(func(int) {
				*v = append(*v, 0)
				s.value(&(*v)[len(*v)-1])
			})
			return
		}
		want = "a list"
	case *[]entry:
		if c == '[' {
			outer := s.path
			s.path = []string{""}
			s.list(func(i int) { *v = append(*v, s.entry(i)) })
			s.path = outer
			return
		}
		want = "a list"
	case []field:
		if c == '{' {
			s.object(v)
			return
		}
		want = "an object"
	}
	s.skip(0)
	s.wrong(at, ErrMalformed, "must be %s", want)
}

// The bytes of memory that an item of a list takes, and those that an entry takes in addition.
const (
	itemBytes  = 24
	entryBytes = 1 << 10
)

// ended counts bytes. It reports whether reading ends, because the budget is spent or its context
// has ended.
func (s *scanner) ended(bytes int) bool {
	s.failed = s.failed || !s.goes(bytes)
	return s.failed
}

// entry reads the entry of a tensor.
func (s *scanner) entry(i int) entry {
	if s.ended(entryBytes) {
		return entry{broken: true}
	}
	e := entry{at: s.off}
	noted := s.noted
	s.path[0], s.index = "tensors["+strconv.Itoa(i)+"]", i
	s.value(e.fields())
	s.index = -1
	s.within += s.noted - noted
	e.broken = s.noted > noted || s.failed
	return e
}

func (s *scanner) list(member func(i int)) {
	s.take('[')
	if s.peek() == ']' {
		s.off++
		return
	}
	for i := 0; !s.failed; i++ {
		if s.ended(itemBytes) {
			return
		}
		if member(i); !s.more(']') {
			return
		}
	}
}

// members reads the members of an object. Their keys must be sorted.
func (s *scanner) members(member func(at int, key string)) {
	s.take('{')
	if s.peek() == '}' {
		s.off++
		return
	}
	last := ""
	for first := true; !s.failed; first = false {
		at := s.off
		key := s.text()
		if !first && key <= last {
			s.fail(at, "key %.80q must not follow key %.80q", key, last)
		}
		if s.ended(len(key)) {
			return
		}
		last = key
		s.take(':')
		if !s.failed {
			member(at, key)
		}
		if !s.more('}') {
			return
		}
	}
}

// object reads an object with the keys of fields. A missing key is a problem.
func (s *scanner) object(fields []field) {
	start := s.off
	var lacking []string
	skip := func(n int) {
		for _, f := range fields[:n] {
			lacking = append(lacking, f.key)
		}
		fields = fields[n:]
	}
	s.members(func(at int, key string) {
		n, known := slices.BinarySearchFunc(fields, key, func(f field, key string) int { return strings.Compare(f.key, key) })
		if skip(n); !known {
			s.unknown(at, key)
			return
		}
		s.path = append(s.path, key)
		s.value(fields[0].value)
		s.path = s.path[:len(s.path)-1]
		fields = fields[1:]
	})
	skip(len(fields))
	for _, key := range lacking {
		s.wrong(start, ErrMalformed, "lacks the key %q", key)
	}
}

// unknown notes a key that the format does not have, or not yet, and skips its value.
func (s *scanner) unknown(at int, key string) {
	if *s.minor > 0 {
		s.wrong(at, ErrVersion, "has the key %.80q, which version 1.0 of the format does not have", key)
	} else {
		s.wrong(at, ErrMalformed, "has the key %.80q, which the format does not have", key)
	}
	s.skip(0)
}

// skip reads a value of any kind.
func (s *scanner) skip(depth int) {
	at := s.off
	switch c := s.peek(); {
	case s.failed:
	case depth > maxDepth:
		s.fail(at, "values nest more than %d deep", maxDepth)
	case c == '"':
		s.text()
	case c == '-' || '0' <= c && c <= '9':
		s.integer()
	case c == '[':
		s.list(func(int) { s.skip(depth + 1) })
	case c == '{':
		s.members(func(int, string) { s.skip(depth + 1) })
	default:
		for _, word := range []string{"true", "false", "null"} {
			if strings.HasPrefix(string(s.data[at:min(len(s.data), at+len(word))]), word) {
				s.off += len(word)
				return
			}
		}
		if at == len(s.data) {
			s.fail(at, "it ends where a value must begin")
		} else {
			s.fail(at, "no value begins with %q", s.data[at])
		}
	}
}

// integer reads a number without fraction, exponent and leading zeros.
func (s *scanner) integer() int64 {
	at := s.off
	for s.off++; '0' <= s.peek() && s.peek() <= '9'; s.off++ {
	}
	text := string(s.data[at:min(s.off, at+21)])
	n, err := strconv.ParseInt(text, 10, 64)
	digits := strings.TrimPrefix(text, "-")
	switch c := s.peek(); {
	case c == '.' || c == 'e' || c == 'E' || digits == "" || digits[0] == '0' && text != "0":
		s.fail(at, "integers are digits only, without zeros before them")
	case err != nil:
		s.wrong(at, ErrMalformed, "does not fit 64 bits")
	}
	return n
}

// text reads a string. It accepts only escapes that are needed, in their shortest form.
func (s *scanner) text() string {
	s.take('"')
	from := s.off
	var b []byte // the text before from, if it has escapes
	for !s.failed {
		switch c := s.peek(); {
		case c == '"':
			part := s.data[from:s.off]
			s.off++
			if s.ended(len(b) + len(part)) {
				return ""
			}
			if b == nil {
				return string(part)
			}
			return string(append(b, part...))
		case s.off == len(s.data):
			s.fail(s.off, "it ends within a string")
		case c < ' ':
			s.fail(s.off, "a string holds the character %#02x as it is", c)
		case c == '\\':
			b = append(b, s.data[from:s.off]...)
			b = s.escape(b)
			from = s.off
		default:
			s.off++
		}
	}
	return ""
}

// escapes has the character of every escape.
var escapes = func() map[string]byte {
	m := map[string]byte{}
	for c := range byte(128) {
		if form := appendText(nil, string(c)); len(form) > 3 {
			m[string(form[1:len(form)-1])] = c
		}
	}
	return m
}()

// escape reads an escape and appends its character to b.
func (s *scanner) escape(b []byte) []byte {
	rest := s.data[s.off:]
	for _, n := range []int{2, 6} {
		if c, ok := escapes[string(rest[:min(len(rest), n)])]; ok {
			s.off += n
			return append(b, c)
		}
	}
	s.fail(s.off, "the escape %q has no place in it", rest[:min(len(rest), 2)])
	return b
}

package loom

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/mapped"
)

// value is a JSON value inside well-formed JSON text, with its offset in the file.
type value struct {
	text []byte
	off  int
	in   *budget.Budget // stops walks over the value when its context is done
}

// parse returns the value in text, which begins at offset off of the file. If the text is
// malformed, it returns the offset of the error.
func parse(b *budget.Budget, text []byte, off int) (value, int, error) {
	if at, err := container.Valid(b, text); err != nil {
		return value{}, off + at, fmt.Errorf("malformed JSON: %w", err)
	}
	start := blank(text, 0)
	return value{text[start:], off + start, b}, 0, nil
}

// blank returns the index of the first byte from i on that is not white space.
func blank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skip returns the index after the value that begins at i. It is len(b) if the text ends or the
// context is done before.
func (v value) skip(i int) int {
	b, depth := v.text, 0
	for n := 1; i < len(b); n++ {
		if n%lookEvery == 0 && v.in.Err() != nil {
			return len(b)
		}
		switch b[i] {
		case '"':
			i = v.skipString(i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ' ', '\n', '\t', '\r', ',', ':':
			i++
			continue
		default:
			for i < len(b) && !strings.ContainsRune(",]}\" \n\t\r:{[", rune(b[i])) {
				if i++; i%chunk == 0 && v.in.Err() != nil {
					return len(b)
				}
			}
		}
		if depth <= 0 {
			return i
		}
	}
	return i
}

// skipString returns the index after the string that begins at i. The string ends at the first
// quote after an even number of backslashes.
func (v value) skipString(i int) int {
	b := v.text
	for start := i + 1; ; {
		at := indexByte(v.in, b, start, '"')
		if at < 0 {
			return len(b)
		}
		start = at + 1
		n := at - 1
		for n > i && b[n] == '\\' {
			n--
		}
		if (at-1-n)%2 == 0 {
			return start
		}
	}
}

// indexByte returns the first index of c from i on, or -1. It releases the pages of a mapped file
// as it goes. If the context ends the search, it returns -1 too.
func indexByte(in *budget.Budget, b []byte, i int, c byte) int {
	for ; i < len(b) && in.Err() == nil; i += chunk {
		part := b[i:min(i+chunk, len(b))]
		if at := bytes.IndexByte(part, c); at >= 0 {
			return i + at
		}
		mapped.Release(part)
	}
	return -1
}

// lookEvery is the number of values between two checks of the context.
const lookEvery = 1 << 12

// is reports whether the value begins with c, the mark of an object, array or string.
func (v value) is(c byte) bool { return len(v.text) > 0 && v.text[0] == c }

// null reports whether the value is null. A null sets nothing.
func (v value) null() bool { return v.is('n') }

// each calls f for the members of an object or the elements of an array until f returns false.
// Elements have the key "".
func (v value) each(f func(key string, m value) bool) {
	object := v.is('{')
	if !object && !v.is('[') {
		return
	}
	for i := blank(v.text, 1); i < len(v.text) && v.text[i] != '}' && v.text[i] != ']'; {
		key := ""
		if object {
			end := v.skip(i)
			key, _ = value{text: v.text[i:end]}.str()
			if i = blank(v.text, end); i >= len(v.text) || v.text[i] != ':' {
				return
			}
			i = blank(v.text, i+1)
		}
		end := v.skip(i)
		if end <= i || v.in.Steps(1) != nil || !f(key, value{v.text[i:end:end], v.off + i, v.in}) {
			return
		}
		if i = blank(v.text, end); i < len(v.text) && v.text[i] == ',' {
			i = blank(v.text, i+1)
		}
	}
}

// str returns the contents of a string.
func (v value) str() (string, error) {
	b := v.text
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return "", fmt.Errorf("%s is no string", v.shown())
	}
	if inner := b[1 : len(b)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner), nil
	}
	var s string
	err := json.Unmarshal(b, &s)
	return s, err
}

// shown returns the beginning of the text, for messages.
func (v value) shown() string {
	if len(v.text) > 30 {
		return strconv.QuoteToASCII(string(v.text[:30])) + "..."
	}
	return string(v.text)
}

// brief returns the beginning of a text of a file, for messages.
func brief(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "..."
	}
	return s
}

// into stores a number, truth value, text or name through the pointer at. null stores nothing.
func (v value) into(at any) error {
	if v.null() {
		return nil
	}
	switch at := at.(type) {
	case *int:
		n, err := strconv.ParseInt(string(v.text), 10, strconv.IntSize)
		if err != nil {
			return fmt.Errorf("%s is no integer", v.shown())
		}
		*at = int(n)
		return nil
	case *uint64:
		n, err := strconv.ParseUint(string(v.text), 10, 64)
		if err != nil {
			return fmt.Errorf("%s is no offset or length", v.shown())
		}
		*at = n
		return nil
	case *float64:
		return v.number(64, func(f float64) { *at = f })
	case *float32:
		return v.number(32, func(f float64) { *at = float32(f) })
	case *bool:
		if !v.is('t') && !v.is('f') {
			return fmt.Errorf("%s is neither true nor false", v.shown())
		}
		*at = v.is('t')
		return nil
	}
	s, err := v.str()
	if err != nil {
		return err
	}
	switch at := at.(type) {
	case *string:
		*at = s
	case *LayerType:
		*at = ParseLayerType(s)
	case *Activation:
		*at = ParseActivation(s)
	case *DType:
		*at, _ = ParseDType(s)
	case *SoftmaxType:
		*at = ParseSoftmaxType(s)
	}
	return nil
}

func (v value) number(bits int, set func(float64)) error {
	if len(v.text) == 0 || v.text[0] != '-' && (v.text[0] < '0' || v.text[0] > '9') {
		return fmt.Errorf("%s is no number", v.shown())
	}
	f, err := strconv.ParseFloat(string(v.text), bits)
	if err != nil {
		return fmt.Errorf("%s is no number of %d bits", v.shown(), bits)
	}
	set(f)
	return nil
}

// same reports whether a key of a file equals want in any letter case.
func same(key, want string) bool { return key == want || strings.EqualFold(key, want) }

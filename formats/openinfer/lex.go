package openinfer

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tokenKind is a kind of tokens of the text language.
type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokName
	tokInt
	tokFloat
	tokText
	tokMark // punctuation
)

// token is a word of the text language with its place in the text.
type token struct {
	kind tokenKind
	text string // without quotes for a text
	at   int
}

func (t token) String() string {
	switch t.kind {
	case tokEnd:
		return "the end"
	case tokText:
		return strconv.Quote(t.text)
	}
	return "\"" + t.text + "\""
}

// TextError is an error at a place of a program text.
type TextError struct {
	Line, Column int // from 1; columns count characters
	Offset       int // in bytes, from 0
	Err          error
}

func (e *TextError) Error() string { return fmt.Sprintf("%d:%d: %v", e.Line, e.Column, e.Err) }

// Unwrap returns the cause.
func (e *TextError) Unwrap() error { return e.Err }

// placed returns an error at an offset of a text.
func placed(text string, at int, format string, args ...any) error {
	before := text[:at]
	line := strings.LastIndexByte(before, '\n') + 1
	return &TextError{1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[line:]), at, fmt.Errorf(format, args...)}
}

// marks lists the punctuation of more than one character.
var marks = []string{">>", ".."}

// lex returns the first token from an offset on, and the offset of its end. It skips white space
// and comments, which begin with two slashes.
func lex(text string, at int) (token, int, error) {
	at = blank(text, at)
	if at == len(text) {
		return token{tokEnd, "", at}, at, nil
	}
	switch c := text[at]; {
	case letter(c):
		end := at
		for end < len(text) && (letter(text[end]) || digit(text[end])) {
			end++
		}
		return token{tokName, text[at:end], at}, end, nil
	case digit(c):
		t, end := lexNumber(text, at)
		return t, end, nil
	case c == '"':
		return lexText(text, at)
	}
	for _, m := range marks {
		if strings.HasPrefix(text[at:], m) {
			return token{tokMark, m, at}, at + len(m), nil
		}
	}
	if strings.IndexByte("{}()[];:,=@*-.", text[at]) < 0 {
		r, _ := utf8.DecodeRuneInString(text[at:])
		return token{}, at, placed(text, at, "%q is no character of the language", r)
	}
	return token{tokMark, text[at : at+1], at}, at + 1, nil
}

// blank returns the first offset after white space and comments.
func blank(text string, at int) int {
	for at < len(text) {
		switch {
		case strings.IndexByte(" \t\r\n", text[at]) >= 0:
			at++
		case strings.HasPrefix(text[at:], "//"):
			n := strings.IndexByte(text[at:], '\n')
			if n < 0 {
				return len(text)
			}
			at += n
		default:
			return at
		}
	}
	return at
}

func letter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }

// lexNumber reads an integer or a float. Two points after digits belong to a range.
func lexNumber(text string, at int) (token, int) {
	end, kind := digits(text, at), tokInt
	if end < len(text) && text[end] == '.' && !strings.HasPrefix(text[end:], "..") {
		kind, end = tokFloat, digits(text, end+1)
	}
	if end < len(text) && (text[end] == 'e' || text[end] == 'E') {
		exp := end + 1
		if exp < len(text) && (text[exp] == '+' || text[exp] == '-') {
			exp++
		}
		if exp < len(text) && digit(text[exp]) {
			kind, end = tokFloat, digits(text, exp)
		}
	}
	return token{kind, text[at:end], at}, end
}

func digits(text string, at int) int {
	for at < len(text) && digit(text[at]) {
		at++
	}
	return at
}

// lexText reads a text in quotes.
func lexText(text string, at int) (token, int, error) {
	for end := at + 1; end < len(text) && text[end] != '\n'; end++ {
		switch text[end] {
		case '\\':
			end++
		case '"':
			s, err := strconv.Unquote(text[at : end+1])
			if err != nil {
				return token{}, at, placed(text, at, "the text %s has an escape that is not known", text[at:end+1])
			}
			return token{tokText, s, at}, end + 1, nil
		}
	}
	return token{}, at, placed(text, at, "the text has no closing quote on its line")
}

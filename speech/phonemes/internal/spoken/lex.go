package spoken

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Kinds of lexemes beside characters, which are their own kind.
const (
	letter rune = -1 - iota // Latin letters without accents, and apostrophes between them
	digit                   // digits 0 to 9
	blank                   // an empty line
)

// lexeme is a run of letters or of digits, or another character.
type lexeme struct {
	kind rune
	text string // of letters and digits
	gap  bool   // white space stands before it
}

// capital reports whether the first letter is a capital one.
func (l lexeme) capital() bool { return l.kind == letter && 'A' <= l.text[0] && l.text[0] <= 'Z' }

// upper reports whether all letters are capital.
func (l lexeme) upper() bool { return l.kind == letter && strings.ToUpper(l.text) == l.text }

// unlike are Latin letters that do not come apart into a letter and an accent.
var unlike = strings.NewReplacer("ß", "ss", "æ", "ae", "Æ", "Ae", "œ", "oe", "Œ", "Oe", "ø", "o", "Ø", "O", "ł", "l",
	"Ł", "L", "đ", "d", "Đ", "D", "ð", "d", "þ", "th", "Þ", "Th", "ı", "i", "’", "'", "ʼ", "'",
	"\u00ad", "", "\u200b", "", "\ufb01", "fi", "\ufb02", "fl", "µ", "μ", "º", "°", "\u200d", "", "\ufe0f", "")

// lex splits a text into lexemes.
func lex(text string) []lexeme {
	text = norm.NFD.String(unlike.Replace(strings.ToValidUTF8(text, " ")))
	var list []lexeme
	gap, lines := true, 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			gap = true
			if r == '\n' {
				if lines++; lines == 2 && len(list) > 0 {
					list = append(list, lexeme{kind: blank, gap: true})
				}
			}
			i += size
			continue
		case unicode.Is(unicode.Mn, r):
			i += size
			continue
		}
		lines = 0
		l := lexeme{kind: r, gap: gap}
		switch n, s := run(text[i:]); {
		case n > 0:
			l.kind, l.text, size = letter, s, n
		case '0' <= r && r <= '9':
			n := 1
			for i+n < len(text) && '0' <= text[i+n] && text[i+n] <= '9' {
				n++
			}
			l.kind, l.text, size = digit, text[i:i+n], n
		}
		list = append(list, l)
		gap = false
		i += size
	}
	return list
}

// longestWord is how many bytes of letters are read as one word.
const longestWord = 64

// run returns how many bytes of a text are letters, accents and apostrophes between letters, and
// the letters and apostrophes.
func run(text string) (int, string) {
	n, plain := 0, true
	for n < len(text) && n < longestWord {
		c := text[n]
		switch {
		case ascii(c):
			n++
			continue
		case c == '\'' && n > 0 && n+1 < len(text) && ascii(text[n+1]):
			n++
			continue
		case c >= utf8.RuneSelf && n > 0:
			if r, size := utf8.DecodeRuneInString(text[n:]); unicode.Is(unicode.Mn, r) {
				n += size
				plain = false
				continue
			}
		}
		break
	}
	if plain {
		return n, text[:n]
	}
	return n, strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf {
			return -1
		}
		return r
	}, text[:n])
}

func ascii(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// Package spoken turns English text into the words that a person says when reading it aloud.
package spoken

import (
	"strings"
	"unicode"
)

// Kind is what a token is.
type Kind uint8

const (
	Word    Kind = iota // a word of lower-case letters and apostrophes
	Letters             // letters to be said one by one, with 's behind them in a plural or possessive
	Mark                // one of , . ? ! : ;
	Other               // a character that has no words, as it stands in the text
)

// Token is a word, a name of letters or a mark.
type Token struct {
	Kind Kind
	Text string
}

// Tokens returns what is said of a text. There is no mark at its beginning, and never two in a row.
func Tokens(text string) []Token {
	r := reader{in: lex(text)}
	for r.at < len(r.in) {
		from := r.at
		r.step()
		if r.at <= from { // every step goes on
			r.at = from + 1
		}
	}
	return r.out
}

// reader reads lexemes and writes tokens.
type reader struct {
	in  []lexeme
	at  int
	out []Token
}

// step reads what begins at the next lexeme. The first reading that fits is taken.
func (r *reader) step() {
	switch l := r.look(0); l.kind {
	case letter:
		_ = r.address() || r.dotted() || r.abbreviation() || r.date() || r.roman() || r.word()
	case digit:
		_ = r.address() || r.number()
	case blank:
		r.at++
		r.mark(".")
	default:
		_ = r.money() || r.signed() || r.areaCode() || r.decade() || r.symbol(l)
	}
}

// look returns the lexeme that comes n after the next one. Outside the text it is nothing with a
// gap.
func (r *reader) look(n int) lexeme {
	if i := r.at + n; i >= 0 && i < len(r.in) {
		return r.in[i]
	}
	return lexeme{gap: true}
}

// joined reports whether lexeme n is of a kind, and no white space stands before it.
func (r *reader) joined(n int, kind rune) bool {
	l := r.look(n)
	return l.kind == kind && !l.gap
}

// say adds words, apart by spaces.
func (r *reader) say(words string) {
	for w := range strings.FieldsSeq(words) {
		r.out = append(r.out, Token{Word, w})
	}
}

// spell adds the names of letters.
func (r *reader) spell(s string) {
	r.out = append(r.out, Token{Letters, strings.ToLower(s)})
}

// mark adds a mark. Of two in a row the one that ends more stays.
func (r *reader) mark(mark string) {
	const order = ",;:.!?"
	n := len(r.out)
	switch {
	case n == 0:
	case r.out[n-1].Kind != Mark:
		r.out = append(r.out, Token{Mark, mark})
	case strings.Index(order, mark) > strings.Index(order, r.out[n-1].Text):
		r.out[n-1].Text = mark
	}
}

// before returns the word before, in lower case.
func (r *reader) before() string {
	if l := r.look(-1); l.kind == letter {
		return strings.ToLower(l.text)
	}
	return ""
}

// last reports whether no letter or digit follows from lexeme n on, up to three of them, so that a
// stop there also ends the text.
func (r *reader) last(n int) bool {
	for k := range 3 {
		if l := r.look(n + k); l.kind == letter || l.kind == digit {
			return false
		}
	}
	return r.at+n+3 >= len(r.in)
}

// symbols are characters with a name.
var symbols = map[rune]string{
	'&': "and", '@': "at", '+': "plus", '=': "equals", '%': "percent", '<': "less than", '>': "greater than",
	'\\': "backslash", '°': "degrees", '§': "section", '©': "copyright", '×': "times", '÷': "divided by",
	'±': "plus or minus", '≤': "at most", '≥': "at least", '≠': "is not equal to", '≈': "about", '∞': "infinity",
	'→': "to", '√': "square root of", 'π': "pi", 'α': "alpha", 'β': "beta", 'γ': "gamma", 'λ': "lambda", 'μ': "mu",
	'$': "dollars", '€': "euros", '£': "pounds", '¥': "yen", '½': "one half", '¼': "one quarter",
	'¾': "three quarters", '²': "squared", '³': "cubed", '№': "number",
}

// symbol reads any other character.
func (r *reader) symbol(l lexeme) bool {
	r.at++
	next := r.look(0)
	switch l.kind {
	case '.', ',', '?', '!', ':', ';':
		if l.kind == '.' && next.kind == '.' {
			r.ellipsis()
			break
		}
		r.mark(string(l.kind))
	case '…':
		r.at--
		r.ellipsis()
	case '(', ')', '[', ']', '{', '}', '—', '―':
		r.mark(",")
	case '-', '–', '−':
		switch {
		case next.kind == l.kind:
			r.at++
			r.mark(",")
		case l.gap && next.gap, l.kind == '–' && r.look(-2).kind == letter && next.kind == letter:
			r.mark(",")
		}
	case '/':
		if !l.gap && !next.gap && next.kind != '/' {
			r.say("slash")
		}
	case '#':
		switch {
		case next.kind == digit:
			r.say("number")
		case next.kind == letter && !next.gap:
			r.say("hashtag")
		}
	case '~':
		if next.kind == digit {
			r.say("about")
		}
	case '*':
		if r.look(-2).kind == digit && next.kind == digit {
			r.say("times")
		}
	case '^':
		if next.kind == digit && !next.gap {
			r.say("to the power of")
		}
	case '"', '\'', '`', '“', '”', '„', '‘', '’', '«', '»', '‹', '›', '_', '|', '•', '·', '®', '™', '´', '¨':
	default:
		if s, ok := symbols[l.kind]; ok {
			r.say(s)
		} else if unicode.IsPrint(l.kind) && !unicode.IsMark(l.kind) {
			r.out = append(r.out, Token{Other, string(l.kind)})
		}
	}
	return true
}

// ellipsis reads dots in a row. They end a sentence unless a small letter follows.
func (r *reader) ellipsis() {
	for r.look(0).kind == '.' || r.look(0).kind == '…' {
		r.at++
	}
	if next := r.look(0); next.kind == letter && !next.capital() {
		r.mark(",")
		return
	}
	r.mark(".")
}

package phonemes

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clause is a piece of a text and the mark that ends it, which is empty at the end of a text
// without one.
type clause struct{ text, mark string }

// marks are characters that end clauses, as the marks that voices know.
var marks = map[rune]string{
	',': ",", '.': ".", '?': "?", '!': "!", ':': ":", ';': ";", '…': ".", '。': ".", '，': ",", '、': ",",
	'？': "?", '！': "!",
	'：': ":", '；': ";", '،': ",", '؟': "?", '؛': ";", '।': ".", '(': ",", ')': ",", '[': ",", ']': ",",
	'—': ",", '―': ",", '{': ",", '}': ",",
}

// clauses splits a text at its marks. Marks within numbers, abbreviations and addresses split
// nothing. Every clause has something to say, and only letters, digits, spaces and what stands
// within words.
func clauses(text string) []clause {
	var list []clause
	from := 0
	add := func(to int, mark string) {
		if s := plain(text[from:to]); strings.ContainsFunc(s, sayable) {
			list = append(list, clause{s, mark})
		} else if n := len(list) - 1; n >= 0 && mark != "" && (list[n].mark == "," || list[n].mark == "") {
			list[n].mark = mark
		}
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		mark, ok := marks[r]
		if !ok && (r == '-' || r == '–') && alone(text, i, size) {
			mark, ok = ",", true
		}
		if ok && (splits(text, from, i, size, r)) {
			add(i, mark)
			from = i + size
		}
		i += size
	}
	add(len(text), "")
	return list
}

// alone reports whether white space stands around a character.
func alone(text string, i, size int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	after, _ := utf8.DecodeRuneInString(text[i+size:])
	return unicode.IsSpace(before) && unicode.IsSpace(after)
}

// splits reports whether the mark r at i ends a clause that begins at from.
func splits(text string, from, i, size int, r rune) bool {
	rest := text[i+size:]
	next, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r >= utf8.RuneSelf || strings.ContainsRune("()[]{}", r):
		return true
	case rest != "" && !unicode.IsSpace(next) && !closer(next) && marks[next] == "":
		return false
	case r != '.':
		return true
	}
	rest = strings.TrimLeftFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || opener(r) || closer(r) })
	next, _ = utf8.DecodeRuneInString(rest)
	return rest == "" || !unicode.IsLower(next) && stops(text, from, i, rest)
}

// plain returns a piece without characters that the program would take for the end of a clause.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError, unicode.IsSpace(r), unicode.IsControl(r), strings.ContainsRune("\"“”„«»‹›`*_|<>", r):
			return ' '
		}
		return r
	}, s)
	return strings.TrimSpace(inner.Replace(s + " "))
}

// inner takes marks that stay within a clause, such as the stop of an abbreviation.
var inner = strings.NewReplacer(". ", " ", "? ", " ", "! ", " ", ": ", " ", "; ", " ", ", ", " ")

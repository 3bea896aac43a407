package phonemes

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Span is a piece of a text, by its bytes.
type Span struct{ From, To int }

// longest is how many characters a sentence has at most. A longer one is cut.
const longest = 400

// Sentences returns the sentences of a text in their order, without white space around them.
// Abbreviations, numbers and initials do not end a sentence, empty lines and points of lists do. A
// sentence of more than 400 characters is cut after a comma or another mark, else between words,
// else anywhere. A piece without a letter, a digit or a symbol is left out.
func Sentences(text string) []Span {
	var list []Span
	from := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		end := 0
		switch {
		case r == '\n':
			end = lineEnd(text, i)
		case ender(r):
			end = sentenceEnd(text, from, i, size, r)
		}
		if end > 0 {
			list = appendCut(list, text, from, end)
			from, i = end, end
			continue
		}
		i += size
	}
	return appendCut(list, text, from, len(text))
}

// ender reports whether a character can end a sentence.
func ender(r rune) bool {
	switch r {
	case '.', '!', '?', '…', '。', '！', '？', '؟', '।':
		return true
	}
	return false
}

// closer reports whether a character closes a quotation or a bracket.
func closer(r rune) bool { return strings.ContainsRune("\"'”’»)]}›」』", r) }

// opener reports whether a character opens a quotation or a bracket.
func opener(r rune) bool { return strings.ContainsRune("\"'“‘«([{‹„¿¡「『", r) }

// lineEnd returns where a paragraph ends whose last line ends at i, or 0 if the text goes on: the
// next line is neither empty nor a point of a list.
func lineEnd(text string, i int) int {
	rest := strings.TrimLeft(text[i+1:min(len(text), i+1+longest)], " \t\r")
	if rest == "" || rest[0] == '\n' {
		return i + 1
	}
	for _, point := range []string{"- ", "* ", "• ", "– ", "# "} {
		if strings.HasPrefix(rest, point) {
			return i + 1
		}
	}
	return 0
}

// sentenceEnd returns where the sentence ends whose character r at i may be its last, or 0. The
// sentence begins at from.
func sentenceEnd(text string, from, i, size int, r rune) int {
	end, closed := i+size, false
	for end < len(text) {
		c, n := utf8.DecodeRuneInString(text[end:])
		if !closer(c) {
			break
		}
		closed = true
		end += n
	}
	wide := r > 0x3000
	c, _ := utf8.DecodeRuneInString(text[end:])
	if end < len(text) && !wide && !unicode.IsSpace(c) {
		return 0
	}
	next := end
	for next < len(text) {
		c, n := utf8.DecodeRuneInString(text[next:])
		if !unicode.IsSpace(c) && !opener(c) {
			break
		}
		next += n
	}
	c, _ = utf8.DecodeRuneInString(text[next:])
	switch {
	case next == len(text) || wide:
	case unicode.IsLower(c) && (r == '.' || r == '…' || closed):
		return 0
	case r == '.' && !stops(text, from, i, text[next:]):
		return 0
	}
	return end
}

// stops reports whether the stop at i ends the sentence that begins at from, rather than an
// abbreviation. A capital letter or a number follows.
func stops(text string, from, i int, next string) bool {
	begin := max(from, i-24)
	word := text[begin:i]
	if k := strings.LastIndexFunc(word, unicode.IsSpace); k >= 0 {
		begin += k + 1
		word = word[k+1:]
	}
	word = strings.TrimLeftFunc(word, opener)
	first, _ := utf8.DecodeRuneInString(next)
	lower := strings.ToLower(word)
	switch {
	case word == "":
		return true
	case number(word):
		return strings.TrimSpace(text[from:begin]) != "" // else it numbers a point of a list
	case numbered[lower]:
		return !unicode.IsDigit(first)
	case shortened[lower]:
		return false
	case utf8.RuneCountInString(word) == 1 && word != "I" && unicode.IsUpper([]rune(word)[0]),
		len(word) >= 3 && word[1] == '.' && len(word) < 8 && strings.Count(word, ".") >= len(word)/2:
		return lower == "a.m" || lower == "p.m" || starts(next)
	case closing[lower]:
		return starts(next)
	}
	return true
}

func number(word string) bool {
	for i := range len(word) {
		if word[i] < '0' || word[i] > '9' {
			return false
		}
	}
	return len(word) <= 3
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

var (
	// shortened are abbreviations that no sentence ends with.
	shortened = set("mr mrs ms dr prof st mt ft gen col capt lt sgt rev hon gov sen rep pres vs e.g i.e cf " +
		"ca viz approx jan feb mar apr jun jul aug sep sept oct nov dec messrs mme fr dept est fig figs eq " +
		"sec hr bzw z.b d.h usw")
	// numbered are abbreviations before numbers.
	numbered = set("no nos p pp fig vol ch")
	// closing are abbreviations that sentences may end with.
	closing = set("etc inc ltd co corp jr sr bros ave blvd rd ph.d ed al min max")
	// starters are words that begin sentences.
	starters = set("the a an he she it they we you i this that these those there in on at but and so if " +
		"when what why how who then after before as for his her its our their my your however no yes not by " +
		"with from to while although because")
)

// starts reports whether a text begins with a word that begins sentences.
func starts(text string) bool {
	text = text[:min(len(text), 16)]
	if k := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }); k >= 0 {
		text = text[:k]
	}
	return starters[strings.ToLower(text)]
}

// appendCut adds a piece of a text, in several parts if it is long.
func appendCut(list []Span, text string, from, to int) []Span {
	for from < to {
		end := cut(text, from, to)
		if s, ok := trim(text, from, end); ok {
			list = append(list, s)
		}
		from = end
	}
	return list
}

// cut returns where the first part of a piece ends.
func cut(text string, from, to int) int {
	n, word, clause := 0, 0, 0
	for i := from; i < to; n++ {
		r, size := utf8.DecodeRuneInString(text[i:to])
		if n == longest {
			switch {
			case clause > 0:
				return clause
			case word > 0:
				return word
			}
			return i
		}
		i += size
		switch {
		case unicode.IsSpace(r):
			word = i
			before, _ := utf8.DecodeLastRuneInString(text[from : i-size])
			if strings.ContainsRune(",;:—–)", before) && n > longest/4 {
				clause = i
			}
		case r == '，' || r == '、':
			clause = i
		}
	}
	return to
}

// trim takes white space and control characters from both ends of a piece. It reports whether
// something can be said of the rest.
func trim(text string, from, to int) (Span, bool) {
	blank := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	s := strings.TrimLeftFunc(text[from:to], blank)
	from = to - len(s)
	s = strings.TrimRightFunc(s, blank)
	return Span{from, from + len(s)}, strings.ContainsFunc(s, sayable)
}

// sayable reports whether a character has words.
func sayable(r rune) bool {
	switch {
	case r == utf8.RuneError, strings.ContainsRune("|~`^", r):
		return false
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsSymbol(r) || strings.ContainsRune("&@%", r)
}

package english

import (
	_ "embed"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/nacre-ml/nacre/speech/phonemes/internal/letters"
	"github.com/nacre-ml/nacre/speech/phonemes/internal/spoken"
)

//go:embed words.txt
var wordsFile string

// forms are the symbols of a word within a clause, at its end, and before a vowel.
type forms struct{ within, end, vowel string }

// function returns the words of words.txt.
var function = sync.OnceValue(func() map[string]forms {
	m := map[string]forms{}
	for line := range strings.Lines(wordsFile) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		list := strings.Split(rest, "|")
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
		f := forms{list[0], list[0], list[0]}
		if len(list) > 1 {
			f.end = list[1]
		}
		if len(list) > 2 {
			f.vowel = list[2]
		}
		m[word] = f
	}
	return m
})

// Phonemes returns the symbols of words and marks: words apart by spaces, a mark right after the
// word before it.
func Phonemes(tokens []spoken.Token) string {
	var b strings.Builder
	next := "" // symbols of the words after, found from right to left
	list := make([]string, len(tokens))
	joined := pairs(tokens)
	end := true
	for i := len(tokens) - 1; i >= 0; i-- {
		t := tokens[i]
		if t.Kind == spoken.Mark {
			end, next = true, ""
			list[i] = t.Text
			continue
		}
		if joined[i] {
			i--
			f := function()[tokens[i].Text+"_"+t.Text]
			list[i] = link(f.choose(end, next), next)
			next, end = list[i], false
			continue
		}
		list[i] = one(tokens, i, end, next)
		if list[i] != "" {
			next, end = list[i], false
		}
	}
	for i, s := range list {
		switch {
		case s == "":
		case tokens[i].Kind == spoken.Mark:
			b.WriteString(s)
		default:
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(s)
		}
	}
	return b.String()
}

// pairs tells the tokens that are said as one with the word before them.
func pairs(tokens []spoken.Token) []bool {
	list := make([]bool, len(tokens))
	for i := 1; i < len(tokens); i++ {
		if tokens[i-1].Kind != spoken.Word || tokens[i].Kind != spoken.Word || list[i-1] {
			continue
		}
		_, list[i] = function()[tokens[i-1].Text+"_"+tokens[i].Text]
	}
	return list
}

// one returns the symbols of token i. The word after it begins with the symbols next; at the end of
// a clause there is none.
func one(tokens []spoken.Token, i int, end bool, next string) string {
	t := tokens[i]
	switch t.Kind {
	case spoken.Letters:
		return link(spell(t.Text), next)
	case spoken.Other:
		return t.Text
	}
	if f, ok := function()[t.Text]; ok {
		return link(f.choose(end, next), next)
	}
	if s, ok := heteronym(tokens, i); ok {
		return link(s, next)
	}
	return link(Word(t.Text), next)
}

// choose returns the symbols of a word by its place: at the end of a clause, or before the symbols
// next.
func (f forms) choose(end bool, next string) string {
	switch {
	case end:
		return f.end
	case vowelFirst(next):
		return f.vowel
	}
	return f.within
}

// vowelFirst reports whether symbols begin with a vowel.
func vowelFirst(s string) bool {
	s = strings.TrimLeft(s, "ˈˌ")
	r, _ := utf8.DecodeRuneInString(s)
	return s != "" && strings.ContainsRune("aeiouæɐɑɔəɚɛɜɪʊʌᵻ", r)
}

// link adds the r that is heard between words.
func link(s, next string) string {
	if vowelFirst(next) && (strings.HasSuffix(s, "ɚ") || strings.HasSuffix(s, "ɜː")) {
		return s + "ɹ"
	}
	return s
}

// contracted are the ends of contractions with their symbols after a vowel or voiced sound.
var contracted = []struct{ letters, symbols string }{
	{"n't", "ənt"}, {"'ll", "əl"}, {"'ve", "əv"}, {"'re", "ɚ"}, {"'d", "d"}, {"'m", "m"},
}

// Word returns the symbols of a word of its own: lower case letters and apostrophes.
func Word(word string) string {
	if s, ok := irregular()[word]; ok {
		return s
	}
	if strings.Contains(word, "'") {
		if s, ok := apostrophe(word); ok {
			return s
		}
	}
	if strings.HasSuffix(word, "s") || strings.HasSuffix(word, "d") || strings.HasSuffix(word, "ing") ||
		strings.HasSuffix(word, "ly") {
		if s, ok := inflected(word); ok {
			return s
		}
	}
	sounds := letters.English().Sounds(word)
	if len(sounds) == 0 || !pronounceable(sounds) {
		return spell(word)
	}
	return write(word, sounds)
}

// pronounceable reports whether there is a vowel among the sounds.
func pronounceable(sounds []letters.Sound) bool {
	for _, s := range sounds {
		if s.Vowel() {
			return true
		}
	}
	return false
}

// apostrophe returns the symbols of a contraction or a possessive.
func apostrophe(word string) (string, bool) {
	for _, c := range contracted {
		if stem, ok := strings.CutSuffix(word, c.letters); ok && stem != "" {
			symbols := c.symbols
			if c.letters == "'d" && (endsIn(stem, "t") || endsIn(stem, "d")) {
				symbols = "ɪd"
			}
			return strong(stem) + symbols, true
		}
	}
	if stem, ok := strings.CutSuffix(word, "'s"); ok && stem != "" {
		s := strong(stem)
		return s + plural(s), true
	}
	if stem, ok := strings.CutSuffix(word, "s'"); ok && stem != "" {
		return Word(stem + "s"), true
	}
	if trimmed := strings.Trim(word, "'"); trimmed != word && trimmed != "" {
		return Word(trimmed), true
	}
	if letters.English().Known(word) {
		return "", false
	}
	if plain := strings.ReplaceAll(word, "'", ""); plain != "" {
		return Word(plain), true
	}
	return "", false
}

func endsIn(word, end string) bool { return strings.HasSuffix(word, end) }

// strong returns the symbols of a word before an ending.
func strong(word string) string {
	if f, ok := function()[word]; ok {
		return f.within
	}
	return Word(word)
}

// plural returns the symbols of the s after others.
func plural(s string) string {
	for _, hiss := range []string{"s", "z", "ʃ", "ʒ", "tʃ", "dʒ"} {
		if strings.HasSuffix(s, hiss) {
			return "ᵻz"
		}
	}
	for _, dull := range []string{"p", "t", "k", "f", "θ"} {
		if strings.HasSuffix(s, dull) {
			return "s"
		}
	}
	return "z"
}

// past returns the symbols of the ending -ed after others.
func past(s string) string {
	for _, end := range []string{"t", "d", "ɾ"} {
		if strings.HasSuffix(s, end) {
			return "ᵻd"
		}
	}
	for _, dull := range []string{"p", "k", "f", "θ", "s", "ʃ"} {
		if strings.HasSuffix(s, dull) {
			return "t"
		}
	}
	return "d"
}

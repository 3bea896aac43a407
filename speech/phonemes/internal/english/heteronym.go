package english

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/nacre-ml/nacre/speech/phonemes/internal/spoken"
)

//go:embed heteronym.txt
var heteronymFile string

//go:embed irregular.txt
var irregularFile string

// pair is a word with two sounds. The second one is after words of a class.
type pair struct{ first, class, second string }

var heteronyms = sync.OnceValue(func() map[string]pair {
	m := map[string]pair{}
	for fields := range rows(heteronymFile) {
		m[fields[0]] = pair{fields[1], fields[2], fields[3]}
	}
	return m
})

// irregular returns the words of irregular.txt.
var irregular = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for fields := range rows(irregularFile) {
		m[fields[0]] = fields[1]
	}
	return m
})

// rows yields the fields of lines that are not comments.
func rows(file string) func(func([]string) bool) {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(file) {
			if fields := strings.Fields(line); len(fields) > 0 && fields[0] != "#" && !yield(fields) {
				return
			}
		}
	}
}

// classes are the words after which a heteronym is a verb, a noun, or a participle.
var classes = map[string]string{
	"v": "to will would can could may might must shall should do does did don't didn't doesn't can't " +
		"won't i you we they let's not cannot couldn't wouldn't shouldn't i'll you'll we'll " +
		"they'll he'll she'll who please",
	"n": "the a an my your his her its our their this that no of in some any these those such own",
	"p": "has have had was were been is be he she it i've we've they've you've are never just already and",
}

var classOf = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for class, words := range classes {
		for w := range strings.FieldsSeq(words) {
			m[w] = class
		}
	}
	return m
})

// nouns are heteronyms that the word behind makes nouns.
var nouns = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{"use of": true, "uses of": true, "excuse for": true, "abuse of": true}
	for w := range strings.FieldsSeq("music show shows stream broadcast tv television concert performance audience " +
		"wire data chat coverage event events video") {
		m["live "+w] = true
	}
	return m
})

// heteronym returns the symbols of a word with two sounds by the word before it.
func heteronym(tokens []spoken.Token, i int) (string, bool) {
	p, ok := heteronyms()[tokens[i].Text]
	if !ok {
		return "", false
	}
	before := ""
	if i > 0 && tokens[i-1].Kind == spoken.Word {
		before = tokens[i-1].Text
	}
	if i > 1 && strings.HasSuffix(before, "ly") && tokens[i-2].Kind == spoken.Word {
		before = tokens[i-2].Text // to quickly close
	}
	after := p.class == "n" && i+1 < len(tokens) && nouns()[tokens[i].Text+" "+tokens[i+1].Text]
	if classOf()[before] == p.class || after {
		return p.second, true
	}
	return p.first, true
}

// inflected returns the symbols of an irregular word with an ending.
func inflected(word string) (string, bool) {
	for _, e := range []struct {
		letters string
		add     func(string) string
	}{
		{"s", func(s string) string { return s + plural(s) }},
		{"ed", func(s string) string { return flapped(s, past(s)) }},
		{"d", func(s string) string { return flapped(s, past(s)) }},
		{"ing", func(s string) string { return flapped(s, "ɪŋ") }},
		{"ly", func(s string) string { return s + "li" }},
	} {
		stem, ok := strings.CutSuffix(word, e.letters)
		if !ok || len(stem) < 3 {
			continue
		}
		for _, stem := range []string{stem, stem + "e"} {
			if s, ok := irregular()[stem]; ok {
				return e.add(s), true
			}
			p, ok := heteronyms()[stem]
			switch {
			case !ok:
			case e.letters == "s" || e.letters == "ly":
				return e.add(p.first), true // records, separately
			case p.verb() != "":
				return e.add(p.verb()), true // recorded
			}
		}
	}
	return "", false
}

// verb returns the symbols of the verb.
func (p pair) verb() string {
	switch p.class {
	case "v":
		return p.second
	case "n":
		return p.first
	}
	return ""
}

// flapped adds an ending that begins with a vowel to symbols, whose t after a vowel becomes a flap.
func flapped(s, ending string) string {
	if stem, ok := strings.CutSuffix(s, "t"); ok && vowelFirst(ending) && vowelLast(stem) {
		return stem + "ɾ" + ending
	}
	return link(s, ending) + ending
}

// vowelLast reports whether symbols end in a vowel or in an r.
func vowelLast(s string) bool {
	for _, end := range []string{"ː", "ɪ", "ʊ", "ə", "ɚ", "ɛ", "æ", "ʌ", "ᵻ", "ɹ", "i", "ɐ", "ɔ"} {
		if strings.HasSuffix(s, end) {
			return true
		}
	}
	return false
}

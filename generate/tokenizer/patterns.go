package tokenizer

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// patterns are the patterns that scanners know, by their text in files.
var patterns = map[string]scanner{
	gpt2:   {contractions: true},
	cl100k: {contractions: true, fold: true, lead: true, digits: 3, lines: true},
	qwen2:  {contractions: true, fold: true, lead: true, digits: 1, lines: true},
	o200k:  {contractions: true, fold: true, cased: true, digits: 3, slash: true, lines: true},
	tekken: {cased: true, digits: 1, slash: true, lines: true},
}

// The patterns of the vocabularies cl100k_base and o200k_base, of Qwen2 and of Mistral's Tekken.
const (
	cl100k = folded + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwen2  = folded + `|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	o200k  = upperWord + folded + `?|` + lowerWord + folded + `?|\p{N}{1,3}` + afterWords
	tekken = upperWord + `|` + lowerWord + `|\p{N}` + afterWords
)

// Parts of these patterns: contractions in either case, words by case, and what follows numbers.
const (
	folded     = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	upperWord  = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`
	lowerWord  = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*`
	afterWords = `| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// gpt2 is the pattern of the pre-tokenizer ByteLevel.
const gpt2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// pattern returns a cutter for a regular expression: code of its own for a known one.
func pattern(w *work, text string) (cutter, error) {
	if s, ok := patterns[text]; ok {
		s.classes = classes()
		return &s, nil
	}
	if d, ok := groupings[text]; ok {
		return d, nil
	}
	rest, spaces := strings.CutSuffix(text, `|\s+(?!\S)|\s+`)
	out, err := translate(rest)
	if err != nil {
		return nil, err
	}
	if spaces {
		out = "(?:" + out + ")|([" + spaceClass + "]+)"
	}
	p, tree, err := newProgram(w, out)
	if err != nil {
		return nil, err
	}
	if bound(tree) {
		return nil, fmt.Errorf("pattern %.80q is bound to a place of the text, which is not supported in splits", text)
	}
	return &matched{p, spaces}, nil
}

// matched is a cutter of a regular expression. With spaces, its first group is white space, and the
// last character of that joins the word after it.
type matched struct {
	program *program
	spaces  bool
}

func (m *matched) next(c *cursor, at int) (bool, int) {
	if c.search == nil {
		c.search, c.from, c.to = m.program.search(c.work, c.text), -1, 0
	}
	if at == c.from {
		return true, c.to // found by the call for an earlier place
	}
	for from := at; from < len(c.text); {
		end, spaced, ok := c.search.match(from)
		if !ok || end == from {
			_, size := utf8.DecodeRuneInString(c.text[from:])
			from += size
			continue
		}
		if m.spaces && spaced && end < len(c.text) {
			if _, size := utf8.DecodeLastRuneInString(c.text[:end]); end-size > from {
				end -= size
				c.search.again(end)
			}
		}
		if from > at {
			c.from, c.to = from, end
			return false, from
		}
		return true, end
	}
	return false, len(c.text)
}

// bound reports whether a pattern depends on the text before a match.
func bound(t *syntax.Regexp) bool {
	switch t.Op {
	case syntax.OpBeginLine, syntax.OpBeginText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	}
	return slices.ContainsFunc(t.Sub, bound)
}

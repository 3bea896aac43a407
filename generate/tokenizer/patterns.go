package tokenizer

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// patterns are the ones that scanners know, by their text in the files.
var patterns = map[string]scanner{
	gpt2: {contractions: true},
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`:                                     {contractions: true, fold: true, lead: true, digits: 3, lines: true},
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`:                                          {contractions: true, fold: true, lead: true, digits: 1, lines: true},
	upperWord + `(?i:'s|'t|'re|'ve|'m|'ll|'d)?|` + lowerWord + `(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`: {contractions: true, fold: true, cased: true, digits: 3, slash: true, lines: true},
	upperWord + `|` + lowerWord + `|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`:                                                                {cased: true, digits: 1, slash: true, lines: true},
}

const (
	upperWord = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`
	lowerWord = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*`
)

// gpt2 is the pattern of the pre-tokenizer ByteLevel.
const gpt2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// pattern returns a cutter for a regular expression: a scanner where one knows it.
func pattern(text string) (cutter, error) {
	if s, ok := patterns[text]; ok {
		s.classes = classes()
		return &s, nil
	}
	rest, spaces := strings.CutSuffix(text, `|\s+(?!\S)|\s+`)
	out, err := translate(rest)
	if err != nil {
		return nil, err
	}
	if spaces {
		out = "(?:" + out + ")|([" + spaceClass + "]+)"
	}
	re, err := regexp.Compile(out)
	if err != nil {
		return nil, fmt.Errorf("pattern %.80q: %w", text, err)
	}
	if tree, err := syntax.Parse(out, syntax.Perl); err != nil || bound(tree) {
		return nil, fmt.Errorf("pattern %.80q is bound to a place of the text, which is not supported in splits", text)
	}
	return &matches{re, spaces}, nil
}

// matches is a cutter of a regular expression. With spaces, its first group is white
// space, of which the last character stays with the word behind it.
type matches struct {
	re     *regexp.Regexp
	spaces bool
}

func (m *matches) next(text string, at int) (bool, int) {
	for from := at; from < len(text); {
		loc := m.re.FindStringSubmatchIndex(text[from:])
		switch {
		case loc == nil:
			return false, len(text)
		case from+loc[0] > at:
			return false, from + loc[0]
		case loc[1] == 0: // an empty match
			_, size := utf8.DecodeRuneInString(text[from:])
			from += size
			continue
		}
		end := from + loc[1]
		if m.spaces && loc[2] >= 0 && end < len(text) {
			if _, size := utf8.DecodeLastRuneInString(text[:end]); end-size > at {
				end -= size
			}
		}
		return true, end
	}
	return false, len(text)
}

// bound reports whether a pattern depends on what stands before a match.
func bound(t *syntax.Regexp) bool {
	switch t.Op {
	case syntax.OpBeginLine, syntax.OpBeginText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	}
	return slices.ContainsFunc(t.Sub, bound)
}

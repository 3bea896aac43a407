package tokenizer

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A normalizer changes a text before it is split.
type normalizer interface {
	normalize(text string) string
}

// drops reports whether a normalizer takes away the first character of a text.
func drops(n normalizer, text string) bool {
	_, size := utf8.DecodeRuneInString(text)
	return size > 0 && n.normalize(text[:size]) == ""
}

// The normalizers, one type for each kind of a file.
type (
	normalizers   []normalizer
	unicodeForm   norm.Form
	lowercase     struct{}
	stripAccents  struct{}
	stripSpaces   struct{ left, right bool }
	prepend       struct{ text string }
	replaceString struct{ from, to string }
	replaceRegexp struct {
		from *regexp.Regexp
		to   string
	}
	nmt        struct{}
	byteLevels struct{}
)

func (list normalizers) normalize(text string) string {
	for _, n := range list {
		text = n.normalize(text)
	}
	return text
}

func (f unicodeForm) normalize(text string) string { return norm.Form(f).String(text) }

func (lowercase) normalize(text string) string {
	// The capital I with a dot is the one letter whose small form has two characters
	// wherever it stands.
	return strings.ToLower(strings.ReplaceAll(text, "İ", "i̇"))
}

func (stripAccents) normalize(text string) string {
	return without(text, func(r rune) bool { return unicode.Is(unicode.M, r) })
}

// without returns a text without the characters of a kind.
func without(text string, is func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if is(r) {
			return -1
		}
		return r
	}, text)
}

func (s stripSpaces) normalize(text string) string {
	if s.left {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
	}
	if s.right {
		text = strings.TrimRightFunc(text, unicode.IsSpace)
	}
	return text
}

func (p prepend) normalize(text string) string {
	if text == "" {
		return text
	}
	return p.text + text
}

func (r replaceString) normalize(text string) string {
	return strings.ReplaceAll(text, r.from, r.to)
}

func (r replaceRegexp) normalize(text string) string {
	return r.from.ReplaceAllLiteralString(text, r.to)
}

// normalize takes away control characters and makes odd white space blanks, as the rule
// "nmt" of SentencePiece does.
func (nmt) normalize(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 1 && r <= 8, r == 0xB, r >= 0xE && r <= 0x1F, r == 0x7F, r == 0x8F, r == 0x9F:
			return -1
		case r == 9, r == 0xA, r == 0xC, r == 0xD, r == 0x1680, r >= 0x200B && r <= 0x200F, r == 0x2028, r == 0x2029, r == 0x2581, r == 0xFEFF, r == 0xFFFD:
			return ' '
		}
		return r
	}, text)
}

func (byteLevels) normalize(text string) string { return toByteCharacters(text) }

// A bert is the normalizer of BERT.
type bert struct{ clean, chinese, accents, lower bool }

func (b bert) normalize(text string) string {
	if b.clean {
		text = strings.Map(cleanRune, text)
	}
	if b.chinese {
		text = spaceIdeographs(text)
	}
	if b.accents {
		text = without(norm.NFD.String(text), func(r rune) bool { return unicode.Is(unicode.Mn, r) })
	}
	if b.lower {
		text = lowercase{}.normalize(text)
	}
	return text
}

// cleanRune returns a blank for white space and -1 for what does not print.
func cleanRune(r rune) rune {
	switch {
	case r == '\t', r == '\n', r == '\r':
		return ' '
	case r == 0, r == 0xFFFD, unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
		return -1
	case unicode.IsSpace(r):
		return ' '
	}
	return r
}

// spaceIdeographs puts blanks around the characters of the CJK blocks.
func spaceIdeographs(text string) string {
	if strings.IndexFunc(text, isIdeograph) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isIdeograph(r) {
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func isIdeograph(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF ||
		r >= 0x20000 && r <= 0x2A6DF || r >= 0x2A700 && r <= 0x2B73F || r >= 0x2B740 && r <= 0x2B81F ||
		r >= 0x2B920 && r <= 0x2CEAF || r >= 0xF900 && r <= 0xFAFF || r >= 0x2F800 && r <= 0x2FA1F
}

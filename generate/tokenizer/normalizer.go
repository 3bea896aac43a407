package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A normalizer changes a text before it is split.
type normalizer interface {
	normalize(w *work, text string) string
	// align is normalize of a piece with places. The text is the one that normalize returns.
	align(w *work, p piece) piece
}

// drops reports whether a normalizer removes the first character of a text.
func drops(w *work, n normalizer, text string) bool {
	_, size := utf8.DecodeRuneInString(text)
	return size > 0 && n.normalize(w, text[:size]) == ""
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
		from *program
		to   string
	}
	nmt        struct{}
	byteLevels struct{}
)

func (list normalizers) normalize(w *work, text string) string {
	for i, n := range list {
		next := n.normalize(w, text)
		if i > 0 {
			w.release(len(text))
		}
		text = next
	}
	return text
}

func (f unicodeForm) normalize(w *work, text string) string {
	return w.text(len(text), formGrowth["NFKD"], func() string { return norm.Form(f).String(text) })
}

func (lowercase) normalize(w *work, text string) string {
	return w.text(len(text), formGrowth["Lowercase"], func() string {
		// The capital I with a dot is the only letter with a lower case of two characters in every
		// context.
		return strings.ToLower(strings.ReplaceAll(text, "İ", "i̇"))
	})
}

func (stripAccents) normalize(w *work, text string) string {
	return without(w, text, func(r rune) bool { return unicode.Is(unicode.M, r) })
}

// without returns a text without the characters of a kind.
func without(w *work, text string, is func(rune) bool) string {
	return mapped(w, text, func(r rune) rune {
		if is(r) {
			return -1
		}
		return r
	})
}

// mapped returns a text with each character replaced by one with at most as many bytes, or removed.
func mapped(w *work, text string, by func(rune) rune) string {
	return w.text(len(text), 1, func() string { return strings.Map(by, text) })
}

func (s stripSpaces) normalize(w *work, text string) string {
	return w.text(len(text), 1, func() string {
		if s.left {
			text = strings.TrimLeftFunc(text, unicode.IsSpace)
		}
		if s.right {
			text = strings.TrimRightFunc(text, unicode.IsSpace)
		}
		return text
	})
}

func (p prepend) normalize(w *work, text string) string {
	if text == "" {
		return text
	}
	w.steps(len(p.text) + len(text))
	w.hold(len(p.text) + len(text))
	return p.text + text
}

func (r replaceString) normalize(w *work, text string) string {
	n := strings.Count(text, r.from)
	w.steps(len(text) + n)
	w.hold(len(text) + n*(len(r.to)-len(r.from)))
	return strings.ReplaceAll(text, r.from, r.to)
}

func (r replaceRegexp) normalize(w *work, text string) string {
	return r.from.replace(w, text, r.to)
}

// normalize removes control characters and replaces unusual white space by blanks, like the rule
// "nmt" of SentencePiece.
func (nmt) normalize(w *work, text string) string {
	return mapped(w, text, func(r rune) rune {
		switch {
		case r >= 1 && r <= 8, r == 0xB, r >= 0xE && r <= 0x1F, r == 0x7F, r == 0x8F, r == 0x9F:
			return -1
		case r == 9, r == 0xA, r == 0xC, r == 0xD, r == 0x1680, r >= 0x200B && r <= 0x200F, r == 0x2028, r == 0x2029, r == 0x2581, r == 0xFEFF, r == 0xFFFD:
			return ' '
		}
		return r
	})
}

func (byteLevels) normalize(w *work, text string) string {
	return w.text(len(text), formGrowth["ByteLevel"], func() string { return toByteCharacters(text) })
}

// A bert is the normalizer of BERT.
type bert struct{ clean, chinese, accents, lower bool }

func (b bert) normalize(w *work, text string) string { return b.steps().normalize(w, text) }

func (b bert) steps() (list normalizers) {
	if b.clean {
		list = append(list, cleaned{})
	}
	if b.chinese {
		list = append(list, ideographs{})
	}
	if b.accents {
		list = append(list, unicodeForm(norm.NFD), nonspacing{})
	}
	if b.lower {
		list = append(list, lowercase{})
	}
	return list
}

// The parts of a bert.
type (
	cleaned    struct{}
	ideographs struct{}
	nonspacing struct{}
)

func (cleaned) normalize(w *work, text string) string { return mapped(w, text, cleanRune) }

func (nonspacing) normalize(w *work, text string) string {
	return without(w, text, func(r rune) bool { return unicode.Is(unicode.Mn, r) })
}

func (ideographs) normalize(w *work, text string) string {
	return w.text(len(text), 2, func() string { return spaceIdeographs(text) })
}

// cleanRune returns a blank for white space and -1 for characters that do not print.
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

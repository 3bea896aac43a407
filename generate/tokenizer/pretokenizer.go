package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A pretokenizer splits a text into words. Words may be empty; they are left out.
type pretokenizer interface {
	split(w *work, p piece, emit func(piece))
}

// The pre-tokenizers, one type for each kind of a file.
type (
	pretokenizers []pretokenizer
	byteLevel     struct {
		prefix bool // a blank before words that do not begin with one
		words  cutter
		mapped bool
	}
	metaspace struct {
		mark   string
		scheme string // always, first, never
		parts  bool   // words begin at marks
	}
	fixedLength struct{ length int }
	cut         struct {
		by       cutter
		behavior behavior
	}
)

func (list pretokenizers) split(w *work, p piece, emit func(piece)) {
	switch len(list) {
	case 0:
		emit(p)
	case 1:
		list[0].split(w, p, emit)
	default:
		list[0].split(w, p, func(q piece) {
			if q.text != "" {
				list[1:].split(w, q, emit)
			}
		})
	}
}

func (b *byteLevel) split(w *work, p piece, emit func(piece)) {
	if b.prefix && !strings.HasPrefix(p.text, " ") {
		w.hold(1 + len(p.text))
		defer w.release(1 + len(p.text))
		p = prepend{" "}.before(p)
	}
	if b.words == nil {
		b.word(w, p, emit)
		return
	}
	c := w.cursor(p.text)
	for at := 0; at < len(p.text); {
		_, end := c.next(b.words, at)
		b.word(w, p.cut(at, end), emit)
		at = end
	}
	w.put(c)
}

func (b *byteLevel) word(w *work, p piece, emit func(piece)) {
	if !b.mapped {
		emit(p)
		return
	}
	w.hold(2 * len(p.text))
	defer w.release(2 * len(p.text))
	emit(byteLevels{}.spread(w, p))
}

func (m *metaspace) split(w *work, p piece, emit func(piece)) {
	p = normalized(w, replaceString{" ", m.mark}, p)
	w.hold(len(m.mark) + len(p.text))
	defer w.release(len(m.mark) + 2*len(p.text) + spanBytes*len(p.at))
	if (m.scheme == "always" || m.scheme == "first" && p.first) && !strings.HasPrefix(p.text, m.mark) {
		p = prepend{m.mark}.before(p)
	}
	if !m.parts {
		emit(p)
		return
	}
	c := cut{literal(m.mark), mergedWithNext}
	c.split(w, p, emit)
}

func (f fixedLength) split(w *work, p piece, emit func(piece)) {
	for p.text != "" {
		end := 0
		for n := 0; n < f.length && end < len(p.text); n++ {
			_, size := utf8.DecodeRuneInString(p.text[end:])
			end += size
		}
		w.steps(end)
		emit(p.cut(0, end))
		p = p.cut(end, len(p.text))
		p.first = false
	}
}

// A behavior is the use of the parts of a text that a pattern matches.
type behavior int

const (
	isolated           behavior = iota // they are words
	removed                            // they are left out
	mergedWithPrevious                 // they end the word before them
	mergedWithNext                     // they begin the word after them
	contiguous                         // a run of them is one word
)

func (c *cut) split(w *work, p piece, emit func(piece)) {
	from, before := 0, false // start of the word not given yet, and whether a match came last
	give := func(end int) {
		if end > from {
			emit(p.cut(from, end))
		}
		from = end
	}
	places := w.cursor(p.text)
	for at := 0; at < len(p.text); {
		is, end := places.next(c.by, at)
		switch c.behavior {
		case isolated:
			give(end)
		case removed:
			if is {
				from = end
			} else {
				give(end)
			}
		case mergedWithPrevious:
			if !is || before {
				give(at)
			}
		case mergedWithNext:
			if is || !before {
				give(at)
			}
		case contiguous:
			if is != before {
				give(at)
			}
		}
		at, before = end, is
	}
	give(len(p.text))
	w.put(places)
}

// A cursor is the state of a cutter in one text.
type cursor struct {
	work     *work
	text     string
	search   *search // of a cutter that is a regular expression
	from, to int     // the match already found beyond the place of the call
}

// cursor returns a cursor at the beginning of a text.
func (w *work) cursor(text string) *cursor {
	n := len(w.spare)
	if n == 0 {
		return &cursor{work: w, text: text, from: -1}
	}
	c := w.spare[n-1]
	w.spare = w.spare[:n-1]
	*c = cursor{work: w, text: text, from: -1}
	return c
}

// put returns a cursor for reuse.
func (w *work) put(c *cursor) { w.spare = append(w.spare, c) }

// next calls a cutter and counts the part.
func (c *cursor) next(by cutter, at int) (match bool, end int) {
	match, end = by.next(c, at)
	c.work.steps(1 + end - at)
	return match, end
}

// A cutter divides a text into matches and the text between them.
type cutter interface {
	// next returns the end of the part that begins at a place inside the cursor's text, and whether
	// the part is a match. The place is the beginning of the text or the end of the part before.
	next(c *cursor, at int) (match bool, end int)
}

// A class is a cutter that matches single characters of a kind.
type class func(r rune) bool

func (is class) next(c *cursor, at int) (bool, int) {
	for i, r := range c.text[at:] {
		if !is(r) {
			continue
		}
		if i > 0 {
			return false, at + i
		}
		return true, at + utf8.RuneLen(r)
	}
	return false, len(c.text)
}

// A literal is a cutter that matches a text.
type literal string

func (l literal) next(c *cursor, at int) (bool, int) {
	switch i := strings.Index(c.text[at:], string(l)); {
	case i < 0 || l == "":
		return false, len(c.text)
	case i == 0:
		return true, at + len(l)
	default:
		return false, at + i
	}
}

// A run is a cutter that matches runs of characters of one kind. Characters of kind 0 are between
// the matches.
type run func(r rune) int

func (f run) next(c *cursor, at int) (bool, int) {
	kind := -1
	for i, r := range c.text[at:] {
		k := f(r)
		if kind >= 0 && k != kind {
			return kind > 0, at + i
		}
		kind = k
	}
	return kind > 0, len(c.text)
}

// inverted is a cutter that matches the text between the matches of another.
type inverted struct{ cutter }

func (v inverted) next(c *cursor, at int) (bool, int) {
	match, end := v.cutter.next(c, at)
	return !match, end
}

// wordKind is the rule of the pre-tokenizer Whitespace: runs of word characters, and runs of
// characters that are neither word nor white space.
func wordKind(r rune) int {
	switch {
	case isWord(r):
		return 1
	case unicode.IsSpace(r):
		return 0
	}
	return 2
}

// isPunctuation is the rule of BERT.
func isPunctuation(r rune) bool {
	if r < 0x80 {
		return r > ' ' && r < 0x7F && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	return unicode.IsPunct(r)
}

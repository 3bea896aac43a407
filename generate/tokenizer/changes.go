package tokenizer

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A change is a character of a normalized text, and the number of characters more that the text has
// by it: 0 if it replaces one, 1 if it is put in, -n if it replaces one and n more. The reference
// places normalized texts so, also if marks change their order.
type change struct {
	to   rune
	more int
}

// changeBytes is the memory of a change in a growing list.
const changeBytes = 32

// apply returns a piece after changes. The sizes of changes are those of the whole piece.
func (p piece) apply(w *work, list []change) piece {
	b, q, at := w.builder(len(p.text)), piece{}, 0
	skip := func() {
		_, size := utf8.DecodeRuneInString(p.text[at:])
		at += size
	}
	for _, c := range list {
		s := p.before(at)
		if c.more <= 0 {
			s = p.at[min(at, len(p.at)-1)]
			for range 1 - c.more {
				skip()
			}
		}
		text := string(c.to)
		w.hold(spanBytes * len(text))
		b.WriteString(text)
		q.at = appendSpans(q.at, s, len(text))
	}
	q.text = b.String()
	return q
}

func (f unicodeForm) align(w *work, p piece) piece {
	form := norm.Form(f)
	text := f.normalize(w, p.text)
	if text == p.text {
		w.hold(spanBytes * len(text))
		return p
	}
	w.hold(changeBytes * len(text))
	list := decomposed(w, form, p.text)
	if form == norm.NFC || form == norm.NFKC {
		list = composed(w, list)
	}
	q := p.apply(w, list)
	w.release(changeBytes*len(text) + len(text))
	if q.text == text {
		return q
	}
	w.release(len(q.text) + spanBytes*len(q.at))
	w.hold(len(text) + spanBytes*len(text))
	return f.coarse(p, text)
}

// coarse places a text with more marks in a row than Unicode advises by the segments that its form
// keeps apart.
func (f unicodeForm) coarse(p piece, text string) piece {
	q := piece{text: text, at: make([]span, 0, len(text))}
	var segments norm.Iter
	segments.InitString(norm.Form(f), p.text)
	for from := 0; !segments.Done(); from = segments.Pos() {
		size := len(segments.Next())
		q.at = appendSpans(q.at, p.origin(from, segments.Pos()), size)
	}
	if n := len(text); len(q.at) != n {
		q.at = appendSpans(q.at[:0], p.origin(0, len(p.text)), n)
	}
	return q
}

// decomposed returns the changes of a decomposition, with marks in the order of their classes.
func decomposed(w *work, form norm.Form, text string) []change {
	apart := norm.NFD
	if form == norm.NFKC || form == norm.NFKD {
		apart = norm.NFKD
	}
	w.steps(len(text))
	list, start := make([]change, 0, len(text)), 0 // start of the marks in a row
	order := func() {
		if len(list)-start > 1 {
			slices.SortStableFunc(list[start:], func(a, b change) int { return markClass(a.to) - markClass(b.to) })
		}
		start = len(list)
	}
	for i, r := range text {
		if r < utf8.RuneSelf {
			order()
			list = append(list, change{to: r})
			start = len(list)
			continue
		}
		for k, d := range apart.String(text[i : i+utf8.RuneLen(r)]) {
			mark := markClass(d) > 0
			if !mark {
				order()
			}
			list = append(list, change{d, min(k, 1)})
			if !mark {
				start = len(list)
			}
		}
	}
	order()
	return list
}

// composed returns the changes of a composition after a decomposition.
func composed(w *work, list []change) []change {
	w.steps(len(list))
	var marks []change // after first, which they do not compose with
	first, has, last := change{}, false, 0
	out := make([]change, 0, len(list))
	for _, c := range list {
		is := markClass(c.to)
		if !has {
			if is > 0 {
				out = append(out, c)
			} else {
				first, has = c, true
			}
			continue
		}
		if len(marks) == 0 || last < is {
			if to, ok := pairOf(first.to, c.to); ok {
				first = change{to, first.more + c.more - 1}
				continue
			}
		}
		if is == 0 {
			out = append(append(out, first), marks...)
			first, marks = c, marks[:0]
			continue
		}
		marks, last = append(marks, c), is
	}
	if has {
		out = append(out, first)
	}
	return append(out, marks...)
}

// markClass returns the combining class of a character.
func markClass(r rune) int {
	if r < 0x300 {
		return 0
	}
	var b [utf8.UTFMax]byte
	return int(norm.NFD.Properties(utf8.AppendRune(b[:0], r)).CCC())
}

// pairOf returns the character that two others compose.
func pairOf(a, b rune) (rune, bool) {
	if b < 0x300 {
		return 0, false
	}
	text := norm.NFC.String(string([]rune{a, b}))
	r, size := utf8.DecodeRuneInString(text)
	return r, size == len(text)
}

// align changes characters as the reference does: if a part becomes longer, its last characters are
// put in, and if it becomes shorter, the character before what is left out stands for it, too.
func (n precompiled) align(w *work, p piece) piece {
	w.hold(changeBytes * len(p.text))
	list, changed := make([]change, 0, len(p.text)), false
	n.each(w, p.text, func(part, to string, has bool) {
		changed = changed || has
		more := utf8.RuneCountInString(to) - utf8.RuneCountInString(part)
		w.hold(changeBytes * max(more, 0))
		for _, r := range to {
			list = append(list, change{to: r})
		}
		if more < 0 && len(list) > 0 {
			list[len(list)-1].more += more
		}
		for i := range max(more, 0) {
			list[len(list)-1-i].more = 1
		}
	})
	defer w.release(changeBytes * len(list))
	if !changed {
		w.hold((1 + spanBytes) * len(p.text))
		return p
	}
	return p.apply(w, list)
}

package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Memory of the place of a byte, and of the place of a token in a growing list.
const (
	spanBytes  = 8
	placeBytes = 64
)

// A place is the bytes of a text that a token covers.
type place struct {
	at    span
	added string // the text of an added token as it was matched; "" for other tokens
}

// placed returns a text as a piece with places. Bytes that are not UTF-8 become U+FFFD.
func placed(w *work, text string) piece {
	w.hold(spanBytes * len(text))
	p := piece{first: true, at: make([]span, 0, len(text))}
	if utf8.ValidString(text) {
		p.text = text
		for i, r := range text {
			p.at = appendSpans(p.at, span{int32(i), int32(i + utf8.RuneLen(r))}, utf8.RuneLen(r))
		}
		return p
	}
	w.hold((2*spanBytes + 3) * len(text))
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			size = begun([]byte(text[i:min(i+utf8.UTFMax, len(text))]))
		}
		p.at = appendSpans(p.at, span{int32(i), int32(i + size)}, utf8.RuneLen(r))
		b.WriteRune(r)
		i += size
	}
	p.text = b.String()
	return p
}

func appendSpans(list []span, s span, n int) []span {
	for range n {
		list = append(list, s)
	}
	return list
}

// origin returns the bytes of the whole text that bytes from..to of a piece come from. An empty
// range is where the text before it ends.
func (p piece) origin(from, to int) span {
	n := len(p.at)
	from, to = min(from, n), min(to, n)
	switch {
	case from < to:
		return span{p.at[from].from, p.at[to-1].to}
	case n == 0:
		return span{}
	case from == 0:
		return span{p.at[0].from, p.at[0].from}
	}
	return span{p.at[from-1].to, p.at[from-1].to}
}

// before returns the place of a character that is put in at byte at: that of the byte before.
func (p piece) before(at int) span {
	switch {
	case len(p.at) == 0:
		return span{}
	case at == 0:
		return span{p.at[0].from, p.at[0].from}
	}
	return p.at[min(at, len(p.at))-1]
}

// normalized returns a normalized piece. If the piece has places, so does the result.
func normalized(w *work, n normalizer, p piece) piece {
	if p.at == nil {
		return piece{text: n.normalize(w, p.text), first: p.first}
	}
	q := n.align(w, p)
	q.first = p.first
	return q
}

// byRune is align for normalizers that replace each character on its own.
func byRune(w *work, n normalizer, p piece) piece {
	q := piece{text: n.normalize(w, p.text)}
	w.hold(spanBytes * len(q.text))
	if len(q.text) == len(p.text) && isASCII(p.text) {
		q.at = p.at
		return q
	}
	q.at = make([]span, 0, len(q.text))
	for i, r := range p.text {
		to := n.normalize(w, p.text[i:i+utf8.RuneLen(r)])
		w.release(len(to))
		q.at = appendSpans(q.at, p.at[i], len(to))
	}
	return q
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func (n lowercase) align(w *work, p piece) piece    { return byRune(w, n, p) }
func (n stripAccents) align(w *work, p piece) piece { return byRune(w, n, p) }
func (n nmt) align(w *work, p piece) piece          { return byRune(w, n, p) }
func (n byteLevels) align(w *work, p piece) piece   { return byRune(w, n, p) }
func (n cleaned) align(w *work, p piece) piece      { return byRune(w, n, p) }
func (n ideographs) align(w *work, p piece) piece   { return byRune(w, n, p) }
func (n nonspacing) align(w *work, p piece) piece   { return byRune(w, n, p) }
func (n undecorated) align(w *work, p piece) piece  { return byRune(w, n, p) }

// spread returns a piece in the table of bytes. Its memory is not counted.
func (byteLevels) spread(w *work, p piece) piece {
	q := piece{text: toByteCharacters(p.text), first: p.first}
	if p.at == nil || len(q.text) == len(p.text) {
		q.at = p.at
		return q
	}
	w.steps(len(q.text))
	for i := range len(p.text) {
		q.at = appendSpans(q.at, p.at[i], utf8.RuneLen(byteCharacter[p.text[i]]))
	}
	return q
}

func (list normalizers) align(w *work, p piece) piece {
	for i, n := range list {
		next := normalized(w, n, p)
		if i > 0 {
			w.release(len(p.text) + spanBytes*len(p.at))
		}
		p = next
	}
	if len(list) == 0 {
		w.hold(spanBytes * len(p.at))
	}
	return p
}

func (b bert) align(w *work, p piece) piece { return b.steps().align(w, p) }

func (s stripSpaces) align(w *work, p piece) piece {
	text := s.normalize(w, p.text)
	w.hold(spanBytes * len(text))
	from := 0
	if s.left {
		from = len(p.text) - len(strings.TrimLeftFunc(p.text, unicode.IsSpace))
	}
	return p.cut(from, from+len(text))
}

func (n prepend) align(w *work, p piece) piece {
	w.steps(len(n.text) + len(p.text))
	w.hold((1 + spanBytes) * (len(n.text) + len(p.text)))
	return n.before(p)
}

// before puts the text before a piece, at the place of its first character.
func (n prepend) before(p piece) piece {
	if p.text == "" {
		return p
	}
	q := piece{text: n.text + p.text, first: p.first}
	if p.at != nil {
		q.at = append(appendSpans(make([]span, 0, len(q.text)), p.at[0], len(n.text)), p.at...)
	}
	return q
}

func (r replaceString) align(w *work, p piece) piece {
	text := r.normalize(w, p.text)
	at := 0
	return substituted(w, p, text, r.to, func() (from, to int, ok bool) {
		i := strings.Index(p.text[at:], r.from)
		if i < 0 {
			return 0, 0, false
		}
		at += i + len(r.from)
		return at - len(r.from), at, true
	})
}

func (r replaceRegexp) align(w *work, p piece) piece {
	var matches []span
	r.from.each(w, p.text, func(from, to int) {
		w.hold(2 * spanBytes)
		matches = append(matches, span{int32(from), int32(to)})
	})
	defer w.release(2 * spanBytes * len(matches))
	return substituted(w, p, r.normalize(w, p.text), r.to, func() (from, to int, ok bool) {
		if len(matches) == 0 {
			return 0, 0, false
		}
		m := matches[0]
		matches = matches[1:]
		return int(m.from), int(m.to), true
	})
}

// substituted returns a text that was made of a piece by replacing matches. A replacement has the place
// of the last byte of its match.
func substituted(w *work, p piece, text, by string, next func() (from, to int, ok bool)) piece {
	w.hold(spanBytes * len(text))
	q, done := piece{text: text, at: make([]span, 0, len(text))}, 0
	for from, to, ok := next(); ok; from, to, ok = next() {
		q.at = append(q.at, p.at[done:from]...)
		q.at = appendSpans(q.at, p.before(to), len(by))
		done = to
	}
	q.at = append(q.at, p.at[done:]...)
	return q
}

func (n *spNormalizer) align(w *work, p piece) piece {
	b, q := w.builder(len(p.text)+len(p.text)/4), piece{}
	any := n.each(w, p.text, func(value string, from, to int) {
		w.hold(spanBytes * len(value))
		b.WriteString(value)
		q.at = appendSpans(q.at, p.origin(from, to), len(value))
	})
	q.text = n.trimmed(b.String())
	w.release(spanBytes * (len(q.at) - len(q.text)))
	q.at = q.at[:len(q.text)]
	if any && n.dummy && n.suffix {
		w.hold((1+spanBytes)*len(q.text) + spanBytes*len(n.mark))
		q.at = appendSpans(q.at, p.at[len(p.at)-1], len(n.mark))
		q.text += n.mark
	}
	return q
}

package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// A spNormalizer is the normalizer of a SentencePiece model.
type spNormalizer struct {
	chars  *charsMap // nil: characters stay as they are
	user   trie      // symbols of the user, which stay as they are
	dummy  bool
	suffix bool
	blanks bool // runs of blanks stay
	mark   string
}

func newSPNormalizer(w *work, m *spModel) (*spNormalizer, error) {
	n := &spNormalizer{user: newTrie(w, m.users()), dummy: m.dummy, suffix: m.suffix, blanks: !m.squeeze, mark: " "}
	if m.escape {
		n.mark = blankMark
	}
	if len(m.charsmap) == 0 {
		return n, nil
	}
	var err error
	n.chars, err = newCharsMap(w, m.charsmap)
	return n, err
}

// users returns the symbols of the user.
func (m *spModel) users() *vocabulary {
	v := &vocabulary{others: map[string]int32{}}
	for i, p := range m.pieces {
		if p.kind == pieceUserDefined {
			v.others[p.text] = int32(i)
		}
	}
	return v
}

// longest returns the end of the longest entry at a place of a text, or the place.
func (t *trie) longest(w *work, text string, at int) int {
	_, end := t.longestEntry(w, text, at)
	return end
}

// longestEntry returns the longest entry at a place of a text and its end. If there is none, the
// end is the place.
func (t *trie) longestEntry(w *work, text string, at int) (id int32, end int) {
	end = at
	node, i := int32(0), at
	for ; i < len(text); i++ {
		if node = t.step(node, text[i]); node < 0 {
			break
		}
		if t.ends[node] >= 0 {
			id, end = t.ends[node], i+1
		}
	}
	w.steps(1 + i - at)
	return id, end
}

// prefix returns the replacement of the first characters of a text, and their bytes.
func (n *spNormalizer) prefix(w *work, text string) (value string, size int) {
	if end := n.user.longest(w, text, 0); end > 0 {
		return text[:end], end
	}
	if n.chars != nil {
		n.chars.prefixes(w, text, func(length int, v string) bool {
			value, size = v, length
			return true
		})
		if size > 0 {
			return value, size
		}
	}
	_, size = utf8.DecodeRuneInString(text)
	return text[:size], size
}

func (n *spNormalizer) normalize(w *work, text string) string {
	b := w.builder(len(text) + len(text)/4)
	any := n.each(w, text, func(value string, _, _ int) { b.WriteString(value) })
	out := n.trimmed(b.String())
	if any && n.dummy && n.suffix {
		w.hold(len(out))
		out += n.mark
	}
	return out
}

// trimmed returns a text without the marks at its end that the model leaves out.
func (n *spNormalizer) trimmed(text string) string {
	for !n.blanks && strings.HasSuffix(text, n.mark) {
		text = strings.TrimSuffix(text, n.mark)
	}
	return text
}

// each calls f for the parts of the normalized text, but for a mark at the end, each with the bytes
// that it comes from. It reports whether the text has more than blanks that are left out.
func (n *spNormalizer) each(w *work, text string, f func(value string, from, to int)) bool {
	at := 0
	for !n.blanks && at < len(text) {
		value, size := n.prefix(w, text[at:])
		if value != " " {
			break
		}
		at += size
	}
	any := at < len(text)
	if any && n.dummy && !n.suffix {
		_, size := utf8.DecodeRuneInString(text[at:])
		f(n.mark, at, at+size)
	}
	blank := !n.blanks // a blank came last, and another is left out
	for at < len(text) {
		value, size := n.prefix(w, text[at:])
		from := at
		at += size
		for blank && strings.HasPrefix(value, " ") {
			value = value[1:]
		}
		if value == "" {
			continue
		}
		blank = !n.blanks && strings.HasSuffix(value, " ")
		if value != text[from:at] {
			f(n.marked(w, value), from, at)
			continue
		}
		for _, r := range value {
			f(n.marked(w, string(r)), from, from+utf8.RuneLen(r))
			from += utf8.RuneLen(r)
		}
	}
	return any
}

// marked returns a text with marks for blanks.
func (n *spNormalizer) marked(w *work, value string) string {
	w.steps(len(value))
	return strings.ReplaceAll(value, " ", n.mark)
}

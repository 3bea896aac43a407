package tokenizer

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An AddedToken is a token that is matched in texts before all other steps.
type AddedToken struct {
	ID         int64  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"` // never beside a letter or digit
	LStrip     bool   `json:"lstrip"`      // takes the white space before it too
	RStrip     bool   `json:"rstrip"`      // takes the white space after it too
	Normalized bool   `json:"normalized"`  // matched in normalized text, after normalizing its content
	Special    bool   `json:"special"`     // left out of decoded text
}

// added holds the added tokens of a vocabulary.
type added struct {
	tokens  map[int32]AddedToken
	ids     map[string]int32
	special map[string]bool
	largest int32
	raw     matcher
	normal  matcher
}

// newAdded checks the added tokens and makes the two matchers. A token that the vocabulary has
// keeps its id there.
func newAdded(w *work, v *vocabulary, list []AddedToken, n normalizer) (added, error) {
	a := added{tokens: map[int32]AddedToken{}, ids: map[string]int32{}, special: map[string]bool{}, largest: -1}
	limit := int64(len(v.list) + 2*len(list) + maxHoles)
	for _, token := range list {
		if token.Content == "" {
			continue
		}
		if len(token.Content) > maxToken {
			return a, fmt.Errorf("added token %.60q has %d bytes: at most %d are allowed", token.Content, len(token.Content), maxToken)
		}
		if id, ok := v.id(token.Content); ok {
			token.ID = int64(id)
		}
		if token.ID < 0 || token.ID >= limit {
			return a, fmt.Errorf("added token %.60q has the id %d: 0 to %d are allowed", token.Content, token.ID, limit-1)
		}
		id := int32(token.ID)
		a.tokens[id] = token
		a.ids[token.Content] = id
		a.special[token.Content] = token.Special || a.special[token.Content]
		a.largest = max(a.largest, id)
	}
	for id, token := range a.tokens {
		content, m := token.Content, &a.raw
		if token.Normalized {
			m = &a.normal
			if n != nil {
				content = n.normalize(w, content)
			}
		}
		m.add(w, content, id, token)
	}
	return a, nil
}

// A matcher finds tokens in texts: the leftmost, and the longest of several at one place.
type matcher struct {
	starts [256]bool
	next   map[uint64]int32 // node and byte to node
	ends   map[int32]int32  // node to id
	tokens map[int32]AddedToken
	nodes  int32
}

func (m *matcher) add(w *work, content string, id int32, token AddedToken) {
	if content == "" {
		return
	}
	if m.next == nil {
		m.next, m.ends, m.tokens = map[uint64]int32{}, map[int32]int32{}, map[int32]AddedToken{}
	}
	node := int32(0)
	for i := range len(content) {
		key := uint64(uint32(node))<<8 | uint64(content[i])
		next, ok := m.next[key]
		if !ok {
			w.hold(nodeBytes)
			m.nodes++
			next = m.nodes
			m.next[key] = next
		}
		node = next
	}
	m.starts[content[0]] = true
	if old, ok := m.ends[node]; !ok || id < old {
		m.ends[node] = id
	}
	m.tokens[id] = token
}

// find returns the longest token that begins at byte from of a text, and its end. If there is none,
// end is 0. With literal, special tokens do not count.
func (m *matcher) find(w *work, text string, from int, literal bool) (id int32, end int) {
	node, i := int32(0), from
	for ; i < len(text); i++ {
		next, ok := m.next[uint64(uint32(node))<<8|uint64(text[i])]
		if !ok {
			break
		}
		node = next
		if at, ok := m.ends[node]; ok && !(literal && m.tokens[at].Special) {
			id, end = at, i+1
		}
	}
	w.steps(1 + i - from)
	return id, end
}

// begun reports whether a token may begin at byte from of a text and go on after its end.
func (m *matcher) begun(w *work, text string, from int) bool {
	node, i := int32(0), from
	for ; i < len(text); i++ {
		next, ok := m.next[uint64(uint32(node))<<8|uint64(text[i])]
		if !ok {
			return false
		}
		node = next
		w.steps(1)
	}
	return from < i
}

// split calls f for the parts of a text that is not empty, with their first byte and their end: for
// a token with its id, and for the text between tokens with -1. Literal, unless nil, reports whether
// a special token that begins at a byte is text.
func (m *matcher) split(w *work, text string, literal func(at int) bool, f func(from, to int, id int32)) {
	w.steps(len(text))
	done := 0
	spaces := 0 // the end of the last white space looked at
	for at := 0; at < len(text) && m.next != nil; {
		if !m.starts[text[at]] {
			at++
			continue
		}
		id, stop := m.find(w, text, at, literal != nil && literal(at))
		if stop == 0 {
			at++
			continue
		}
		token, start := m.tokens[id], at
		at = stop
		if token.SingleWord && (endsWithWord(text[:start]) || startsWithWord(text[stop:])) {
			continue
		}
		if token.LStrip {
			start = done + lastSpaces(w, text[done:max(start, done)])
		}
		if token.RStrip {
			if stop >= spaces {
				spaces = stop + firstSpaces(w, text[stop:])
			}
			stop = spaces
		}
		if done < start {
			f(done, start, -1)
		}
		f(start, max(stop, start), id)
		done = stop
	}
	if done < len(text) {
		f(done, len(text), -1)
	}
}

func endsWithWord(text string) bool {
	r, size := utf8.DecodeLastRuneInString(text)
	return size > 0 && isWord(r)
}

func startsWithWord(text string) bool {
	r, size := utf8.DecodeRuneInString(text)
	return size > 0 && isWord(r)
}

// isWord reports whether a character is in \w of Unicode's regular expressions.
func isWord(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, unicode.Join_Control)
}

// lastSpaces returns where the white space at the end of a text begins.
func lastSpaces(w *work, text string) int {
	size := len(text)
	defer func() { w.steps(size - len(text)) }()
	for len(text) > 0 {
		r, size := utf8.DecodeLastRuneInString(text)
		if !unicode.IsSpace(r) {
			break
		}
		text = text[:len(text)-size]
	}
	return len(text)
}

// firstSpaces returns where the white space at the beginning of a text ends.
func firstSpaces(w *work, text string) int {
	n := len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
	w.steps(n)
	return n
}
